"""Quota tables: what limits over all workers promise."""

from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import Mock

import pytest

from lifoq.basics.host import microseconds
from lifoq.errors import QueueMisconfigured, StoreUnavailable
from lifoq.items.change import Change, ConditionFailed
from lifoq.items.quota_table import (
    CLOCKS_APART,
    NONE,
    QUOTA_LASTS,
    QUOTA_TABLE_KEPT,
    Amount,
    Entry,
    Grant,
    QuotaTable,
    Renewal,
    SharedLimit,
    quota_table_id,
)
from lifoq.store.quota_tables import QuotaTables
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from tests.conftest import on_dynamodb_too

SHARED = SharedLimit(in_flight=4, rate=2.0)
LEASE = 30.0
ALL = Amount(4, 2)
NUMBERS = count(1)


@pytest.fixture
def quota_tables(store: Store, host: ManualHost) -> QuotaTables:
    return QuotaTables(store, host=host)


def take(
    quota_tables: QuotaTables,
    worker: str,
    wants: Amount,
    *,
    shared: SharedLimit = SHARED,
    **terms: Any,
) -> Grant:
    grant = quota_tables.take("a", shared, renewal(worker, wants, **terms))
    assert grant is not None
    return grant


def renewal(worker: str, wants: Amount, **terms: Any) -> Renewal:
    usual = {"keeps": ALL, "insists": True, "returns": 0.0, "renew": True}
    told = {**usual, "number": next(NUMBERS), "lease": microseconds(LEASE), **terms}
    return Renewal(worker=worker, wants=wants, **told)


def read(store: Store, *, units: bool = False) -> QuotaTable:
    return QuotaTable.of(store.table.get(quota_table_id("a", units=units)), SharedLimit())


# Slots, and shards with their tokens


def test_what_one_gives_back_the_next_has_at_once_tokens_and_all(quota_tables):
    assert take(quota_tables, "w1", ALL).tokens == 2
    late = take(quota_tables, "w2", ALL)
    assert (late.has, late.tokens) == (NONE, 0)
    take(quota_tables, "w1", NONE, keeps=Amount(1, 0), returns=0.5)  # has one task left
    late = take(quota_tables, "w2", Amount(2, 1))
    assert (late.has, late.tokens) == (Amount(2, 1), 0.5)
    later = take(quota_tables, "w3", ALL)
    assert (later.has, later.tokens) == (Amount(1, 1), 0)  # a token is handed on once


def test_shards_that_nobody_has_fill_up(quota_tables, store, host):
    take(quota_tables, "w1", ALL)
    take(quota_tables, "w1", NONE, keeps=NONE)  # all tokens are used
    assert not read(store).entries
    host.advance(0.6)
    assert take(quota_tables, "w2", ALL).tokens == pytest.approx(1.2)
    take(quota_tables, "w2", NONE, keeps=NONE)
    host.advance(60)
    assert take(quota_tables, "w2", ALL).tokens == 2


def test_tokens_come_with_new_shards_and_not_again_with_those_that_were_kept(quota_tables):
    shared, tokens = SharedLimit(rate=4.0), []
    for shards in (2, 3):
        wants = Amount(0, shards)
        tokens.append(take(quota_tables, "w", wants, keeps=wants, shared=shared).tokens)
    assert tokens == [2, 1]


def test_a_limit_without_a_rate_has_no_shards_and_no_tokens():
    slots = SharedLimit(in_flight=4)
    assert (slots.amount, slots.room(0), slots.gain(0)) == (Amount(4, 0), 0, 0)
    assert QuotaTable.of(None, slots) == QuotaTable(tokens=0)


def test_clocks_that_differ_make_no_tokens(quota_tables, store, host):
    """However often a shard goes from one who is behind to one who is ahead, and back."""
    ahead = ManualHost(host.now() + microseconds(3))
    others = QuotaTables(Store(store.table, host=ahead), host=ahead)
    one_shard = SharedLimit(rate=0.5)
    tokens = 0.0
    for _ in range(10):
        for worker, theirs in (("behind", quota_tables), ("ahead", others)):
            tokens += take(theirs, worker, ALL, shared=one_shard).tokens
            for clock in (host, ahead):
                clock.advance(0.5)
            take(theirs, worker, NONE, keeps=NONE, shared=one_shard)
    assert tokens <= 1 + 0.5 * 3  # what it holds, and the difference once


def test_one_whose_time_leaped_holds_up_no_shard_of_others(quota_tables, store, host):
    """Between two invocations, a clock that was set ahead looks like time that has passed."""
    leaping = ManualHost()
    others = QuotaTables(store, host=leaping)
    take(others, "leaps", ALL)
    leaping.advance(3600)
    take(others, "leaps", NONE, keeps=NONE)  # all tokens are used
    host.advance(2 * CLOCKS_APART + 1)
    assert take(quota_tables, "w", ALL).tokens == pytest.approx(2)


def test_a_worker_that_has_more_than_its_fair_part_is_told_what_is_fair(quota_tables):
    assert take(quota_tables, "w1", ALL).fair == ALL
    take(quota_tables, "w2", Amount(1, 1))
    assert take(quota_tables, "w1", ALL).fair == Amount(3, 1)
    take(quota_tables, "w3", ALL, insists=False)
    assert take(quota_tables, "w1", ALL).fair == Amount(3, 1)
    take(quota_tables, "w2", Amount(2, 1))
    assert take(quota_tables, "w1", ALL).fair == Amount(2, 1)
    assert take(quota_tables, "w1", ALL, keeps=NONE).has == Amount(2, 1)


def test_what_cannot_be_divided_stays_with_who_has_more(quota_tables):
    odd, all_of_it = SharedLimit(in_flight=3), Amount(3, 0)
    for worker, fair in (("z", 3), ("a", 1), ("z", 2)):
        assert take(quota_tables, worker, all_of_it, shared=odd).fair.slots == fair
    assert take(quota_tables, "z", all_of_it, shared=odd, keeps=Amount(1, 0)).has.slots == 2


@pytest.mark.parametrize(
    "shared", [SharedLimit(in_flight=1, rate=2.0), SharedLimit(in_flight=4, rate=0.5)]
)
def test_nobody_has_slots_without_shards_or_shards_without_slots(quota_tables, shared):
    take(quota_tables, "w1", ALL, shared=shared)
    late = take(quota_tables, "w2", ALL, shared=shared)
    assert (late.has, late.fair) == (NONE, NONE)
    assert take(quota_tables, "w1", ALL, shared=shared).fair == shared.amount


def test_a_quota_runs_out_shards_first_and_slots_when_the_leases_of_its_tasks_are_over(
    quota_tables, host
):
    slots, shards = SharedLimit(in_flight=4), SharedLimit(rate=2.0)
    for name, shared in (("slots", slots), ("shards", shards)):
        quota_tables.take(name, shared, renewal("lost", ALL))

    def left(name: str, shared: SharedLimit) -> tuple[Amount, float]:
        grant = quota_tables.take(name, shared, renewal("w", ALL))
        return grant.has, grant.tokens

    host.advance(QUOTA_LASTS + CLOCKS_APART)
    assert left("shards", shards) == (NONE, 0)
    host.advance(0.1)
    assert left("shards", shards) == (Amount(0, 2), 0)
    assert left("slots", slots) == (NONE, 0)
    host.advance(LEASE)
    assert left("slots", slots) == (Amount(4, 0), 0)


# Where units are counted


UNITS = SharedLimit(in_flight=100, unit="tokens")


def test_where_units_are_counted_the_next_task_of_each_worker_comes_first_the_oldest_before(
    quota_tables,
):
    def renews(worker: str, *, needs: int, since: int, keeps: int = 0) -> Grant:
        terms = {"keeps": Amount(keeps, 0), "needs": Amount(needs, 0), "since": since}
        return take(quota_tables, worker, Amount(100, 0), shared=UNITS, **terms)

    assert take(quota_tables, "light", Amount(100, 0), shared=UNITS).has.slots == 100
    renews("late", needs=80, since=7)
    renews("early", needs=70, since=5)
    # An even part is 33: too small for both, for ever.
    fair = take(quota_tables, "light", Amount(100, 0), shared=UNITS, keeps=NONE).fair.slots
    assert fair == 0
    assert renews("late", needs=80, since=7).has.slots == 30
    assert renews("early", needs=70, since=5).has.slots == 70


def test_what_shards_owe_goes_with_them_to_whoever_has_them_next(quota_tables, host):
    shared = SharedLimit(rate=100.0, unit="tokens", most_owed=1_000)
    assert take(quota_tables, "w1", Amount(0, 100), shared=shared).tokens == 100
    take(quota_tables, "w1", NONE, keeps=NONE, returns=-500, shared=shared)
    assert take(quota_tables, "w2", Amount(0, 40), shared=shared).tokens == -200
    host.advance(1)  # the free shards pay for themselves meanwhile
    assert take(quota_tables, "w3", Amount(0, 60), shared=shared).tokens == pytest.approx(-240)


def test_all_that_a_single_shard_owes_goes_with_it(quota_tables):
    one_shard = SharedLimit(rate=1.0)
    take(quota_tables, "w1", ALL, shared=one_shard)
    take(quota_tables, "w1", NONE, keeps=NONE, returns=-5, shared=one_shard)
    assert take(quota_tables, "w2", ALL, shared=one_shard).tokens == -5


def test_shards_bring_back_no_more_tokens_than_they_have_room_for(quota_tables):
    shared = SharedLimit(rate=100.0)
    for worker, shards in (("w1", 40), ("w2", 60)):
        assert take(quota_tables, worker, Amount(0, shards), shared=shared).tokens == shards
    take(quota_tables, "w2", NONE, keeps=NONE, shared=shared)
    take(quota_tables, "w1", NONE, keeps=Amount(0, 20), returns=1_000, shared=shared)
    found = take(quota_tables, "w3", Amount(0, 80), shared=shared)
    assert (found.has.shards, found.tokens) == (80, 20)


def test_a_heavy_task_needs_as_many_shards_as_can_owe_its_weight():
    minute = SharedLimit(rate=1_500.0, unit="tokens", most_owed=15_000)
    weights = {1: 1, 15: 1, 16: 2, 15_000: 1_000, 50_000: 1_000}
    assert {weight: minute.shards_for(weight) for weight in weights} == weights
    for without in ({"rate": None}, {"unit": None}):
        assert replace(minute, **without).shards_for(15) == 0


def test_a_quota_table_tells_of_its_limit_and_of_what_the_next_tasks_need(quota_tables, store):
    for needs, since in ((70, 5), (60, 6)):
        terms = {"needs": Amount(needs, 0), "since": since, "renew": False, "keeps": UNITS.amount}
        take(quota_tables, "w", Amount(70, 0), shared=UNITS, **terms)
        entry = read(store, units=True).entries["w"]
        assert (entry.needs.slots, entry.since) == (needs, since)
    assert read(store, units=True).limit == UNITS
    kept = store.table.get("lifoq:own:units:a")
    assert kept["ttl"] == store.now() // 10**6 + QUOTA_TABLE_KEPT


def test_a_quota_table_of_a_release_that_told_no_limit_and_no_needs_is_read(store, past):
    past.write({"taskId": quota_table_id("a"), "payload": ROW % "[1,2,3,4,5,6,7]", "claimId": "c"})
    quotas = read(store)
    entry = Entry(has=Amount(1, 2), wants=Amount(3, 4), until=5, lease=6, renewal=7)
    assert quotas == QuotaTable(tokens=1, entries={"w": entry})


# Late, lost and rival renewals


def test_who_comes_back_after_its_quota_ran_out_has_what_is_left(quota_tables, host):
    take(quota_tables, "lost", ALL)
    host.advance(QUOTA_LASTS + CLOCKS_APART + LEASE + 1)
    assert take(quota_tables, "w", Amount(3, 1)).has == Amount(3, 1)
    back = take(quota_tables, "lost", ALL, returns=2)
    assert (back.has, back.kept_shards, back.tokens) == (Amount(1, 1), 0, 0)
    take(quota_tables, "w", NONE, keeps=NONE)
    assert take(quota_tables, "lost", ALL).tokens == 0  # what it returned late was made up for


def test_a_renewal_that_is_late_changes_nothing(quota_tables, store):
    take(quota_tables, "w", ALL)
    late, latest = renewal("w", NONE, keeps=NONE), renewal("w", ALL)
    quota_tables.take("a", SHARED, latest)
    before = store.table.get(quota_table_id("a"))
    assert quota_tables.take("a", SHARED, late) is None
    assert quota_tables.take("a", SHARED, latest) is None
    assert store.table.get(quota_table_id("a")) == before


def test_a_renewal_whose_answer_was_lost_is_recognised(quota_tables, store, monkeypatch):
    update = store.table.update

    def twice(task_id: str, change: Change) -> None:
        update(task_id, change)
        update(task_id, change)

    monkeypatch.setattr(store.table, "update", twice)
    assert take(quota_tables, "w", ALL).has == ALL
    assert take(quota_tables, "w2", ALL).has == NONE


@on_dynamodb_too
def test_a_renewal_that_meets_another_is_taken_over_what_that_left(
    quota_tables, store, monkeypatch
):
    update, rivals = store.table.update, iter(["r1", "r2"])

    def overtaken(task_id: str, change: Change) -> None:
        rival = next(rivals, None)
        if rival is not None:
            take(quota_tables, rival, Amount(1, 0))
        update(task_id, change)

    monkeypatch.setattr(store.table, "update", overtaken)
    assert take(quota_tables, "w", ALL).has == Amount(2, 2)


def test_a_renewal_that_changes_nothing_writes_nothing(quota_tables, store, monkeypatch):
    idle = renewal("w", NONE, keeps=NONE, number=1)
    monkeypatch.setattr(store.table, "update", None)
    assert quota_tables.take("a", SHARED, idle) is not None


ROW = '{"counted":0,"tokens":1,"quotas":{"w":%s}}'


@pytest.mark.parametrize(
    ("payload", "claim_id"),
    [
        *((None, "x"), ({}, "x"), ("[" * 100_000, "x"), (ROW % "[]", "x")),
        *((ROW % "[1e999,1,1,1,1,1,1]", "x"), (ROW % "[1,1,1,1,1,1,1]", 7)),
    ],
)
def test_an_item_that_is_no_quota_table_is_told_with_its_remedy(
    quota_tables, past, store, payload, claim_id
):
    damaged: dict[str, Any] = {
        "taskId": quota_table_id("a"),
        "payload": payload,
        "claimId": claim_id,
    }
    past.write(damaged)
    with pytest.raises(QueueMisconfigured, match=r"is not the quota table of a limit .* delete it"):
        take(quota_tables, "w", ALL)
    assert store.table.get(quota_table_id("a")) == damaged


def test_whoever_is_always_overtaken_is_told(quota_tables, store, monkeypatch):
    monkeypatch.setattr(store.table, "update", Mock(side_effect=ConditionFailed(None)))
    with pytest.raises(StoreUnavailable, match="changed 12 times"):
        take(quota_tables, "w", ALL)
