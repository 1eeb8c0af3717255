"""Where lifoq keeps what it can make again."""

from pathlib import Path

import pytest

from lifoq.basics import cache


def test_it_is_the_users_and_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIFOQ_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "lifoq"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "lifoq"

    monkeypatch.setenv("LIFOQ_CACHE", "here")
    assert cache.folder() == Path("here").absolute()
