"""Values of tasks are shown as text: no face of the command obeys them."""

import io
import json
import logging
import re

import pytest

from lifoq import Queue, TaskError
from lifoq.health.headline import headline
from lifoq.items.schema import Status
from lifoq.operating.aws_calls import Account
from lifoq.worker.handlers import task_id_in_logs as logged
from lifoq_cli import look, smoke, watch
from lifoq_cli.doctor import command as doctor
from lifoq_cli.doctor.finding import Finding

HOSTILE = (
    "\x1b[2J \x1b]0;title\x07 \x9b31m \u202eabc \u200b \ufeff \x7f [/x] [red]r[/red] :heart: \r\b"
)
UNSEEN = re.compile(
    r"[^\n\x20-\x7e\xa0-\xac\xae-\u200a\u200c-\u2027\u202f-\u205f\u2061-\u2065\u206a-\ud7ff"
    r"\ue000-\ufefe\uff00-\U0010ffff]"
)


def hostile(name: str) -> str:
    return f"{name} {HOSTILE}"


@pytest.fixture
def queue(queue) -> Queue:
    """With a hostile task of each status that a list shows."""
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
    return queue


COMMANDS = (
    ["errors"],
    *(["list", "--status", status] for status in ("pending", "delayed", "taken", "failure")),
    ["get", hostile("failed"), "--traceback"],
    ["wait", hostile("failed")],
    ["get", hostile("nowhere")],
    ["redrive", "--type", HOSTILE],
    ["stats"],
    ["watch", "--times", "1"],
)


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words).partition("\x1b")[0])
def test_no_command_prints_what_a_terminal_would_obey(lifoq, words, options):
    _, printed, told = lifoq(*options, *words, stdin="n\n")
    assert not UNSEEN.findall(printed + told)
    if words[0] in ("list", "get", "wait") and "nowhere" not in words[1]:
        assert r"\u001b[2J" in printed + told
        assert "[/x] [red]r[/red] :heart:" in printed + told
    if options and words[0] == "list":
        assert json.loads(printed)[0]["key"] == hostile("key")


def test_what_is_drawn_on_a_terminal_obeys_nothing(queue, session):
    session.console.file = out = io.StringIO()
    stats = queue.stats()
    newest = {Status.FAILURE: queue.search(watch.Wanted(status=Status.FAILURE)).tasks}
    paused = look.Pause(is_so=True, told=HOSTILE)
    said = headline(stats, paused=True)
    seen = watch.Look(at=session.now, stats=stats, headline=said, paused=paused, newest=newest)
    session.console.print(watch._drawn(seen, "dev"))
    finding = Finding(wrong=HOSTILE, meaning=HOSTILE, remedy=HOSTILE)
    result = doctor.Result(subject="table", findings=[finding], not_checked=HOSTILE)
    patient = doctor.Patient(name="dev", account=Account())
    patient.versions["table"] = HOSTILE
    doctor._print(session.console, [(patient, [result])])
    smoke._print(session.console, smoke.Seen(step="wake", well=False, what=HOSTILE))
    assert not UNSEEN.findall(out.getvalue())
    assert out.getvalue().count(r"\u001b[2J") >= 9


def test_a_workers_log_obeys_nothing():
    record = logging.LogRecord("lifoq", logging.INFO, "", 0, "task %s\n2", (HOSTILE,), None)
    told = logged.Formatter("%(message)s").format(record)
    assert (UNSEEN.findall(told), told.count("\n")) == ([], 1)
