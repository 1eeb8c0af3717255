"""The effect of a task's own ``max_attempts`` and ``timeout``, whoever judges it."""

import pytest

from lifoq import Backoff, InvalidInput, Status
from lifoq.basics.host import microseconds

FAST = {"window": 30, "task_timeout": 20}


@pytest.fixture
def failing(bench):
    """A type that fails, at once, unless it is tried more often than the test lets it be."""

    def fail(_payload, context):
        bench.begun.append((bench.seconds, context.max_attempts))
        raise ValueError("no")

    return fail


@pytest.mark.parametrize(("of_type", "own"), [(5, 1), (1, 3), (None, 2)])
def test_a_task_has_as_many_attempts_as_it_says_fewer_or_more_than_its_type(
    bench, failing, of_type, own
):
    bench.registry.task("a", max_attempts=of_type, backoff=Backoff.fixed(0.1))(failing)
    task = bench.task(bench.put("a", max_attempts=own))
    bench.run(**FAST)
    found = bench.task(task.task_id)
    assert (found.status, found.attempts, found.max_attempts) == (Status.FAILURE, own, own)
    assert bench.order == [own] * own


@pytest.mark.parametrize(
    ("task_type", "own", "becomes"),
    [
        ("five", 1, Status.FAILURE),
        ("one", 2, Status.PENDING),
        ("nobody's", 1, Status.FAILURE),
        ("nobody's", None, Status.PENDING),
    ],
)
def test_the_sweep_counts_a_lost_lease_as_the_task_says_also_of_a_type_without_handler(
    bench, task_type, own, becomes
):
    bench.handle("five", max_attempts=5)
    bench.handle("one", max_attempts=1)
    task_id = bench.put(task_type, max_attempts=own)
    bench.queue.store.claim(task_id, claim_id="lost", lease=1)
    bench.sleep(5)
    bench.sweep()
    assert bench.task(task_id).status is becomes


@pytest.mark.parametrize(
    ("of_type", "own", "takes", "ends"),
    [
        (15, 2, 3, "TimeoutError"),
        (2, 10, 3, None),
        (None, 2, 3, "TimeoutError"),
        (5, 100, 19, None),
        (5, 100, 21, "TimeoutError"),  # no longer than the worker's
    ],
)
def test_an_attempt_may_take_as_long_as_its_task_says_shorter_or_longer_than_its_type(
    bench, of_type, own, takes, ends
):
    bench.handle("a", takes, timeout=of_type, max_attempts=1)
    task_id = bench.put("a", timeout=own)
    bench.run(**FAST)
    error = bench.task(task_id).error
    assert (error.type if error else None) == ends


def test_a_task_keeps_its_terms_through_retries_a_lost_lease_and_a_redrive(bench, failing):
    bench.registry.task("a")(failing)
    task_id = bench.put("a", max_attempts=1, timeout=7)
    for _ in range(2):
        bench.run(**FAST)
        task = bench.task(task_id)
        assert (task.status, task.max_attempts, task.timeout) == (Status.FAILURE, 1, 7_000_000)
        bench.queue.redrive(task_id)


def test_who_debugs_a_task_is_not_stopped_by_the_time_that_it_says(bench):
    bench.handle("a", 15, timeout=1, max_attempts=1)
    bench.registry = bench.registry.without_timeouts()
    task_id = bench.put("a", timeout=2)
    bench.run(**FAST)
    assert bench.task(task_id).status is Status.SUCCESS


def test_a_time_limit_in_which_no_task_of_any_type_could_start_is_refused_with_the_sum(bench):
    bench.run(time_limit=0.1)  # without a handler nothing is to start
    bench.handle("a"), bench.handle("long", timeout=55)
    bench.put("a")
    settings = {"task_timeout": 60, "settle_time": 5}
    with pytest.raises(InvalidInput, match=r"time_limit=60: leaves .*55 s .* 5 s .* 60 s in all"):
        bench.run(time_limit=60, **settings)
    assert bench.run(time_limit=60.1, **settings).remaining, "the type with the shorter time may"
    assert bench.run(time_limit=65.1, **settings).succeeded == 1


def test_a_task_that_expired_ahead_falls_back_with_its_own_time(bench):
    bench.handle("a", 1)
    task_id = bench.put("a", deadline=1, head_start=1, timeout=5)
    bench.sleep(2)
    bench.run(**FAST)
    task = bench.task(task_id)
    assert (task.head_start, task.timeout) == (0, microseconds(5))
