"""The progress that a terminal shows of a command that takes long."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from lifoq_cli import progress


class Timer:
    """A timer whose time comes at once, or, with ``never``, that is cancelled before."""

    never = False

    def __init__(self, _seconds: float, function: Callable[[], None]) -> None:
        self.start = self.cancel if self.never else function

    def cancel(self) -> None: ...

    join = cancel


@pytest.fixture(autouse=True)
def _timer(monkeypatch):
    monkeypatch.setattr(progress.threading, "Timer", Timer)


@pytest.fixture
def terminal(monkeypatch) -> io.StringIO:
    screen = io.StringIO()
    there = Console(file=screen, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(progress, "Console", lambda **_: there)
    return screen


def test_of_a_known_number_it_shows_how_much_is_over_and_else_counts_beside_a_clock(terminal):
    with progress.progress("redriven", total=1_500) as advance:
        advance(1_312)
    with progress.progress("found [/x]") as advance:
        advance(20_000)
    for shown in ("redriven ━", "1,312 of 1,500", "20,000 found [/x] 0:00:0"):
        assert shown in terminal.getvalue()


def test_what_is_over_soon_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(Timer, "never", True)
    with progress.progress("redriven", total=2) as advance:
        advance(2)
    assert terminal.getvalue() == ""


def test_a_log_file_gets_no_bars(capsys):
    with progress.progress("redriven", total=2) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")
