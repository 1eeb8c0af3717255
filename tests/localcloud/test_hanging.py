"""The deployed queue with task code that hangs."""

from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import pytest

from lifoq import Queue, Status, TaskFailed
from localcloud import LocalCloud
from tests.infrastructure.deployments import a_stage, synthesized, team_code
from tests.localcloud.harness import eventually

STAGE = "demo"
SLOTS = 3


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    built = synthesized(
        a_stage(
            STAGE,
            tasks=team_code(
                tmp_path_factory.mktemp("code"), Path(__file__).with_name("hanging_tasks.py")
            ),
            window=cdk.Duration.seconds(20),
            in_flight=SLOTS,
            task_timeout=cdk.Duration.seconds(2),
            max_attempts=1,
        )
    )
    with LocalCloud(tmp_path_factory.mktemp("hanging")) as cloud:
        cloud.deploy(built.assembly, f"lifoq-{STAGE}-state", f"lifoq-{STAGE}-queue")
        yield cloud


def test_a_process_full_of_handlers_that_hang_ends_itself_and_another_does_the_healthy_tasks(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    queue = Queue.connect(STAGE)
    worker = cloud.outputs(f"lifoq-{STAGE}-queue")["ProcessTasksFunctionName"]

    hanging = [queue.put("hang").task_id for _ in range(SLOTS)]
    eventually(lambda: {one.task_id for one in queue.peek(status=Status.TAKEN)} == set(hanging))
    (first,) = cloud.processes(worker)
    healthy = {queue.put("healthy", n).task_id: n for n in range(5)}

    # Without the sweep, which would only come after a minute.
    for task_id, n in healthy.items():
        assert queue.wait(task_id, timeout=30) == n
    assert first not in cloud.processes(worker)
    for task_id in hanging:
        with pytest.raises(TaskFailed, match="TimeoutError"):
            queue.wait(task_id, timeout=0)
    log = (cloud.logs / f"{worker}.log").read_text()
    assert "all slots are taken by handlers that hang" in log
