"""The local cloud's packages, apart from those of whoever uses it."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lifoq_project import local_packages
from tests.infrastructure.commands import ROOT
from tests.infrastructure.users import User, registries
from tests.infrastructure.wheels import Registry

OWN = ROOT / "lifoq_localcloud"
TEST = """
import boto3, moto
from moto import mock_aws

@mock_aws
def test_of_ones_own():
    assert moto.__version__.startswith("5.1.")
    boto3.client("sqs", "us-east-1").create_queue(QueueName="q")
"""


class Begun(Exception):
    """Raised in place of a process that begins anew."""


@pytest.fixture
def begun(monkeypatch) -> list[list[str]]:
    found: list[list[str]] = []

    def execv(program: str, arguments: list[str]) -> None:
        found.append([program, *arguments])
        raise Begun

    monkeypatch.setattr(os, "execv", execv)
    return found


@pytest.fixture
def registry(tmp_path, monkeypatch) -> Registry:
    """One that has a package which this environment has not, of which the local cloud needs it."""
    registry = Registry(tmp_path / "wheels")
    registry.add("elsewhere", "1.2.3")
    (wheel,) = (tmp_path / "wheels" / "elsewhere").glob("*.whl")
    own = tmp_path / "own"
    own.mkdir()
    (own / "requirements.txt").write_text("# what it needs\nelsewhere[all]>=1,<2\n")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (own / "requirements.lock").write_text(f"elsewhere==1.2.3 \\\n    --hash=sha256:{digest}\n")
    monkeypatch.setattr(local_packages, "OWN", own)
    monkeypatch.setattr(sys, "argv", ["lifoq", "dev", "--port", "0"])
    monkeypatch.setenv("LIFOQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "wheels").as_uri())
    return registry


def test_where_the_environment_has_them_as_a_clone_has_nothing_is_installed(begun):
    local_packages.enter()
    assert begun == []


def test_else_they_are_installed_once_and_the_command_begins_anew_with_them(registry, begun, capfd):
    local_packages.enter(install=False)
    assert begun == [], "a completion installs nothing"
    for _ in range(2):
        with pytest.raises(Begun):
            local_packages.enter()
        shutil.rmtree(registry.folder, ignore_errors=True)  # from now on offline
    first, second = begun
    assert first == second
    program, _, *options, _, folder, command, port, number = first
    assert (program, options) == (sys.executable, ["-P", "-c"])
    assert (Path(folder) / "elsewhere" / "__init__.py").is_file()
    assert (command, port, number) == ("dev", "--port", "0")
    assert capfd.readouterr().err.count("Installing the local cloud's packages") == 1


def test_the_process_that_began_anew_has_them_first_and_enters_no_more(registry, begun, tmp_path):
    with pytest.raises(Begun):
        local_packages.enter()
    folder = begun[0][-4]
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from lifoq_project import local_packages\n"
        "local_packages.OWN = Path(sys.argv[2])\n"
        "local_packages.enter()\n"
        "import elsewhere\n"
        "print(elsewhere.__file__)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, folder, local_packages.OWN],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.startswith(folder)


def test_where_they_cannot_be_installed_the_sentence_says_what_is_missing(
    registry, begun, monkeypatch
):
    shutil.rmtree(registry.folder)
    with pytest.raises(local_packages.LocalCloudUnavailable, match="uv says"):
        local_packages.enter()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(local_packages.LocalCloudUnavailable, match=r"pip install 'lifoq\[dev\]'"):
        local_packages.enter()
    assert begun == []


def test_they_are_those_of_the_extra_in_the_versions_of_the_clone():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = extras["optional-dependencies"]["local"]
    named = [
        line
        for line in (OWN / "requirements.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    from_elsewhere = ["click>=8.1", "uv>=0.13"]
    assert sorted([*named, *from_elsewhere]) == sorted(extra)

    def pins(file: Path) -> set[str]:
        return set(re.findall(r"^\S+==\S+", file.read_text(), re.MULTILINE))

    assert pins(OWN / "requirements.lock") <= pins(ROOT / "requirements.lock")


@pytest.mark.prove
def test_a_project_whose_tests_have_another_moto_runs_in_the_local_cloud_beside(
    wheel, tmp_path, monkeypatch
):
    monkeypatch.setenv("LIFOQ_CACHE", str(tmp_path / "cache"))
    user = User(tmp_path)
    user.install(wheel, "dev")
    with user.terminals() as open_terminal:
        terminal = open_terminal(tmp_path)
        terminal.runs(". .venv/bin/activate\nlifoq init devices\ncd devices")
        (tmp_path / "devices" / "test_other.py").write_text(TEST)
        with registries():
            terminal.runs("uv pip install --quiet 'moto[sqs]<5.2'")
        assert "3 passed" in terminal.runs("pytest -q")
        terminal.deploys("lifoq dev")
        second = open_terminal(tmp_path / "devices")
        second.runs(". ../.venv/bin/activate")
        put = "lifoq put greet '\"Ada\"' --id one\nlifoq wait one"
        assert "Hello, Ada!" in second.runs(put)
