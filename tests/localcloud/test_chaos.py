"""The deployed queue, while its processes are killed, its kicks are lost, and a clock is wrong."""

import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import psutil
import pytest

from lifoq import Queue, Status, Store
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.host import SystemHost, microseconds
from lifoq.items.lifetimes import Lifetimes
from lifoq.worker.handlers.backoff import Backoff
from lifoq_localcloud import LocalCloud
from tests.downstream import Downstream, downstream
from tests.infrastructure.deployments import a_stage, synthesized, team_code

__all__ = ["downstream"]
pytestmark = pytest.mark.prove

STAGE = "trial"
SERVICE_SECONDS = 0.4
ROUNDS = 8
TASKS_A_ROUND = 6
ROUND_SECONDS = 1.5
REST_SECONDS = 600.0
AHEAD_SECONDS = 20.0


class FastClock(SystemHost):
    """A machine whose clock is ahead."""

    def now(self) -> int:
        return super().now() + microseconds(AHEAD_SECONDS)


@pytest.fixture
def cloud(tmp_path, downstream) -> Iterator[LocalCloud]:
    """With the chaos run's task code deployed to it, which asks the downstream."""
    seconds = cdk.Duration.seconds
    downstream.body, downstream.pauses = b"1", SERVICE_SECONDS
    code = Path(__file__).with_name("chaos_tasks.py")
    stage = a_stage(
        STAGE,
        tasks=team_code(tmp_path, code, environment={"DOWNSTREAM_URL": downstream.url}),
        deadline=seconds(3600),
        window=seconds(5),
        in_flight=4,
        lease=seconds(2),
        heartbeat=cdk.Duration.millis(500),
        max_attempts=20,
        backoff=Backoff(min_seconds=0.2, max_seconds=1),
    )
    with LocalCloud(tmp_path / "chaos") as cloud:
        cloud.deploy(synthesized(stage).assembly, f"lifoq-{STAGE}-state", f"lifoq-{STAGE}-queue")
        yield cloud


def asked_of(downstream: Downstream) -> Counter[tuple[str, int]]:
    """Return the number of requests by task and attempt."""
    bodies = [json.loads(request.body) for request in downstream.requests]
    return Counter((body["taskId"], body["attempt"]) for body in bodies)


def test_all_tasks_end_and_no_claim_works_twice(cloud, downstream, monkeypatch):
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    functions = cloud.outputs(f"lifoq-{STAGE}-queue")
    worker, sweep = functions["ProcessTasksFunctionName"], functions["SweepFunctionName"]
    table = DynamoTable.connect(cloud.outputs(f"lifoq-{STAGE}-state")["TableName"])
    queue, ahead = (
        Queue(Store(table, lifetimes=Lifetimes(deadline=3600), host=host), host=host)
        for host in (SystemHost(), FastClock())
    )
    producers = itertools.cycle((queue, ahead))
    put: list[str] = []
    killed: list[int] = []

    def sweep_now() -> None:
        cloud.client("lambda").invoke(FunctionName=sweep, Payload=b"{}")

    # When the worker is killed again and again in the middle of tasks, and half of what should
    # wake it is lost,
    cloud.set_faults(drop_notifications=0.5, drop_stream_records=0.5, seed=7)
    for _ in range(ROUNDS):
        before = len(downstream.requests)
        put += [next(producers).put("chaos.work").task_id for _ in range(TASKS_A_ROUND)]
        until = time.monotonic() + ROUND_SECONDS
        while len(downstream.requests) == before:
            if time.monotonic() > until:  # what should have woken it was lost
                sweep_now()
            time.sleep(0.02)
        killed += cloud.kill_function(worker)
        sweep_now()
    cloud.set_faults()

    # then with nothing but its sweep the queue comes to rest,
    until = time.monotonic() + REST_SECONDS
    while (ends := {queue.get(task_id).status for task_id in put}) != {Status.SUCCESS}:
        assert time.monotonic() < until, ends
        sweep_now()
        time.sleep(1)

    # no task is missing, and every one ended with the result of its last attempt,
    tasks, asked = [queue.get(task_id) for task_id in put], asked_of(downstream)
    for task in tasks:
        assert task.result == {"taskId": task.task_id, "attempt": task.attempts}
        # which the downstream was asked for,
        assert asked[task.task_id, task.attempts] == 1
    # no claim worked twice, and no more attempts worked than were counted,
    assert set(asked.values()) == {1}
    counted = {task.task_id: task.attempts for task in tasks}
    assert all(attempt <= counted[task_id] for task_id, attempt in asked)
    # and the chaos did hit: workers died, and took attempts with them.
    assert len(killed) >= ROUNDS
    assert not any(map(psutil.pid_exists, killed))
    assert any(task.attempts > 1 for task in tasks)
