"""What the command line refuses, it refuses in a sentence, before any work is done."""

import pytest
from click.testing import CliRunner, Result

from analytics.report import report


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(report, [str(argument) for argument in arguments])


def test_a_moment_that_is_none_is_refused(tmp_path):
    refused = _run(tmp_path, "--out", tmp_path / "out", "--as-of", "noon")
    assert refused.exit_code == 2
    assert "'noon' is not an ISO time such as 2026-11-20T09:30:00Z" in refused.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--out", "--state"])
def test_a_folder_that_cannot_be_written_to_is_refused(option, tmp_path):
    (tmp_path / "file").write_text("in the way")
    blocked = tmp_path / "file" / "folder"
    refused = _run(tmp_path, "--out", tmp_path / "out", option, blocked)
    assert refused.exit_code == 1
    assert f"{option} {blocked}: cannot be written to" in refused.output


def test_without_java_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    refused = _run(tmp_path, "--out", tmp_path / "out")
    assert refused.exit_code == 1
    assert "Spark needs Java 17 or newer and found none" in refused.output
