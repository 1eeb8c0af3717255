"""The record of a release is of one commit, and of the code that has its version."""

import shutil

import pytest
from click.testing import CliRunner

import lifoq
from tests.releases import __main__ as command
from tests.releases.release import RECORDS


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Records in another folder, with none of the version at hand."""
    monkeypatch.setattr(command, "RECORDS", tmp_path)
    monkeypatch.setattr(command, "ROOT", RECORDS.parents[1])
    monkeypatch.setattr(lifoq, "__version__", "7.8.9")
    return tmp_path / "7.8.9"


def said(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(command.main, arguments)
    return found.exit_code, found.output


def test_a_tree_with_changes_is_not_recorded(recorded, monkeypatch):
    monkeypatch.setattr(command, "_git", lambda *_: " M lifoq/errors.py")
    status, told = said("record", "7.8.9")
    assert (status, recorded.exists()) == (1, False)
    assert "the tree has changes, and a record is of a commit" in told


def test_a_record_of_other_code_is_stale_and_a_release_without_one_is_refused(
    recorded, monkeypatch
):
    assert said("check") == (0, "")
    assert "has no record: run python -m tests.releases record" in said("check", "--released")[1]
    recorded.mkdir()
    monkeypatch.setattr(command, "_contents", lambda wheel: wheel.read_bytes())
    monkeypatch.setattr(command, "_build", lambda folder: RECORDS / "law.py")
    shutil.copy(RECORDS / "law.py", recorded / "lifoq.whl")
    assert said("check", "--released") == (0, "")
    (recorded / "lifoq.whl").write_bytes(b"other")
    assert "is not of this code: if 7.8.9 is released" in said("check")[1]
