"""What tasks hold is shown as text: no face of the command obeys it."""

import io
import json
import logging
import re
from pathlib import Path

import pytest

from lifoq import Queue, TaskError
from lifoq.items.schema import Status
from lifoq_cli import app, smoke, watch, work
from lifoq_cli.doctor import command as doctor
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.session import Session

HOSTILE = "\x1b[2J \x1b]0;title\x07 \x9b31m \u202eabc \x7f [/x] [red]r[/red] :heart: \r\b"
UNSEEN = re.compile(r"[^\n\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\U0010ffff]")


def hostile(name: str) -> str:
    return f"{name} {HOSTILE}"


@pytest.fixture
def session() -> Session:
    """Of a queue with a hostile task of each status that a list shows."""
    queue = Queue.in_memory()
    for status in ("waits", "delayed", "runs", "failed"):
        queue.put(
            hostile("type"),
            {hostile("name"): hostile("value")},
            task_id=hostile(status),
            key=hostile("key"),
            delay=60 if status == "delayed" else None,
        )
    queue.store.claim(hostile("runs"), claim_id="c", lease=30)
    task = queue.store.claim(hostile("failed"), claim_id="c", lease=30)
    error = TaskError(type=hostile("E"), message=hostile("m"), traceback=f"1\n{hostile('2')}")
    queue.store.fail(task, error)
    found = Session()
    found.__dict__["queue"] = queue
    found.given["table"] = ("t",)
    return found


COMMANDS = (
    *(["list", "--status", status] for status in ("pending", "delayed", "taken", "failure")),
    ["get", hostile("failed"), "--traceback"],
    ["wait", hostile("failed")],
    ["get", hostile("nowhere")],
    ["redrive", "--type", HOSTILE],
    ["stats"],
    ["watch", "--times", "1"],
)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words).partition("\x1b")[0])
def test_no_command_prints_what_a_terminal_would_obey(
    session: Session,
    words: list[str],
    as_json: bool,  # noqa: FBT001 - a parameter of the test
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    monkeypatch.setattr(app.root, "make_context", _in(session))
    app.main([*(["--json"] if as_json else []), *words])
    printed = capsys.readouterr()
    assert not UNSEEN.findall(printed.out + printed.err)
    if words[0] in ("list", "get", "wait") and "nowhere" not in words[1]:
        assert r"\u001b[2J" in printed.out + printed.err
        assert "[/x] [red]r[/red] :heart:" in printed.out + printed.err
    if as_json and words[0] == "list":
        assert json.loads(printed.out)[0]["key"] == hostile("key")


def _in(session: Session):
    make = app.root.make_context
    return lambda *args, **more: make(*args, **more, obj=session)


def test_what_is_drawn_on_a_terminal_obeys_nothing(session: Session) -> None:
    session.console.file = out = io.StringIO()
    queue = session.queue
    newest = {Status.FAILURE: queue.search(watch.Wanted(status=Status.FAILURE)).tasks}
    seen = watch.Look(at=session.now, stats=queue.stats(), newest=newest)
    session.console.print(watch._drawn(seen, "dev"))
    finding = Finding(wrong=HOSTILE, meaning=HOSTILE, remedy=HOSTILE)
    result = doctor.Result(subject="table", findings=[finding], not_checked=HOSTILE)
    doctor._print(session.console, [("dev", [result])])
    smoke._print(session.console, smoke.Seen(step="wake", well=False, what=HOSTILE))
    assert not UNSEEN.findall(out.getvalue())
    assert out.getvalue().count(r"\u001b[2J") >= 9


def test_a_workers_log_obeys_nothing() -> None:
    record = logging.LogRecord("lifoq", logging.INFO, "", 0, "task %s\n2", (HOSTILE,), None)
    told = work.LogFormatter("%(message)s").format(record)
    assert (UNSEEN.findall(told), told.count("\n")) == ([], 1)


def test_lines_of_a_pipe_have_no_blanks_at_their_ends(
    session: Session, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    session.queue.put("a", "x" * 5_000, task_id="long")
    for words in (["get", "long"], ["list"]):
        app.root.main(words, obj=session, prog_name="lifoq", standalone_mode=False)
    finding = Finding(wrong="w", meaning="m", remedy="r")
    results = [doctor.Result(subject="table", findings=[finding], not_checked="n")]
    session.answer(None, lambda console: doctor._print(console, [("dev", results)]))
    assert [line for line in capsys.readouterr().out.splitlines() if line.endswith(" ")] == []
