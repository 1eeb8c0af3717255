"""CreateTasksFunction: recurring tasks, and load."""

import pytest

from functions.create_tasks.load import Load
from lifoq import InvalidInput, QueueMisconfigured, StoreUnavailable
from tests.functions.conftest import strike

RECURRING = {
    "taskType": "price.refresh",
    "payload": {"all": True},
    "taskId": "refresh-2026-01-01",
    "headStart": 60,
}


def test_a_recurring_task_is_put_once_however_often_it_is_invoked(load, context, queue, metrics):
    function = load("create_tasks")
    assert function.handle(RECURRING, context) == {"created": 1}
    assert metrics()["TasksCreated"] == [1.0]
    assert function.handle(RECURRING, context) == {"created": 0}
    (task,) = queue.peek()
    assert (task.task_id, task.task_type, task.payload) == (
        "refresh-2026-01-01",
        "price.refresh",
        {"all": True},
    )
    assert task.head_start == 60_000_000


def test_load_is_made_at_its_pace(load, context, queue):
    event = {"taskType": "a", "payload": {"n": 1}, "load": {"tasksPerSecond": 40, "seconds": 1}}
    created = load("create_tasks").handle(event, context)["created"]
    assert created in (39, 40)  # the last may still be owed a fraction
    assert len(queue.peek(100)) == created


LOAD = {"taskType": "a", "load": {"tasksPerSecond": 100, "seconds": 0.5}}


def test_puts_of_load_that_are_not_confirmed_are_counted(load, context, queue, metrics):
    function = load("create_tasks")
    strike(function.store.table, "ThrottlingException", after=2)
    created = function.handle(LOAD, context)["created"]
    counted = metrics()
    assert 0 < created == sum(counted["TasksCreated"]) == len(queue.peek(100))
    assert created + sum(counted["TasksUnconfirmed"]) in (49, 50)


def test_load_that_nobody_may_put_fails_loudly_with_what_was_put_counted(
    load, context, queue, metrics
):
    function = load("create_tasks")
    strike(function.store.table, "AccessDeniedException", after=2)
    with pytest.raises(QueueMisconfigured, match="grant it"):
        function.handle(LOAD, context)
    assert sum(metrics()["TasksCreated"]) == len(queue.peek(100)) > 0


def test_a_recurring_task_that_is_not_confirmed_fails_the_invocation(load, context):
    function = load("create_tasks")
    strike(function.store.table, "InternalServerError")
    with pytest.raises(StoreUnavailable):
        function.handle(RECURRING, context)


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (
            {**RECURRING, "tasktype": "a"},
            "are unknown; known are taskType, payload, taskId",
        ),
        ({**RECURRING, "load": {"tasksPerSecond": 1, "seconds": 1}}, "leave one of them out"),
        ({"taskType": "a", "load": {"seconds": 1}}, "load.tasksPerSecond=None"),
        ({"taskType": "a", "load": {"tasksPerSecond": 1, "seconds": 56}}, "may run; shorten it"),
        (
            {"taskType": "a", "load": {"profile": "flat", "tasksPerSecond": 1, "seconds": 1}},
            "constant, burst, sine",
        ),
        (
            {"taskType": "a", "load": {"profile": "sine", "tasksPerSecond": 1, "seconds": 1}},
            "load.peakTasksPerSecond=None",
        ),
    ],
)
def test_a_bad_event_is_refused_and_nothing_is_put(load, context, queue, event, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        load("create_tasks").handle(event, context)
    assert queue.peek() == []


def rates(profile: str) -> list[float]:
    load = Load.parse(
        {
            "profile": profile,
            "tasksPerSecond": 2,
            "peakTasksPerSecond": 10,
            "periodSeconds": 8,
            "seconds": 60,
        }
    )
    return [round(load.rate(moment), 3) for moment in range(1_000_000_000, 1_000_000_000 + 9)]


def test_profiles_have_their_shapes():
    assert rates("constant") == [2] * 9
    assert rates("burst") == [10, 10, 10, 10, 2, 2, 2, 2, 10]
    sine = rates("sine")
    assert (sine[0], sine[2], sine[4], sine[6], sine[8]) == (2, 6, 10, 6, 2)
