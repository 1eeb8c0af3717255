"""Commands that touch an account ask first, and explain what a newcomer runs into."""

import pytest
from click.testing import CliRunner

from stacks import operate


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What would have been given to the CDK CLI."""
    given: list[tuple[str, ...]] = []
    monkeypatch.setattr(operate, "_cdk", lambda *arguments: given.append(arguments))
    return given


def test_deploying_to_a_protected_stage_asks_first(commands: list[tuple[str, ...]]) -> None:
    finished = CliRunner().invoke(operate.main, ["deploy", "prod"], input="n\n")

    assert finished.exit_code == 1
    assert "protected" in finished.output
    assert commands == []


def test_deploying_goes_on_when_it_is_confirmed(commands: list[tuple[str, ...]]) -> None:
    finished = CliRunner().invoke(operate.main, ["deploy", "prod"], input="y\n")

    assert finished.exit_code == 0
    assert commands == [("deploy", "--all", "-c", "stage=prod")]


def test_deploying_elsewhere_asks_nothing_and_passes_options_on(
    commands: list[tuple[str, ...]],
) -> None:
    finished = CliRunner().invoke(operate.main, ["deploy", "dev", "--", "--profile", "team"])

    assert finished.exit_code == 0
    assert commands == [("deploy", "--all", "-c", "stage=dev", "--profile", "team")]


def test_a_protected_stage_is_not_destroyed(commands: list[tuple[str, ...]]) -> None:
    finished = CliRunner().invoke(operate.main, ["destroy", "prod", "--yes"])

    assert finished.exit_code == 1
    assert "'prod' is protected: set its 'protected' to false" in finished.output
    assert commands == []


def test_destroying_wants_the_stages_name_typed(commands: list[tuple[str, ...]]) -> None:
    finished = CliRunner().invoke(operate.main, ["destroy", "dev"], input="yes\n")

    assert finished.exit_code == 1
    assert "nothing was destroyed" in finished.output
    assert commands == []


@pytest.mark.parametrize("command", ["deploy", "destroy", "pause", "resume"])
def test_an_unknown_stage_is_refused(commands: list[tuple[str, ...]], command: str) -> None:
    finished = CliRunner().invoke(operate.main, [command, "prd"])

    assert finished.exit_code == 1
    assert "'prd' is unknown: choose one of demo, dev, prod" in finished.output
    assert commands == []


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        (("AWS_DEFAULT_REGION", "AWS_REGION"), "set AWS_REGION"),
        (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "set AWS_PROFILE"),
    ],
)
def test_missing_region_or_credentials_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], remedy: str
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    for name in missing:
        monkeypatch.delenv(name, raising=False)

    finished = CliRunner().invoke(operate.main, ["pause", "dev"])

    assert finished.exit_code == 1
    assert remedy in finished.output
    assert len(finished.output.splitlines()) == 1
