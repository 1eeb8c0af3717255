"""The promises about claims of tasks whose type limits the number of TAKEN tasks of a key, or how
often one of a key starts."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from lifoq.basics.clock import CLOCKS_APART
from lifoq.basics.host import microseconds
from lifoq.client.queue import Queue
from lifoq.errors import DamagedTask, InvalidInput, KeyBusy, NotClaimed, StoreUnavailable
from lifoq.items.change import TransactionRefused
from lifoq.items.key_limit import KeyLimit
from lifoq.items.key_slots import KEPT_FREE, KEPT_HELD, next_start, slot_id
from lifoq.items.schema import Status
from lifoq.items.task import NewTask, Task
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.store.key_starts_seen import START_WITHIN
from lifoq.store.keyed_claims import REREAD_PAUSE, KeyedClaims
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.sweep.sweep import Sweeper
from tests.conftest import on_dynamodb_too
from tests.contract.test_store import SETTLES


@pytest.fixture
def keyed(store: Store, host: ManualHost) -> KeyedClaims:
    return KeyedClaims(store, host=host)


def put(
    store: Store, task_id: str, key: str | None = "k", task_type: str = "a", **terms
) -> Candidate:
    store.put(NewTask(task_type=task_type, task_id=task_id, key=key, **terms))
    return next(row for row in store.candidates(limit=99).rows if row.task_id == task_id)


def claim(keyed: KeyedClaims, shown: Candidate, per_key: int | None = 1) -> Claim:
    limit = None if per_key is None else KeyLimit(per_key=per_key)
    return keyed.claim(shown, key_limit=limit, lease=30)


def is_busy(keyed: KeyedClaims, shown: Candidate, per_key: int = 1) -> bool:
    try:
        claim(keyed, shown, per_key)
    except KeyBusy as busy:
        told = str(busy)
    else:
        return False
    assert told == f"no task of type {shown.task_type!r} and key {shown.key!r} may start now"
    return True


# So many at a time


def test_keys_and_types_do_not_count_for_each_other(store, keyed):
    claim(keyed, put(store, "t"))
    for n, (task_type, key) in enumerate([("a", "k2"), ("b", "k"), ("a:k", "k"), ("a", "k:k")]):
        claim(keyed, put(store, f"other-{n}", key, task_type))
    claim(keyed, put(store, "split-1", "b:c", "x"))
    claim(keyed, put(store, "split-2", "c", "x:b"))
    for n in range(2):
        claim(keyed, put(store, f"of no key {n}", None))


def test_of_a_key_so_many_are_taken_at_a_time_and_no_more(store, keyed):
    rows = [put(store, f"t{n}") for n in range(4)]
    held = [claim(keyed, row, per_key=2).task for row in rows[:2]]
    assert is_busy(keyed, rows[2], per_key=2)
    store.succeed(held[0], "null")
    claim(keyed, rows[2], per_key=2)
    assert is_busy(keyed, rows[3], per_key=2)


def swept(store: Store, task: Task) -> None:
    later = ManualHost(store.now() + 31_000_000)
    Store(store.table, host=later).reclaim(task, max_attempts=5)


def cancelled(store: Store, task: Task) -> None:
    store.cancel(task.task_id)
    others = KeyedClaims(store, host=ManualHost())
    assert is_busy(others, put(store, "too early")), "its handler has not stopped"
    store.end_cancelled(task)


ENDS = SETTLES | {"a cancellation": cancelled, "a lost lease": swept}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_key_is_free_once_its_claim_has_ended_though_its_worker_does_not_say_so(
    store, keyed, end
):
    held = claim(keyed, put(store, "t"))
    other = put(store, "other")
    assert is_busy(keyed, other)
    end(store, held.task)
    claim(keyed, other)
    assert is_busy(keyed, put(store, "third"))


@on_dynamodb_too
def test_who_leaves_late_does_not_free_what_another_has_by_then(store, keyed):
    late = claim(keyed, put(store, "t"))
    store.succeed(late.task, "1")
    claim(keyed, put(store, "other"))
    late.leave()
    assert is_busy(keyed, put(store, "third"))


@on_dynamodb_too
def test_of_two_who_find_the_slot_of_a_claim_that_has_ended_one_has_it(store, keyed, monkeypatch):
    store.succeed(claim(keyed, put(store, "t")).task, "1")
    faster, slower = put(store, "faster"), put(store, "slower")
    get = store.table.get

    def get_and_lose(item_id):
        item = get(item_id)
        if item_id == "t":
            monkeypatch.undo()
            claim(keyed, faster)
        return item

    monkeypatch.setattr(store.table, "get", get_and_lose)
    assert is_busy(keyed, slower)


@on_dynamodb_too
@pytest.mark.parametrize("damage", [{"claimId": None}, {"claimId": ["c"]}])
def test_a_slot_that_somebody_overwrote_is_free_once_its_task_is_taken_no_more(
    store, keyed, past, damage
):
    first, other = put(store, "t"), put(store, "u")
    held = claim(keyed, first)
    past.write({**(store.table.get(slot_id("a", "k", 0)) or {}), **damage})
    assert is_busy(keyed, other)
    store.succeed(held.task, "1")
    assert not is_busy(keyed, other)


@pytest.mark.parametrize("held_by", [None, 7])
def test_a_slot_that_does_not_tell_its_task_stays_busy_and_is_told(
    store, keyed, past, caplog, held_by
):
    shown = put(store, "t")
    past.write({"taskId": slot_id("a", "k", 0), "claimId": "c", "heldBy": held_by})
    assert is_busy(keyed, shown)
    assert f"{slot_id('a', 'k', 0)} does not tell whose it is" in caplog.text


def test_a_claim_that_is_refused_takes_no_slot(store, keyed, host):
    shown = put(store, "t")
    store.claim("t", claim_id="another's", lease=30)
    late = put(store, "late", deadline=10)
    host.advance(11)
    for refused in (shown, late):
        with pytest.raises(NotClaimed) as told:
            claim(keyed, refused)
        assert not isinstance(told.value, KeyBusy)
    claim(keyed, put(store, "other"))


@on_dynamodb_too
@pytest.mark.parametrize(
    ("key", "shown_as", "per_key"),
    [
        *(("k", {"key": "k2"}, 1), ("k", {"key": None}, 1), (None, {"key": "k"}, 1)),
        *(("k", {"task_type": "b"}, 1), ("k", {"task_type": "b"}, None)),
    ],
)
def test_a_task_that_is_no_longer_as_the_index_showed_it_is_not_claimed(
    store, keyed, key, shown_as, per_key
):
    shown = replace(put(store, "t", key), **shown_as)
    with pytest.raises(NotClaimed):
        claim(keyed, shown, per_key)
    assert store.get("t").status is Status.PENDING


# A rate

ONCE_A_SECOND = KeyLimit(rate=1.0)
LIMITS = {"a rate": ONCE_A_SECOND, "a rate, one at a time": KeyLimit(rate=1.0, per_key=1)}


class Fleet:
    """Workers whose clocks are off by so many seconds, and whose time passes together."""

    def __init__(self, store: Store, *skews: float) -> None:
        self._table = store.table
        self._hosts = [ManualHost(store.now() + microseconds(skew)) for skew in skews]
        self.workers = [self.worker(host) for host in self._hosts]

    def worker(self, host: ManualHost) -> KeyedClaims:
        store = Store(self._table, host=host)
        return KeyedClaims(store, host=host, worker=f"worker-{uuid.uuid4().hex[:8]}")

    def restarted(self, number: int) -> KeyedClaims:
        """The worker as it is in a new process, which knows nothing."""
        return self.worker(self._hosts[number])

    def pass_time(self, seconds: float) -> None:
        for host in self._hosts:
            host.advance(seconds)


def starts(keyed: KeyedClaims, shown: Candidate, limit: KeyLimit = ONCE_A_SECOND) -> bool:
    """Begin the task, and end it at once, if it may start."""
    try:
        held = keyed.claim(shown, key_limit=limit, lease=30)
    except KeyBusy:
        return False
    keyed._store.succeed(held.task, "1")
    held.leave()
    return True


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_a_key_starts_once_in_an_interval_and_other_keys_pass(store, limit):
    fleet = Fleet(store, 0.0)
    (worker,) = fleet.workers
    first, second, third = (put(store, name) for name in ("t", "u", "v"))
    assert starts(worker, first, limit)
    assert not starts(worker, second, limit)
    assert starts(worker, put(store, "of another key", "k2"), limit)
    assert starts(worker, put(store, "of another type", "k", "b"), limit)
    fleet.pass_time(0.99)
    assert not starts(worker, second, limit)
    fleet.pass_time(0.01)
    assert starts(worker, second, limit)
    assert not starts(worker, third, limit)


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("skew", [CLOCKS_APART, 0.0, -CLOCKS_APART])
def test_another_worker_waits_an_interval_from_when_it_saw_the_start_whatever_its_clock_says(
    store, limit, skew
):
    fleet = Fleet(store, 0.0, skew)
    one, other = fleet.workers
    slot, stamps = slot_id("a", "k", 0), []
    shown = [put(store, f"t{n}") for n in range(4)]
    for n, (worker, next_worker) in enumerate([(one, other), (other, one)] * 2):
        assert starts(worker, shown[n], limit)
        stamps.append(store.table.get(slot)["takenAt"])
        assert not starts(next_worker, put(store, f"early {n}"), limit)
        fleet.pass_time(0.9)
        assert not starts(next_worker, put(store, f"still early {n}"), limit)
        fleet.pass_time(0.1)
    assert stamps == sorted(set(stamps)), "no stamp that somebody has seen comes back"


@pytest.mark.parametrize("skew", [CLOCKS_APART, 0.0, -CLOCKS_APART])
def test_a_worker_that_has_just_begun_does_not_believe_its_clock_by_more_than_it_may_be_off(
    store, skew
):
    fleet = Fleet(store, 0.0, skew)
    assert starts(fleet.workers[0], put(store, "t"))
    shown = put(store, "u")
    fleet.pass_time(START_WITHIN)  # so late a claim may arrive
    for _ in range(9):
        assert not starts(fleet.restarted(1), shown)
        fleet.pass_time(0.1)
    fleet.pass_time(0.1 + 2 * CLOCKS_APART)
    assert starts(fleet.restarted(1), shown)


def test_a_type_that_gains_or_loses_its_rate_goes_on_with_the_slots_that_there_are(store):
    fleet, only_one = Fleet(store, 0.0), KeyLimit(per_key=1)
    (worker,) = fleet.workers
    one_at_a_time = LIMITS["a rate, one at a time"]
    assert starts(worker, put(store, "t"), only_one)
    held = worker.claim(put(store, "u"), key_limit=only_one, lease=30)
    store.succeed(held.task, "1")
    shown = put(store, "v")
    assert starts(worker, shown, one_at_a_time), "nothing tells of a start"
    assert not starts(worker, put(store, "w"), one_at_a_time)
    store.succeed(worker.claim(put(store, "x"), key_limit=only_one, lease=30).task, "1")
    assert starts(fleet.restarted(0), put(store, "y"), only_one), "though one has just started"


@on_dynamodb_too
def test_one_at_a_time_holds_beside_the_rate(store):
    limit = LIMITS["a rate, one at a time"]
    fleet = Fleet(store, 0.0)
    (worker,) = fleet.workers
    held = worker.claim(put(store, "t"), key_limit=limit, lease=30)
    other = put(store, "u")
    fleet.pass_time(5)
    assert not starts(worker, other, limit)
    store.succeed(held.task, "1")
    assert starts(worker, other, limit), "though its worker did not say so"


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("interval", [1, 86_400])
def test_a_slot_is_there_as_long_as_its_rate_binds(store, limit, interval):
    limit = replace(limit, rate=1 / interval)
    fleet = Fleet(store, 0.0)
    (worker,) = fleet.workers
    assert starts(worker, put(store, "t"), limit)
    slot = store.table.get(slot_id("a", "k", 0))
    assert slot.keys() - {"heldBy"} == {"taskId", "takenAt", "ttl"}
    assert slot["ttl"] == store.now() // 10**6 + interval + KEPT_FREE
    late = 0 if limit.per_key else next_start(slot) - store.now() - interval * 10**6
    assert 0 <= late <= 10**6


@on_dynamodb_too
@pytest.mark.parametrize("damage", [None, "yesterday", 10**18, 1.5])
def test_a_slot_with_a_damaged_stamp_is_free_after_an_interval(store, past, damage):
    fleet = Fleet(store, 0.0)
    (worker,) = fleet.workers
    shown = put(store, "t")
    stamp = Decimal(str(damage)) if isinstance(damage, float) else damage
    past.write({"taskId": slot_id("a", "k", 0), "takenAt": stamp})
    if damage != 1.5:  # a number that is long ago
        assert not starts(worker, shown)
        fleet.pass_time(1)
    assert starts(worker, shown)


# Answers that are lost


@pytest.fixture
def late(store: Store, keyed: KeyedClaims, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets a claim of the task "t" arrive that is still on its way, and was given up."""
    send, sent = store.table.update_and_put, []

    def hold_up(*arguments: Any, **terms: Any) -> None:
        assert terms["once"], "no claim is sent twice"
        sent.append(partial(send, *arguments, **terms))
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(store.table, "update_and_put", hold_up)
    with pytest.raises(StoreUnavailable):
        claim(keyed, put(store, "t"))
    monkeypatch.undo()
    return sent[0]


def test_whether_a_claim_was_granted_is_asked_for_during_a_third_of_its_lease(
    store, keyed, host, monkeypatch
):
    shown, began, asked = put(store, "t"), host.monotonic(), []

    def get(task_id: str) -> None:
        asked.append((host.monotonic() - began) / 10**6)
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(store.table, "get", get)
    with pytest.raises(StoreUnavailable):
        claim(keyed, shown)
    assert asked[:52] == pytest.approx([*(n * REREAD_PAUSE for n in range(51)), 10])


def test_a_claim_of_a_damaged_task_says_what_is_wrong_with_it(store, keyed, past):
    shown = put(store, "t")
    past.write({**store.table.get("t"), "expiresAt": "soon"})
    with pytest.raises(DamagedTask, match="expiresAt"):
        claim(keyed, shown)


def test_a_claim_that_arrives_late_is_refused_where_another_has_the_key(store, keyed, late):
    claim(keyed, put(store, "other"))
    with pytest.raises(TransactionRefused):
        late()
    assert store.get("t").status is Status.PENDING


def test_a_claim_that_arrives_late_holds_the_key_until_its_lease_is_over(store, keyed, host, late):
    other = claim(keyed, put(store, "other"))
    store.succeed(other.task, "1")
    other.leave()
    late()
    third = put(store, "third")
    assert is_busy(keyed, third)
    host.advance(31)
    Sweeper(store, Registry(), max_attempts=5, host=host).run()
    claim(keyed, third)


# Slots are no tasks


@on_dynamodb_too
def test_slots_are_seen_by_nobody_and_vanish(store, keyed, host):
    left = claim(keyed, put(store, "t"))
    claim(keyed, put(store, "other", "k2"))
    store.succeed(left.task, "1")
    left.leave()
    queue = Queue(store, host=host)
    stats = queue.stats()
    counts = [stats.pending, stats.delayed, stats.taken, stats.failure]
    assert [count.value for count in counts] == [0, 0, 1, 0]
    assert queue.purge(confirm=lambda _: True) == 0
    report = Sweeper(store, Registry(), max_attempts=5, host=host).run()
    assert (report.dead_lettered, report.leases_expired) == (0, 0)
    free, held = (store.table.get(slot_id("a", key, 0)) for key in ("k", "k2"))
    assert free["ttl"] == host.now() // 10**6 + KEPT_FREE
    assert held["ttl"] == host.now() // 10**6 + KEPT_HELD
    assert "taskStatus" not in {**free, **held}


def test_no_task_takes_the_id_of_a_slot(store):
    with pytest.raises(InvalidInput, match="begins with 'lifoq:own:'"):
        store.put(NewTask(task_type="a", task_id=slot_id("a", "k", 0)))
