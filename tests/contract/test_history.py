"""What the store promises about the history of a task's attempts."""

from dataclasses import astuple

import pytest

from lifoq.errors import DamagedTask
from lifoq.items.history import Ended, PastAttempt
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.items.task_error import TaskError
from lifoq.tables.store import Store
from lifoq.testing.hosts import START

SECOND = 1_000_000
BOOM = TaskError(type="ValueError", message="boom")


def claim(store: Store, claim_id: str = "claim-1", lease: float = 30):
    return store.claim("t", claim_id=claim_id, lease=lease)


def put(store: Store) -> None:
    store.put(NewTask(task_type="a", payload=1, task_id="t"))


def history(store: Store) -> tuple[PastAttempt, ...]:
    task = store.get("t")
    return task.history


def ends(store: Store) -> list[tuple[int, Ended]]:
    return [(past.attempt, past.ended) for past in history(store)]


def test_a_task_that_succeeds_at_once_has_no_history(store):
    put(store)
    store.succeed(claim(store), "1")
    assert history(store) == ()
    assert "history" not in store.table.get("t")


def test_each_attempt_that_fails_is_kept_with_its_times_and_its_error(store, host):
    put(store)
    host.advance(1)
    store.retry(claim(store, "one"), BOOM, delay=0)
    host.advance(1)
    task = claim(store, "two")
    host.advance(1)
    store.fail(task, TaskError(type="KeyError", message="'x'"))
    first, second = START + SECOND, START + 2 * SECOND
    assert [astuple(past) for past in history(store)] == [
        (1, first, first, Ended.RETRIED, "ValueError", "boom"),
        (2, second, second + SECOND, Ended.FAILED, "KeyError", "'x'"),
    ]


@pytest.mark.parametrize(("max_attempts", "becomes"), [(5, Status.PENDING), (1, Status.FAILURE)])
def test_a_lost_worker_is_told(store, host, max_attempts, becomes):
    put(store)
    task = claim(store, lease=1)
    host.advance(2)
    assert store.reclaim(task, max_attempts=max_attempts) is becomes
    (past,) = history(store)
    assert (past.ended, past.error_type) == (Ended.LEASE_EXPIRED, "LeaseExpired")
    assert (past.taken_at, past.ended_at) == (START, START + 2 * SECOND)


def test_attempts_that_do_not_count_take_one_place_between_others(store):
    put(store)
    store.retry(claim(store, "first"), BOOM, delay=0)
    for n in range(12):
        busy = TaskError(type="Busy", message=f"refused {n}")
        store.retry(claim(store, f"busy-{n}"), busy, delay=0, counts=False)
    store.retry(claim(store, "second"), BOOM, delay=0)
    assert ends(store) == [(1, Ended.RETRIED), (2, Ended.NOT_COUNTED), (2, Ended.RETRIED)]
    assert history(store)[1].message == "refused 11"


def test_the_latest_ten_attempts_are_kept(store):
    put(store)
    for n in range(12):
        store.retry(claim(store, f"claim-{n}"), BOOM, delay=0)
    assert [attempt for attempt, _ in ends(store)] == list(range(3, 13))


def test_an_error_is_kept_to_200_bytes_of_whole_characters(store):
    put(store)
    store.fail(claim(store), TaskError(type="T" * 9, message="ü" * 500))
    (past,) = history(store)
    assert (past.error_type, past.message) == ("T" * 9, "ü" * 95)


ENTRY = {"attempt": 1, "ended": START, "how": "FAILED", "type": "E", "message": "m"}


@pytest.mark.parametrize(
    "damaged",
    [
        "text",
        ["text"],
        [{**ENTRY, "how": "SOMEHOW"}],
        [{**ENTRY, "attempt": "1"}],
        [{**ENTRY, "taken": -1}],
        [{**ENTRY, "ended": 10**19}],
        [{key: value for key, value in ENTRY.items() if key != "message"}],
    ],
)
def test_a_damaged_history_is_told(store, past, damaged):
    put(store)
    past.write({**store.table.get("t"), "history": damaged})
    with pytest.raises(DamagedTask, match="history"):
        store.get("t")
