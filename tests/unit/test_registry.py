"""Task types."""

import functools

import pytest

from lifoq import InvalidInput, Processor, Queue, Registry, WorkerSettings


def test_a_handler_is_registered_under_its_name_and_stays_callable():
    registry = Registry()

    @registry.task("price.update", max_attempts=3)
    def update(payload, context):
        return payload

    assert registry.get("price.update").max_attempts == 3
    assert registry.get("other") is None
    assert update(1, None) == 1


def test_a_name_has_one_handler():
    registry = Registry()
    registry.task("a")(lambda payload, context: None)
    with pytest.raises(InvalidInput, match="has a handler already"):
        registry.task("a")(lambda payload, context: None)


def test_a_task_that_no_run_has_time_for_is_refused():
    registry = Registry()
    registry.task("slow", timeout=60)(lambda payload, context: None)
    with pytest.raises(InvalidInput, match="raise task_timeout_seconds of the stage"):
        Processor(Queue.in_memory().store, registry, WorkerSettings(task_timeout=25))


async def awaited_step_by_step(payload, context):
    yield payload


def yields(payload, context):
    yield payload


class Awaited:
    async def __call__(self, payload, context):
        return payload


@pytest.mark.parametrize("handler", [Awaited(), functools.partial(Awaited().__call__)])
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


@pytest.mark.parametrize("name", ["", None, 5, "x" * 257, "\ud800"])
def test_a_name_that_no_task_can_have_is_refused(name):
    with pytest.raises(InvalidInput, match="task type"):
        Registry().task(name)
