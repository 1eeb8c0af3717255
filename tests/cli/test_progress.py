"""The progress that a terminal shows of a command that takes long."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from lifoq_cli import progress


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, _seconds: float, function: Callable[[], None]) -> None:
        self.start = function

    def cancel(self) -> None: ...

    join = cancel


class Never(AtOnce):
    """A timer that is cancelled before its time has come."""

    def __init__(self, _seconds: float, _function: Callable[[], None]) -> None:
        self.start = self.cancel


@pytest.fixture
def terminal(monkeypatch) -> io.StringIO:
    screen = io.StringIO()
    there = Console(file=screen, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(progress, "Console", lambda **_: there)
    return screen


def test_of_a_known_number_it_shows_how_much_is_over(terminal, monkeypatch):
    monkeypatch.setattr(progress.threading, "Timer", AtOnce)
    with progress.progress("redriven", total=1_500) as advance:
        advance(1_312)
    assert "redriven ━" in terminal.getvalue()
    assert "1,312 of 1,500" in terminal.getvalue()


def test_of_an_unknown_number_it_counts_beside_a_clock(terminal, monkeypatch):
    monkeypatch.setattr(progress.threading, "Timer", AtOnce)
    with progress.progress("found [/x]") as advance:
        advance(20_000)
    assert "20,000 found [/x] 0:00:0" in terminal.getvalue()


def test_what_is_over_soon_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress.threading, "Timer", Never)
    with progress.progress("redriven", total=2) as advance:
        advance(2)
    assert terminal.getvalue() == ""


def test_a_log_file_gets_no_bars(monkeypatch, capsys):
    monkeypatch.setattr(progress.threading, "Timer", AtOnce)
    with progress.progress("redriven", total=2) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")
