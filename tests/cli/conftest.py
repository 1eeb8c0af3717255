"""The command in this process, about a queue in memory."""

from collections.abc import Callable

import pytest

from lifoq import Queue
from lifoq_cli import app
from lifoq_cli.session import Session


@pytest.fixture
def session() -> Session:
    found = Session()
    found.__dict__["queue"] = Queue.in_memory()
    found.given["table"] = ("t",)
    return found


@pytest.fixture
def lifoq(
    session: Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command: its exit status, standard output and standard error."""
    make = app.root.make_context

    def run(*words: str) -> tuple[int, str, str]:
        status = app.main(words)
        return status, *capsys.readouterr()

    monkeypatch.setattr(
        app.root, "make_context", lambda *args, **more: make(*args, **more, obj=session)
    )
    return run
