"""Which lines of a log are a task's, and where they are looked for."""

import json
import logging
from types import SimpleNamespace

import pytest

from lifoq import Queue, TaskError
from lifoq.operating import task_log
from lifoq.operating.task_log import MOST_CALLS, TaskLogs
from lifoq.testing.hosts import ManualHost
from lifoq.worker.handlers.task_id_in_logs import Formatter, handling, with_task_id

ODD = 'a/b "c" é\n1'


class Cloud:
    """CloudWatch Logs with one group: it looks through a line in each call, as it may."""

    def __init__(self) -> None:
        self.events: list[tuple[int, str]] = []
        self.calls = 0

    def log(self, at: int, text: str) -> None:
        self.events.append((at // 1_000, text))

    def call(self, _service: str, operation: str, **asked) -> dict:
        assert (operation, asked["logGroupName"]) == ("filter_log_events", "group")
        self.calls += 1
        begin, end = asked["startTime"], asked["endTime"]
        phrase = asked["filterPattern"][1:-1]
        assert '"' not in phrase
        within = [event for event in self.events if begin <= event[0] <= end]
        at = int(asked.get("nextToken", 0))
        found = [
            {"timestamp": at, "message": text} for at, text in within[at : at + 1] if phrase in text
        ]
        more = {"nextToken": str(at + 1)} if at + 1 < len(within) else {}
        return {"events": found, **more}


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def logs(cloud) -> TaskLogs:
    return TaskLogs(cloud, groups=["group"])


@pytest.fixture
def host() -> ManualHost:
    return ManualHost()


@pytest.fixture
def queue(host) -> Queue:
    return Queue.in_memory(host=host)


def claimed(queue: Queue, task_id: str):
    queue.put("a", task_id=task_id)
    return queue.store.claim(task_id, claim_id="c", lease=30)


@pytest.mark.parametrize("task_id", ["d-17", ODD, "é", "a (b)"])
def test_lines_of_lambda_and_of_own_workers_are_the_tasks_and_those_of_others_are_not(
    queue, host, cloud, logs, task_id
):
    task = claimed(queue, task_id)
    mine = {"level": "INFO", "message": "asked", "taskId": task_id, "device": 4, "service": "lifoq"}
    cloud.log(host.time, json.dumps({**mine, "exception": "Traceback …"}))
    cloud.log(host.time, json.dumps({**mine, "taskId": f"{task_id}0"}))
    cloud.log(host.time, json.dumps({"taskId": task_id, "_aws": {}}))
    cloud.log(host.time + 1_000_000, f"12:00 INFO it answers ({task_id})")
    cloud.log(host.time, f"12:00 INFO of another one (x{task_id})")
    cloud.log(host.time - 3_600_000_000, json.dumps(mine))
    found = logs.of(task, now=host.time)
    told = [(line.at - host.time, line.level, line.text, line.traceback) for line in found.lines]
    in_json, in_text = (
        (0, "INFO", "asked device=4", "Traceback …"),
        (1_000_000, "", "12:00 INFO it answers", None),
    )
    # No filter finds text by an id that has nothing plain in it.
    wanted = [in_json] if task_id == "é" else [in_json, in_text]
    assert (told, found.complete) == (wanted, True)


@pytest.mark.parametrize("task_id", ["a", "b", "c"])
def test_lines_of_a_batch_are_those_of_each_of_its_tasks(queue, host, cloud, logs, task_id):
    task = claimed(queue, task_id)
    record = logging.makeLogRecord({"msg": "sent (all)"})
    with handling(["a", "b", "c"]):
        with_task_id(record)
    cloud.log(host.time, json.dumps({"message": "asked", "taskId": vars(record)["taskId"]}))
    cloud.log(host.time, Formatter().format(record))
    for others in ("aa,bb,cc", "c b a"):
        cloud.log(host.time, json.dumps({"message": "of others", "taskId": others}))
        cloud.log(host.time, f"of others ({others})")
    cloud.log(host.time, f"of another one, which names ({task_id},d) (x)")
    cloud.log(host.time, json.dumps({"message": "of none", "taskId": [task_id]}))
    found = logs.of(task, now=host.time)
    assert [line.text for line in found.lines] == ["asked", "sent (all)"]


def test_a_backoff_between_two_attempts_is_not_looked_through(queue, host, cloud, logs):
    task = claimed(queue, "t")
    cloud.log(host.time, '{"taskId": "t", "message": "first"}')
    queue.store.retry(task, TaskError(type="E", message=""), delay=600)
    host.advance(300)
    for _ in range(100):
        cloud.log(host.time, '{"taskId": "t", "message": "of nobody"}')
    host.advance(300)
    queue.store.promote("t")
    queue.store.claim("t", claim_id="d", lease=30)
    cloud.log(host.time, '{"taskId": "t", "message": "second"}')
    found = logs.of(queue.get("t"), now=host.time)
    assert [line.text for line in found.lines] == ["first", "second"]


def test_lines_of_attempts_that_follow_each_other_at_once_are_found_once(queue, host, cloud, logs):
    task = claimed(queue, "t")
    for number in range(3):
        cloud.log(host.time, json.dumps({"taskId": "t", "message": {"é": number}}))
        host.advance(60)
        queue.store.retry(task, TaskError(type="E", message=""), delay=0)
        host.advance(3)
        task = queue.store.claim("t", claim_id=f"c{number}", lease=90)
    found = logs.of(queue.get("t"), now=host.time)
    assert [line.text for line in found.lines] == [f'{{"é": {number}}}' for number in range(3)]


def test_the_log_of_a_task_is_looked_through_until_now_or_until_it_has_ended(
    queue, host, cloud, logs
):
    task = claimed(queue, "t")
    host.advance(3_600)
    cloud.log(host.time, '{"taskId": "t", "message": "at work"}')
    assert [line.text for line in logs.of(queue.get("t"), now=host.time).lines] == ["at work"]
    queue.store.succeed(task, "7")
    host.advance(3_600)
    cloud.log(host.time, '{"taskId": "t", "message": "of a later one"}')
    assert [line.text for line in logs.of(queue.get("t"), now=host.time).lines] == ["at work"]


def test_the_log_groups_are_those_that_the_deployed_queue_names(queue, host, cloud, monkeypatch):
    deployed = SimpleNamespace(log_groups=("group",))
    monkeypatch.setattr(task_log.deployment, "read", {"prod": deployed}.__getitem__)
    monkeypatch.setattr(task_log, "Account", lambda: cloud)
    task = claimed(queue, "t")
    cloud.log(host.time, '{"taskId": "t", "message": "asked"}')
    found = TaskLogs.connect("prod").of(task, now=host.time)
    assert [line.text for line in found.lines] == ["asked"]


def test_a_search_is_bounded_and_says_so(queue, host, cloud, logs, monkeypatch):
    task = claimed(queue, "t")
    for number in range(100):
        cloud.log(host.time, json.dumps({"taskId": "t", "message": str(number)}))
    found = logs.of(task, now=host.time)
    assert (cloud.calls, len(found.lines), found.complete) == (MOST_CALLS, MOST_CALLS, False)
    cloud.calls = 0
    monkeypatch.setattr(task_log, "MOST_LINES", 3)
    found = logs.of(task, now=host.time)
    assert (cloud.calls, len(found.lines), found.complete) == (3, 3, False)


def test_a_task_that_nobody_began_has_no_log_to_look_through(queue, host, cloud, logs):
    queue.put("a", task_id="t")
    found = logs.of(queue.get("t"), now=host.time)
    assert (found.lines, found.complete, cloud.calls) == ((), True, 0)
