"""Task types, and which of them are a worker's own."""

import functools
import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

from lifoq import InvalidInput, Processor, Queue, Rate, Registry, WorkerSettings
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.handlers.registry import TaskType, Terms
from lifoq.worker.known_types import Types

DOCS = Path(__file__).parents[2] / "docs"
TERMS = {
    "max_attempts": 2,
    "backoff": Backoff(immediate=2),
    "timeout": 5,
    "in_flight": 3,
    "rate_limit": 0.5,
    "per_key": 1,
    "rate_per_key": 2.0,
    "cooldown": 3.0,
    "adaptive_concurrency": True,
    "batch": 5,
    "batch_wait": 0.5,
    "hours": "22:00-06:00",
    "weight": "tokens",
    "units_in_flight": 20_000,
}
"""Each term of a task type, with a value that is not its default."""
NO_TERMS = {"name", "handler", "timed", "is_async"}
"""The other fields of a task type."""


def test_each_term_of_a_task_type_is_an_argument_of_task_and_reaches_the_type():
    defaults = {term.name: term.default for term in fields(TaskType) if term.name not in NO_TERMS}
    arguments = inspect.signature(Registry.task).parameters.values()
    assert {one.name: one.default for one in arguments if one.kind is one.KEYWORD_ONLY} == defaults

    registry = Registry()
    registry.task("a", **TERMS)(yields_nothing)
    assert {name: getattr(registry.get("a"), name) for name in defaults} == TERMS
    assert all(TERMS[name] != default for name, default in defaults.items())


def test_each_term_that_targets_have_is_on_their_page():
    sentence = re.search(r"^Both kinds have, .*$", (DOCS / "targets.md").read_text(), re.MULTILINE)
    of_targets = {term.name for term in fields(Terms)} | {"timeout"}
    assert {*re.findall(r"`(\w+)`", sentence[0])} == of_targets


def test_a_name_has_one_handler_which_stays_what_it_was():
    registry = Registry()
    assert registry.task("a")(yields_nothing) is yields_nothing
    with pytest.raises(InvalidInput, match="has a handler already"):
        registry.task("a")(yields_nothing)
    with pytest.raises(InvalidInput, match="task type"):
        registry.task("")


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"rate_per_key": 0}, "a.rate_per_key=0: must be a number per second"),
        ({"rate_per_key": 1 / 86_401}, "is less than once a day; put the task again with a delay"),
        ({"rate_per_key": 1.0, "per_key": 2}, "a.per_key=2: cannot be beside rate_per_key"),
        ({"per_key": 101}, "a.per_key=101: is more than 100"),
        ({"cooldown": -1}, "a.cooldown=-1: "),
        ({"weight": "tokens"}, "a.weight='tokens': is counted by no limit: give units_in_flight"),
        ({"units_in_flight": 5}, "a.weight=None: .* give weight='tokens'"),
        ({"units_in_flight": 0, "weight": "tokens"}, "a.units_in_flight=0: must be a whole"),
        ({"rate_limit": Rate(5, of="rows"), "weight": "tokens"}, "give weight='rows'"),
        ({"rate_limit": Rate(5, per="day")}, "a.rate_limit.per='day': must be 'second'"),
        ({"rate_limit": (5, 0)}, "a.rate_limit=0.0: must be a number per second"),
        ({"rate_limit": "5"}, "a.rate_limit='5': must be a number per second"),
        ({"rate_limit": ()}, r"a.rate_limit=\(\): is empty"),
        ({"batch": 0}, r"a\.batch=0: must be a whole number from 1"),
        ({"batch": 101}, r"a\.batch=101: is more than 100 tasks"),
        ({"batch": 2.5}, r"a\.batch=2\.5: must be a whole number"),
        ({"batch_wait": 0.2}, r"a\.batch_wait=0\.2: .* give batch, too"),
        ({"batch": 5, "batch_wait": -1}, r"a\.batch_wait=-1: must be a number of seconds from 0"),
        ({"batch": 5, "batch_wait": 61}, r"a\.batch_wait=61: is longer than 60 s"),
    ],
)
def test_terms_that_make_no_sense_are_refused_with_a_sentence(terms, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Registry().task("a", **terms)(yields_nothing)


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


@pytest.mark.parametrize(
    ("terms", "in_flight", "fits"),
    [({}, 10, False), ({}, 5, True), ({"in_flight": 5}, 10, True), ({"in_flight": 6}, 10, False)],
)
def test_a_worker_that_would_hold_too_many_tasks_in_batches_is_refused(terms, in_flight, fits):
    registry = Registry()
    registry.task("a", batch=100, **terms)(yields_nothing)
    settings = WorkerSettings(in_flight=in_flight)
    if fits:
        Processor(Queue.in_memory().store, registry, settings)
    else:
        with pytest.raises(InvalidInput, match="give the type an in_flight of 5, or make smaller"):
            Processor(Queue.in_memory().store, registry, settings)


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
