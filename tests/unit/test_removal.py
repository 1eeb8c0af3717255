"""The second from which DynamoDB's TTL may remove a task: it never takes work in flight, and keeps
what has ended as long as somebody may look at it."""

from collections.abc import Callable

import pytest

from lifoq import Lifetimes, NewTask, Store
from lifoq.items.task import Task
from lifoq.items.task_error import TaskError
from lifoq.items.transitions import IN_FLIGHT_TTL
from lifoq.store.memory_table import MemoryTable
from lifoq.testing.hosts import START, ManualHost

SECOND = 1_000_000
LIFETIMES = Lifetimes(deadline=1_000, success_retention=5_000, failure_retention=9_000)
BOOM = TaskError(type="ValueError", message="boom")


def claim(store: Store, lease: float = 30) -> Task:
    return store.claim("t", claim_id="c", lease=lease)


def lose(store: Store, host: ManualHost, *, max_attempts: int = 9, cancelled: bool = False) -> None:
    task = claim(store, lease=1)
    if cancelled:
        store.cancel("t")
    host.advance(2)
    store.reclaim(task, max_attempts=max_attempts)


def stop(store: Store) -> None:
    task = claim(store)
    store.cancel("t")
    store.end_cancelled(task)


def come_due(store: Store, host: ManualHost) -> None:
    store.retry(claim(store), BOOM, delay=5)
    host.advance(5)
    assert store.promote("t")


def redrive(store: Store, host: ManualHost) -> None:
    store.fail(claim(store), BOOM)
    host.advance(60)
    store.redrive("t")


DEADLINE = START // SECOND + 1_000
WAITS = {
    "put": (lambda _store, _host: None, DEADLINE),
    "delayed": (lambda s, _: s.retry(claim(s), BOOM, delay=5), DEADLINE),
    "tried again at once": (lambda s, _: s.retry(claim(s), BOOM, delay=0), DEADLINE),
    "no room": (lambda s, _: s.retry(claim(s), BOOM, delay=0, counts=False), DEADLINE),
    "its worker lost": (lose, DEADLINE),
    "due": (come_due, DEADLINE),
    "redriven": (redrive, DEADLINE + 60),
}
ENDS = {
    "taken": (lambda s, _: claim(s), IN_FLIGHT_TTL),
    "succeeded": (lambda s, _: s.succeed(claim(s), "1"), 5_000),
    "failed": (lambda s, _: s.fail(claim(s), BOOM), 9_000),
    "lost for the last time": (lambda s, h: lose(s, h, max_attempts=1), 9_000),
    "cancelled": (lambda s, _: s.cancel("t"), 5_000),
    "cancelled while it ran": (lambda s, _: stop(s), 5_000),
    "cancelled and its worker lost": (lambda s, h: lose(s, h, cancelled=True), 5_000),
}


@pytest.fixture
def store(host: ManualHost) -> Store:
    store = Store(MemoryTable(), lifetimes=LIFETIMES, host=host)
    store.put(NewTask(task_type="a", task_id="t"))
    return store


@pytest.fixture
def host() -> ManualHost:
    return ManualHost()


Way = Callable[[Store, ManualHost], object]


@pytest.mark.parametrize(("come", "ttl"), WAITS.values(), ids=WAITS)
def test_what_waits_or_waits_again_is_removed_at_its_deadline(store, host, come: Way, ttl: int):
    come(store, host)
    assert store.get("t").ttl == ttl


@pytest.mark.parametrize(("come", "kept"), ENDS.values(), ids=ENDS)
def test_what_runs_is_kept_and_what_has_ended_for_its_retention(store, host, come: Way, kept: int):
    come(store, host)
    assert store.get("t").ttl == host.now() // SECOND + kept
