"""The worker in TypeScript, asked by the configured task type of a queue in memory."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from targets import TARGETS

from lifoq import REGISTRY, Status
from lifoq.targets.configured import register

HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def worker():
    command = ["node", HERE / "worker.ts"]
    environment = {**os.environ, "PORT": "0"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as server:  # noqa: S603
        try:
            port = json.loads(server.stdout.readline())["port"]
            here = {
                "url": f"http://127.0.0.1:{port}/words",
                "allowed_networks": ("127.0.0.0/8",),
                "in_flight": 10,
            }
            register(REGISTRY, {name: replace(target, **here) for name, target in TARGETS.items()})
            yield
        finally:
            server.kill()


def test_the_workers_answer_is_the_result(lifoq_queue, lifoq_run):
    lifoq_queue.put("words.count", {"text": "To be or not to be"}, task_id="hamlet")
    assert lifoq_run().succeeded == 1
    assert lifoq_queue.get("hamlet").result == {"to": 2, "be": 2, "or": 1, "not": 1}


def test_a_payload_that_cannot_be_counted_fails_at_once(lifoq_queue, lifoq_run):
    lifoq_queue.put("words.count", {"words": 3}, task_id="odd")
    assert lifoq_run().failed == 1
    assert lifoq_queue.get("odd").status is Status.FAILURE
    assert "no text to count" in lifoq_queue.get("odd").error.message


def test_a_worker_that_is_full_is_asked_again(lifoq_queue, lifoq_host, lifoq_run):
    names = [f"task-{number}" for number in range(6)]
    for name in names:
        lifoq_queue.put("words.count", {"text": "again"}, task_id=name)
    for _ in range(20):
        lifoq_run()
        lifoq_host.advance(2)
    assert [lifoq_queue.get(name).result for name in names] == [{"again": 1}] * 6
