"""SweepFunction: what it brings back, measures, and wakes."""

import time

from lifoq import NewTask, Status
from lifoq.store import Store
from lifoq.transitions import Lifetimes
from tests.hosts import ManualHost


def earlier(queue, seconds, **lifetimes) -> Store:
    """The queue's store, some seconds ago."""
    host = ManualHost(start=time.time_ns() // 1000 - seconds * 1_000_000)
    return Store(queue.store.table, lifetimes=Lifetimes(**lifetimes), host=host)


def put(store: Store, task_id: str, **terms):
    return store.put(NewTask(task_type="a", task_id=task_id, **terms))


def test_a_lost_kick_is_made_up_for(load, context, queue, processor_topic, metrics):
    put(earlier(queue, 30), "t")
    sweep = load("sweep")
    assert sweep.handle({}, context)["Kicks"]
    assert len(processor_topic.messages()) == 1
    counted = metrics()
    assert (counted["Sweeps"], counted["Kicks"], counted["TasksPending"]) == ([1.0], [1.0], [1.0])
    assert 30 <= counted["OldestWaitingAgeSeconds"][0] < 60


def test_nobody_is_woken_for_nothing(load, context, queue, processor_topic, metrics):
    put(earlier(queue, 60, deadline=3600), "expired", deadline=10)
    sweep = load("sweep")
    assert not sweep.handle({}, context)["Kicks"]
    assert processor_topic.messages() == []
    counted = metrics()
    assert (counted["TasksPending"], counted["TasksExpiredPresent"]) == ([0.0], [1.0])
    assert counted["OldestWaitingAgeSeconds"] == [0.0]


def test_an_expired_lease_and_a_due_task_come_back_and_wake(
    load, context, queue, processor_topic, metrics
):
    before = earlier(queue, 60)
    put(before, "stranded")
    before.claim("stranded", claim_id="c", lease=30)
    put(before, "due", delay=30)
    put(earlier(queue, 60), "later", delay=3000)
    summary = load("sweep").handle({}, context)
    assert (summary["LeasesExpired"], summary["TasksPromoted"]) == (1, 1)
    assert queue.get("stranded").status is Status.PENDING
    assert queue.get("due").status is Status.PENDING
    assert queue.get("later").status is Status.DELAYED
    assert len(processor_topic.messages()) == 1
    counted = metrics()
    assert (counted["LeasesExpired"], counted["TasksPromoted"]) == ([1.0], [1.0])


def test_the_last_attempt_that_is_lost_is_a_failure(load, context, queue, metrics):
    before = earlier(queue, 60)
    put(before, "poison")
    before.claim("poison", claim_id="c", lease=30)
    load("sweep", LIFOQ_MAX_ATTEMPTS="1").handle({}, context)
    assert queue.get("poison").status is Status.FAILURE
    assert metrics()["TasksFailed"] == [1.0]
