"""What the store promises about the history of a task's attempts."""

from dataclasses import astuple

import pytest

from lifoq.errors import DamagedTask
from lifoq.items.history import Ended, PastAttempt
from lifoq.items.task_error import TaskError
from lifoq.tables.store import Store
from lifoq.testing.hosts import START
from tests.contract.test_store import BOOM, SECOND, claim, put


def history(store: Store) -> tuple[PastAttempt, ...]:
    return store.get("t").history


def ends(store: Store) -> list[tuple[int, Ended]]:
    return [(past.attempt, past.ended) for past in history(store)]


def test_a_task_that_succeeds_at_once_has_no_history(store):
    put(store, "t")
    store.succeed(claim(store, "t"), "1")
    assert "history" not in store.table.get("t")


def test_each_attempt_that_fails_is_kept_with_its_times_and_its_error(store, host):
    put(store, "t")
    host.advance(1)
    store.retry(claim(store, "t", "one"), BOOM, delay=0)
    lost = claim(store, "t", "two", lease=1)
    host.advance(2)
    store.reclaim(lost, max_attempts=5)
    task = claim(store, "t", "three")
    host.advance(1)
    store.fail(task, TaskError(type="KeyError", message="'x'"))
    first, third = START + SECOND, START + 3 * SECOND
    attempts = [astuple(past) for past in history(store)]
    assert attempts[0] == (1, first, first, Ended.RETRIED, "ValueError", "boom")
    assert attempts[1][:5] == (2, first, third, Ended.LEASE_EXPIRED, "LeaseExpired")
    assert attempts[2] == (3, third, third + SECOND, Ended.FAILED, "KeyError", "'x'")


def test_attempts_that_do_not_count_take_one_place_between_others(store):
    put(store, "t")
    store.retry(claim(store, "t", "first"), BOOM, delay=0)
    for n in range(12):
        busy = TaskError(type="Busy", message=f"refused {n}")
        store.retry(claim(store, "t", f"busy-{n}"), busy, delay=0, counts=False)
    store.retry(claim(store, "t", "second"), BOOM, delay=0)
    assert ends(store) == [(1, Ended.RETRIED), (2, Ended.NOT_COUNTED), (2, Ended.RETRIED)]
    assert history(store)[1].message == "refused 11"


def test_the_latest_ten_attempts_are_kept(store):
    put(store, "t")
    for n in range(12):
        store.retry(claim(store, "t", f"claim-{n}"), BOOM, delay=0)
    assert [attempt for attempt, _ in ends(store)] == list(range(3, 13))


def test_an_error_is_kept_to_200_bytes_of_whole_characters(store):
    put(store, "t")
    store.fail(claim(store, "t"), TaskError(type="T" * 9, message="ü" * 500))
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
    put(store, "t")
    past.write({**store.table.get("t"), "history": damaged})
    with pytest.raises(DamagedTask, match="history"):
        store.get("t")
