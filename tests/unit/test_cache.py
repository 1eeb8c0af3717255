"""Where lifoq keeps what it can make again."""

import os
from pathlib import Path

from lifoq_cli import app
from lifoq_project import cache


def test_it_is_the_users_and_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.delenv("LIFOQ_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "lifoq"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "lifoq"

    monkeypatch.setenv("LIFOQ_CACHE", "here")
    assert cache.folder() == Path("here").absolute()


def test_it_does_not_grow_with_each_change_and_what_is_of_today_stays(tmp_path):
    for number in range(cache.KEPT + 10):
        (tmp_path / str(number)).mkdir()
        os.utime(tmp_path / str(number), (number, number))
    today = [tmp_path / name for name in ("one", "another")]
    for each in today:
        each.touch()
    cache.trim(tmp_path)
    kept = {str(number) for number in range(12, cache.KEPT + 10)} | {"one", "another"}
    assert {one.name for one in tmp_path.iterdir()} == kept
    for each in (*tmp_path.iterdir(), tmp_path / "a third"):
        each.touch()
    cache.trim(tmp_path)
    assert len([*tmp_path.iterdir()]) == cache.KEPT + 1


def test_clean_empties_it_and_leaves_alone_what_is_not_lifoqs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIFOQ_CACHE", str(tmp_path))
    for part in ("assets/a.zip", "installed/x/y.py", "aws-cdk-2.1/cdk", "jsii/lib", "thesis.tex"):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / part).write_bytes(bytes(1_000_000))
    (tmp_path / "installed" / "elsewhere").symlink_to(tmp_path / "thesis.tex")

    assert app.main(["clean"]) == 0

    assert [one.name for one in tmp_path.iterdir()] == ["thesis.tex"]
    assert capsys.readouterr().out == f"4 MB deleted in {tmp_path}\n"
