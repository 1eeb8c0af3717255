"""Task types, and which of them are a worker's own."""

import functools

import pytest

from lifoq import InvalidInput, Processor, Queue, Registry, WorkerSettings
from lifoq.worker.backlog.known_types import Types


def test_a_name_has_one_handler_which_stays_what_it_was():
    registry = Registry()
    assert registry.task("a")(yields_nothing) is yields_nothing
    with pytest.raises(InvalidInput, match="has a handler already"):
        registry.task("a")(yields_nothing)
    with pytest.raises(InvalidInput, match="task type"):
        registry.task("")


def yields_nothing(payload, context):
    return payload


def test_a_task_that_no_run_has_time_for_is_refused():
    registry = Registry()
    registry.task("slow", timeout=60)(lambda payload, context: None)
    with pytest.raises(InvalidInput, match="raise task_timeout of the queue"):
        Processor(Queue.in_memory().store, registry, WorkerSettings(task_timeout=25))


async def awaited_step_by_step(payload, context):
    yield payload


def yields(payload, context):
    yield payload


class AsyncHandlers:
    async def __call__(self, payload, context):
        return payload


@pytest.mark.parametrize("handler", [AsyncHandlers(), functools.partial(AsyncHandlers().__call__)])
def test_whatever_returns_a_coroutine_is_async(handler):
    registry = Registry()
    registry.task("a")(handler)
    assert registry.get("a").is_async


@pytest.mark.parametrize(
    ("handler", "sentence"),
    [
        (5, "must be a function of payload and context"),
        (awaited_step_by_step, "is a generator"),
        (yields, "is a generator"),
    ],
)
def test_what_could_not_run_a_task_is_refused_where_it_is_registered(handler, sentence):
    registry = Registry()
    with pytest.raises(InvalidInput, match=sentence):
        registry.task("a")(handler)
    assert registry.get("a") is None


# Which are a worker's own


def names(number: int) -> frozenset[str]:
    return frozenset(f"type-{n}" for n in range(number))


def test_no_more_types_are_left_to_others_than_a_query_can_name():
    assert len(Types(elsewhere=names(100)).where) == 1
    with pytest.raises(InvalidInput, match="are 101 task types, 100 at the most"):
        Types(elsewhere=names(101))


@pytest.mark.parametrize(("number", "conditions"), [(0, 0), (1, 1), (100, 1), (101, 0)])
def test_a_worker_may_have_more_of_its_own(number, conditions):
    types = Types(only=names(number))
    assert (len(types.where), len(types.where_not)) == (conditions, conditions)
    assert [types.has(name) for name in (f"type-{number - 1}", "another")] == [number > 0, False]
