"""The command in this process, about a queue in memory."""

import io
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from lifoq import Queue
from lifoq_cli import app, mounted
from lifoq_cli.session import Session

Command = Callable[..., tuple[int, str, str]]
VERBS = [
    verb
    for command in app.root.commands.values()
    if isinstance(command, click.Group)
    for verb in command.commands.values()
]
OPTIONS = {
    name
    for command in (app.root, *app.root.commands.values(), *VERBS)
    for option in command.params
    for name in option.opts
} | {"--help"}


@pytest.fixture
def session() -> Session:
    found = Session()
    found.__dict__["queue"] = Queue.in_memory()
    found.given["table"] = ("t",)
    return found


@pytest.fixture
def queue(session) -> Queue:
    assert isinstance(session.queue, Queue)
    return session.queue


@pytest.fixture
def command(capsys, monkeypatch) -> Command:
    """Runs a command: its exit status, standard output and standard error."""

    def run(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = app.main(words)
        printed, told = capsys.readouterr()
        for nonsense in ("Traceback", "<Status", "frozenset"):
            assert nonsense not in told
        if not words or words[0] not in mounted.MOUNTED:
            assert set(re.findall(r"(?<!-)--[a-z-]+", told)) <= OPTIONS  # what is advised, exists
        return status, printed, told

    return run


@pytest.fixture
def lifoq(command, session, monkeypatch) -> Command:
    """The command, about the queue in memory."""
    make = app.root.make_context

    def make_context(*args: Any, **more: Any) -> Any:
        session.given = {"table": ("t",)}  # nothing of the call before
        return make(*args, **more, obj=session)

    monkeypatch.setattr(app.root, "make_context", make_context)
    return command


@pytest.fixture
def answer(lifoq) -> Callable[..., Any]:
    """Run a command that does its work, and return its JSON."""

    def run(*words: str, stdin: str = "") -> Any:
        status, printed, _ = lifoq("--json", *words, stdin=stdin)
        assert status == 0
        return json.loads(printed)

    return run
