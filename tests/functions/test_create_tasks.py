"""CreateTasksFunction: recurring tasks, and load."""

from contextlib import nullcontext
from unittest.mock import Mock

import pytest

from lifoq import InvalidInput, QueueMisconfigured, StoreUnavailable
from lifoq_functions.create_tasks.load import Load
from tests.fixtures import noise
from tests.functions.conftest import strike

RECURRING = {
    "taskType": "price.refresh",
    "payload": {"all": True},
    "taskId": "refresh-2026-01-01",
    "headStart": 60,
}


def test_a_recurring_task_is_put_once_however_often_it_is_invoked_or_fails_loudly(
    load, context, queue, metrics
):
    function = load("create_tasks")
    assert function.handle(RECURRING, context) == {"created": 1}
    assert metrics()["TasksCreated"] == [1.0]
    assert function.handle(RECURRING, context) == {"created": 0}
    (task,) = queue.peek()
    assert (task.task_type, task.payload) == ("price.refresh", {"all": True})
    assert (task.task_id, task.head_start) == ("refresh-2026-01-01", 60_000_000)
    strike(function.store.table, "InternalServerError")
    with pytest.raises(StoreUnavailable):
        function.handle(RECURRING, context)


@pytest.mark.parametrize("refusal", [None, "ThrottlingException", "AccessDeniedException"])
def test_load_is_made_at_its_pace_and_counted_as_far_as_it_could_be_put(
    load, context, queue, metrics, monkeypatch, refusal
):
    event = {"taskType": "a", "load": {"tasksPerSecond": 100, "seconds": 0.5}}
    context.get_remaining_time_in_millis = lambda: 5_500  # just enough, with five for the end
    function, warned = load("create_tasks"), Mock()
    monkeypatch.setattr(function.logger, "warning", warned)
    if refusal:
        strike(function.store.table, refusal, after=2)
    denied = refusal == "AccessDeniedException"
    answer = None
    with pytest.raises(QueueMisconfigured, match="grant it") if denied else nullcontext():
        answer = function.handle(event, context)
    assert warned.called is (refusal == "ThrottlingException")
    counted = metrics()
    created, others = (sum(counted.get(f"Tasks{one}", [])) for one in ("Created", "Unconfirmed"))
    assert answer == (None if denied else {"created": created})
    assert created == len(queue.peek(100)) > 0
    if not denied:
        assert created + others in (49, 50)  # the last may still be owed a fraction
        assert bool(others) is (refusal is not None)


LOAD = {"tasksPerSecond": 1, "seconds": 1}


REFUSED = [
    ({"tasktype": "a"}, "are unknown; known are taskType, payload, taskId"),
    ({"payload": noise(400_000)}, "payload="),
    ({"taskId": "a", "load": LOAD}, "leave one of them out"),
    ({"load": {"seconds": 1}}, "load.tasksPerSecond=None"),
    ({"load": {**LOAD, "seconds": 56}}, "is more than the 55 s that .* may run; shorten it"),
    *(
        ({"load": {**LOAD, "seconds": wrong}}, "load.seconds=.*: must be a number above 0")
        for wrong in (0, True, "5", float("inf"))
    ),
    ({"load": {**LOAD, "profile": "flat"}}, "constant, burst, sine"),
    ({"load": {**LOAD, "profile": "sine"}}, "load.peakTasksPerSecond=None"),
]


def test_a_bad_event_is_refused_and_nothing_is_put(load, context, queue):
    function = load("create_tasks")
    for event, sentence in REFUSED:
        with pytest.raises(InvalidInput, match=sentence):
            function.handle({"taskType": "a", **event}, context)
    assert queue.peek() == []


@pytest.mark.parametrize(
    ("profile", "rates"),
    [
        ("constant", [2] * 9),
        ("burst", [10, 10, 10, 10, 2, 2, 2, 2, 10]),
        ("sine", [2, 3.172, 6, 8.828, 10, 8.828, 6, 3.172, 2]),
    ],
)
def test_profiles_have_their_shapes(profile, rates):
    shape = {"profile": profile, "peakTasksPerSecond": 10, "periodSeconds": 8}
    load = Load.parse({**shape, "tasksPerSecond": 2, "seconds": 60})
    assert [round(load.rate(10**9 + second), 3) for second in range(9)] == rates
