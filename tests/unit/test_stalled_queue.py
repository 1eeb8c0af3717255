"""A queue that stands still is told; one that is slow on purpose is not."""

import pytest

from lifoq import Lifetimes, NewTask, Rate, Registry, WorkerSettings
from lifoq.basics.host import microseconds
from lifoq.items.change import Change
from lifoq.items.schema import Attribute
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq.worker.known_types import Types
from lifoq.worker.sweep.stalled_queue import STALL_PATIENCE, StallWatch, patience


@pytest.fixture
def store(host):
    return Store(MemoryTable(), lifetimes=Lifetimes(deadline=86_400), host=host)


@pytest.fixture
def watch(store, host):
    return StallWatch(store, patience=STALL_PATIENCE, host=host)


def put(store, task_id=None, **terms):
    return store.put(NewTask(task_type="a", task_id=task_id, **terms)).task_id


def each_minute(watch, host, minutes, *, meanwhile=lambda: None, pass_=ManualHost.advance):
    """Return what is found, minute by minute."""
    found = []
    for _ in range(minutes):
        meanwhile()
        pass_(host, 60)
        found.append(watch.stalled())
    return found


def work(store, task_id):
    """Claim a task and finish it, at once."""
    task = store.claim(task_id, claim_id=f"of {task_id}", lease=30)
    store.succeed(task, "null")


@pytest.mark.parametrize("pass_", [ManualHost.advance, ManualHost.freeze])
def test_tasks_that_nobody_claims_stall_the_queue_after_five_minutes(store, host, watch, pass_):
    """Also if the process is frozen between its sweeps, as in Lambda."""
    found = each_minute(watch, host, 8, meanwhile=lambda: put(store), pass_=pass_)
    assert found == [False] * 5 + [True] * 3


def test_tasks_of_types_that_no_worker_has_neither_stall_a_queue_nor_hide_that_it_is(store, host):
    watch = StallWatch(
        store, patience=STALL_PATIENCE, types=Types(only=frozenset({"a"})), host=host
    )
    for _ in range(15):
        store.put(NewTask(task_type="unknown"))
    assert not any(each_minute(watch, host, 8))
    put(store)
    for _ in range(15):
        store.put(NewTask(task_type="unknown"))
    assert each_minute(watch, host, 8)[-1]


def test_a_claim_ends_it_and_a_task_that_is_cancelled_was_not_claimed(store, host, watch):
    first = put(store, "a")
    put(store)
    assert each_minute(watch, host, 7, meanwhile=lambda: store.cancel(put(store)))[-1]
    work(store, first)
    assert each_minute(watch, host, 7) == [False] * 5 + [True] * 2


def test_an_empty_queue_does_not_stand_still(store, host, watch):
    put(store, deadline=150)
    put(store, delay=80_000)
    assert not any(each_minute(watch, host, 30))
    put(store)
    assert each_minute(watch, host, 7) == [False] * 5 + [True] * 2


def test_one_long_task_in_the_only_slot_is_work(store, host, watch):
    """A task may take a quarter of an hour, and a window, too; nothing is claimed meanwhile."""
    put(store)
    task = store.claim(put(store, "long"), claim_id="c", lease=30)
    store.claim(put(store, "damaged"), claim_id="d", lease=30)
    store.table.update("damaged", Change(when=(), set={Attribute.LEASE_EXPIRES: "soon"}))

    def heartbeat():
        store.extend(task, lease=90)

    assert not any(each_minute(watch, host, 15, meanwhile=heartbeat))


def test_a_claim_between_two_looks_is_seen_by_the_tasks_that_waited(store, host, watch):
    """Short tasks, some a minute: nobody holds one at the moment of the sweep."""
    for n in range(30):
        put(store, f"t{n}")
    left = iter(range(29, -1, -1))
    assert not any(each_minute(watch, host, 20, meanwhile=lambda: work(store, f"t{next(left)}")))


def test_short_tasks_of_a_flooded_queue_are_seen_while_it_is_watched(store, host, watch):
    """The tasks were claimed after the last sweep, and are gone before the next."""
    put(store)
    slept = []

    def claimed_in_passing():
        slept.append(host.time)
        if len(slept) % 7 == 0:
            store.claim(put(store), claim_id=f"c{len(slept)}", lease=1)

    host.on_sleep = claimed_in_passing
    assert not any(each_minute(watch, host, 20))


def test_a_queue_stands_still_beyond_its_patience_and_is_watched_for_two_seconds(
    store, host, watch
):
    put(store)
    began = host.time
    assert not watch.stalled()
    for time, stalled in ((STALL_PATIENCE, False), (STALL_PATIENCE + 10, True)):
        host.slept.clear()
        host.time = began + microseconds(time)
        assert watch.stalled() is stalled
        assert host.slept == [0.1] * 20


def test_without_limits_a_queue_stands_still_after_five_minutes():
    assert patience(WorkerSettings(), Registry()) == 300


@pytest.mark.parametrize(
    ("rate_limit", "terms", "seconds"),
    [
        (None, {}, STALL_PATIENCE + 1),  # the time between two starts of a key that starts often
        (50, {}, STALL_PATIENCE + 1),
        (0.01, {}, 1000),
        (0.01, {"rate_limit": 0.001}, 10_000),
        (None, {"rate_per_key": 0.1}, STALL_PATIENCE + 10),
        (None, {"rate_per_key": 1 / 3600}, STALL_PATIENCE + 3600),
        (None, {"cooldown": 1_800}, STALL_PATIENCE + 1_800),
        (None, {"hours": "08:00-07:00"}, STALL_PATIENCE + 7_200),  # and as clocks are put back
        (
            None,
            {"weight": "tokens", "rate_limit": Rate(7_200, per="hour", of="tokens")},
            STALL_PATIENCE + 3_600,
        ),
    ],
)
def test_whoever_starts_tasks_seldom_on_purpose_has_more_patience(rate_limit, terms, seconds):
    registry = Registry()
    registry.task("often", rate_per_key=1)(lambda _, __: None)
    registry.task("seldom", **terms)(lambda _, __: None)
    assert patience(WorkerSettings(rate_limit=rate_limit), registry) == pytest.approx(seconds)
