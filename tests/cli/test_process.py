"""``lifoq`` as a shell starts it: what a process of its own alone can show."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab import dynamodb_local
from lifoq import NewTask, Queue
from tests.infrastructure.commands import refused

ROOT = Path(__file__).parents[2]


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*words: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lifoq", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, it may be ignored, and that is inherited.
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it does nothing else
        **more,
    )


@pytest.fixture
def named(moto_endpoint, new_dynamo_table) -> tuple[Queue, tuple[str, ...]]:
    """A queue, and the words that name it to a command."""
    table = new_dynamo_table(moto_endpoint).name
    connected = Queue.connect(table=table, endpoint_url=moto_endpoint, **dynamodb_local.CREDENTIALS)
    return connected, ("--table", table, "--endpoint-url", moto_endpoint, "--region", "us-east-1")


def test_an_interrupt_at_a_question_cancels_nothing(named):
    queue, words = named
    queue.put("a", task_id="t")
    with start(*words, "purge", stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        asked = process.stderr.read(len("Cancel 1"))
        while not asked.endswith("[y/N] "):
            asked += process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert queue.waiting().value == 1


@pytest.mark.parametrize("command", [["list", "--limit", "40"], ["--help"]])
def test_a_reader_that_goes_away_is_no_trouble(named, command):
    queue, words = named
    queue.put_many([NewTask(task_type="a", payload="x" * 10_000)] * 40)
    with start(*words, *command, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before anything is written
        told = process.stderr.read()
        process.wait(timeout=600)
    assert told == ""
    assert process.returncode == 141


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_extra_it_says_in_one_sentence_what_to_install(missing):
    begin = "from lifoq.__main__ import main; sys.exit(main())"
    code = f"import sys; sys.modules[{missing!r}] = None; {begin}"
    told = "the command needs click and rich: pip install 'lifoq[cli]'\n"
    assert refused(sys.executable, "-c", code) == told
