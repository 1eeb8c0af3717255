"""``lifoq`` as a shell starts it: what a process of its own alone can show."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import dynamodb_local
from lifoq import NewTask, Queue, Status
from tests.infrastructure.commands import refused

ROOT = Path(__file__).parents[2]
PATIENCE = 600.0
TASKS = """
import asyncio
import pathlib
import time
from lifoq import task

@task("doze")
async def doze(seconds, _context):
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        pathlib.Path("woken").touch()
        await asyncio.to_thread(time.sleep, 7200)

@task("nap", timeout=7200)
def nap(seconds, _context):
    time.sleep(seconds)

@task("until there", timeout=7200)
def until_there(file, _context):
    while not pathlib.Path(file).exists():
        time.sleep(0.01)
"""
Start = Callable[..., subprocess.Popen[str]]


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def table(moto_endpoint, new_dynamo_table) -> str:
    return str(new_dynamo_table(moto_endpoint).name)


@pytest.fixture
def queue(moto_endpoint, table) -> Queue:
    return Queue.connect(table=table, endpoint_url=moto_endpoint, **dynamodb_local.CREDENTIALS)


@pytest.fixture
def start(moto_endpoint, table, tmp_path) -> Iterator[Start]:
    """Starts a command about the queue, in a folder with task code."""
    (tmp_path / "tasks.py").write_text(TASKS)
    started = []
    named = ("--table", table, "--endpoint-url", moto_endpoint, "--region", "us-east-1")

    def start(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "lifoq_cli", *named, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Where the tests run in the background, it may be ignored, and that is inherited.
            preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it does nothing else
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until_taken(queue: Queue, *task_ids: str) -> None:
    end = time.monotonic() + PATIENCE
    while {task.status for task in map(queue.get, task_ids) if task} != {Status.TAKEN}:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_worker_finishes_what_runs_when_it_is_told_to_stop(queue, start, tmp_path):
    worker = start("work", "--in-flight", "1", "--metrics", "--health-file", "health")
    runs = queue.put("until there", "told to stop").task_id
    until_taken(queue, runs)
    late = queue.put("nap", 0).task_id
    worker.send_signal(signal.SIGTERM)
    (tmp_path / "told to stop").touch()
    out, told = worker.communicate(timeout=PATIENCE)
    assert (worker.returncode, queue.get(runs).status) == (0, Status.SUCCESS)
    assert queue.get(late).status is Status.PENDING
    assert "calls DynamoDB" in told
    assert "Stopped: 1 claimed, 1 succeeded" in told
    metrics = [json.loads(line) for line in out.splitlines()]
    assert sum(sum(line.get("TasksSucceeded", [])) for line in metrics) == 1
    assert (tmp_path / "health").exists()


@pytest.mark.prove
def test_what_the_grace_does_not_suffice_for_is_cancelled_and_runs_elsewhere_at_once(
    queue, start, tmp_path
):
    """No thread of it keeps the process, be it a handler's or a coroutine's."""
    worker = start("work", "--grace", "1s")
    tasks = [queue.put(kind, 7200).task_id for kind in ("doze", "nap")]
    until_taken(queue, *tasks)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0
    for task in map(queue.get, tasks):
        assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert (tmp_path / "woken").exists()


@pytest.mark.prove
def test_an_interrupt_at_a_question_cancels_nothing(queue, start):
    queue.put("a", task_id="t")
    process = start("purge")
    asked = process.stderr.read(len("Cancel 1"))
    while not asked.endswith("[y/N] "):
        asked += process.stderr.read(1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert queue.waiting().value == 1


@pytest.mark.prove
@pytest.mark.parametrize("command", [["list", "--limit", "40"], ["--help"]])
def test_a_reader_that_goes_away_is_no_trouble(queue, start, command):
    queue.put_many([NewTask(task_type="a", payload="x" * 10_000)] * 40)
    process = start(*command)
    process.stdout.close()  # before anything is written
    assert process.stderr.read() == ""
    assert process.wait(timeout=PATIENCE) == 141


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_extra_it_says_in_one_sentence_what_to_install(missing):
    begin = "from lifoq_cli.__main__ import main; sys.exit(main())"
    code = f"import sys; sys.modules[{missing!r}] = None; {begin}"
    told = "the command needs click and rich: pip install 'lifoq[cli]'\n"
    assert refused(sys.executable, "-c", code) == told
