"""A head start: the task stands where it would if it had come later, and nothing else moves."""

from datetime import timedelta

from lifoq.items.schema import Status
from lifoq.items.task import NewTask, Task
from lifoq.tables import open_tasks
from lifoq.tables.stats import measure
from lifoq.tables.store import BROWSE_PAGE
from tests.conftest import on_dynamodb_too
from tests.contract.test_store import BOOM, SECOND, claim, pending, put

pytestmark = on_dynamodb_too


def place(task: Task) -> int:
    """By how many seconds it stands ahead of when it entered the queue."""
    assert task.task_created is not None
    return (task.task_created - task.enqueued_at) // SECOND


def test_a_task_goes_before_all_that_come_within_its_head_start(store, host):
    first = put(store, "worth more", head_start=timedelta(minutes=1))
    plain = put(store, "plain")
    assert (place(first), first.head_start) == (60, 60 * SECOND)
    assert first.expires_at - first.enqueued_at == plain.expires_at - plain.enqueued_at
    host.advance(59)
    put(store, "within")
    host.advance(2)
    put(store, "after")
    assert pending(store) == ["after", "worth more", "within", "plain"]
    assert store.get("worth more") == first


def test_a_dead_letter_lies_by_its_age_and_a_redrive_gives_it_its_head_start_anew(store, host):
    for name in ("failed", "buried"):
        put(store, name, head_start=60)
    store.fail(claim(store, "failed", "a"), BOOM)
    lost = claim(store, "buried", "b")
    host.advance(4_000)
    assert store.reclaim(lost, max_attempts=1) is Status.FAILURE
    for name in ("failed", "buried"):
        assert place(store.get(name)) == 0
        redriven = store.redrive(name)
        assert place(redriven) == 4_060
        store.retry(claim(store, name, name), BOOM, delay=0)
        assert store.get(name).task_created == redriven.task_created


# Ages


def test_ages_count_from_when_a_task_entered_the_queue_behind_whatever_page_it_stands(store, host):
    put(store, "oldest, and ahead of all", head_start=3_600)
    host.advance(1)
    store.put_many([NewTask(task_type="a", head_start=1_800) for _ in range(BROWSE_PAGE)])
    host.advance(99)
    put(store, "plain")
    host.advance(100)
    put(store, "young, and ahead", head_start=300)
    host.advance(10)
    put(store, "newest")
    host.advance(5)
    found = measure(store, now=store.now())
    assert (round(found.newest_waiting_seconds), round(found.oldest_waiting_seconds)) == (5, 215)
    assert round(open_tasks.measure(store, frozenset({"a"})).oldest_waiting_seconds) == 215
    assert open_tasks.measure(store, frozenset({"b"})).oldest_waiting_seconds == 0


def test_past_its_deadline_a_task_falls_back_and_is_counted_as_shed_all_the_same(store, host):
    put(store, "ahead", head_start=3_600)
    put(store, "claimed", head_start=3_600)
    rows = store.candidates(limit=2).rows
    claim(store, "claimed")
    assert not any(store.let_fall(row) for row in rows), "it lives, or runs"
    host.advance(3_600)
    assert [store.let_fall(row) for row in rows] == [False, True]
    task = store.get("ahead")
    assert (place(task), task.head_start, task.status) == (0, 0, Status.PENDING)
    assert not store.let_fall(rows[1])
    assert measure(store, now=store.now()).shed_lately.value == 1
    host.advance(1)
    assert pending(store) == []
