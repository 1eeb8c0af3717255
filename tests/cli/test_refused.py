"""What cannot be meant gets its sentence, and nothing is put."""

import errno
import importlib
import io
import os
from collections.abc import Callable

import pytest

from lifoq import __main__ as entrance
from lifoq_cli import statuses
from lifoq_cli.session import Session

Command = Callable[..., tuple[int, str, str]]

DEEP = "[" * 30_000 + "]" * 30_000
REFUSED = {
    "a payload that nobody can read": (["put", "a", DEEP], 1, "is no JSON (it is nested too deep"),
    "a deadline that is none": (
        ["put", "a", "--deadline", "abc"],
        2,
        "'abc' is neither a duration such as 30s, 5m, 2h or 1d, nor an ISO time such as 2026-",
    ),
    "a due time that has passed": (
        ["put", "a", "--due-at", "2020-01-01T00:00:00Z"],
        2,
        "2020-01-01T00:00:00Z has passed: leave it out, and the task enters the queue at once",
    ),
    "a module without a name": (["work", "--tasks", ".x"], 1, "--tasks='.x': is no module's name"),
    "a port that does not exist": (["console", "--port", "99999"], 2, "99999 is not in the range"),
}


@pytest.mark.parametrize(("words", "status", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_refused(
    lifoq: Command, session: Session, words: list[str], status: int, sentence: str
) -> None:
    ended, printed, told = lifoq(*words)
    assert (ended, printed) == (status, "")
    assert sentence in " ".join(told.split())
    assert session.queue.waiting().value == 0


def test_a_line_that_nobody_can_read_is_told_by_its_number(
    lifoq: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = io.TextIOWrapper(io.BytesIO(f"1\n{DEEP}\n".encode()))
    monkeypatch.setattr("sys.stdin", lines)
    status, _, told = lifoq("put", "a", "--lines")
    assert (status, told.startswith("line 2 is no JSON: it is nested too deep")) == (1, True)


def test_an_answer_that_cannot_be_written_is_told(
    lifoq: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr("sys.stdout", full)
        status, _, told = lifoq("stats")
    assert status == statuses.REFUSED
    assert told == f"the answer could not be written: {os.strerror(errno.ENOSPC)}\n"


def test_an_interrupt_while_the_command_is_imported_ends_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupted)
    assert entrance.main() == statuses.INTERRUPTED
    assert capsys.readouterr() == ("", "")
