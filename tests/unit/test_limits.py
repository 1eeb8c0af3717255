"""Rate limits and caps, and a worker's share of those that hold over all workers, on a clock that
the test moves."""

from itertools import takewhile

import pytest

from lifoq.items.change import Change
from lifoq.items.quota_table import QUOTA_LASTS
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq.worker.handlers.registry import TaskType
from lifoq.worker.limits.concurrency_limit import (
    PROBE_AFTER,
    ConcurrencyLimit,
    RefusalLimit,
    TokenBucket,
)
from lifoq.worker.limits.limits import Limits
from lifoq.worker.limits.quota import RENEW_EVERY, RENEWAL_PATIENCE, Quotas


def test_a_bucket_lets_a_seconds_worth_through_at_once_and_then_its_rate():
    host = ManualHost()
    bucket = TokenBucket(5, host)
    assert sum(bucket.take() for _ in range(100)) == 5
    assert bucket.wait() == pytest.approx(0.2)
    host.advance(0.19)
    assert not bucket.take()
    host.advance(0.02)
    assert bucket.take()
    assert not bucket.take()


def test_a_token_given_back_can_be_taken_again_and_late_lets_no_two_begin_together():
    host = ManualHost()
    bucket = TokenBucket(0.5, host)
    assert bucket.take()
    bucket.refund(after=0)
    assert bucket.take()  # a claim that is answered late
    assert not bucket.take()
    host.advance(2.1)
    assert bucket.take()
    bucket.refund(after=2.1)  # it was refused
    assert not bucket.take()


def test_a_concurrency_limit_that_is_full_takes_no_token():
    bucket = TokenBucket(2, ManualHost())
    limit = ConcurrencyLimit(in_flight=1, bucket=bucket)
    assert limit.enter()
    assert not limit.enter()
    limit.leave()
    assert limit.enter()


def crowd(limit, number):
    return sum(limit.enter() for _ in range(number))


def test_it_lets_in_as_many_as_stayed_when_others_were_refused_and_later_tries_one_more():
    limit = ConcurrencyLimit(in_flight=10, bucket=None, refusals=RefusalLimit(ManualHost()))
    assert crowd(limit, 20) == 10
    for _ in range(8):
        limit.leave(refused=True)
    assert crowd(limit, 20) == 0
    for _ in range(PROBE_AFTER):
        assert limit.inside == 2
        limit.leave()
        assert crowd(limit, 1) == 1
    assert crowd(limit, 20) == 1


def test_a_downstream_that_takes_nothing_is_tried_once_a_second():
    host = ManualHost()
    limit = ConcurrencyLimit(in_flight=10, bucket=None, refusals=RefusalLimit(host))
    crowd(limit, 10)
    for _ in range(10):
        limit.leave(refused=True)
    tried = 0
    for _ in range(100):
        if limit.wait() == 0 and limit.enter():
            tried += 1
            limit.leave(refused=True)
        host.advance(0.1)
    assert tried == 9


# A share of a limit that holds over all workers

LEASE = 30.0


def worker(
    store: Store,
    host: ManualHost,
    *,
    in_flight: int | None = None,
    rate: float | None = None,
    total: int | None = None,
) -> Limits:
    """The limits of one of the workers that share a limit on tasks of type a, or on all."""
    shares = Quotas(store, worker=host.new_id(), lease=LEASE, host=host)
    kind = TaskType(
        name="a", handler=lambda _payload, _context: None, in_flight=in_flight, rate_limit=rate
    )
    return Limits(
        [kind], in_flight=10, rate_limit=None, host=host, total_in_flight=total, quotas=shares
    )


def ask(limits: Limits) -> None:
    """A task waits, and is the next."""
    if limits.wait("a") > 0:
        assert not limits.enter("a")


def take_renewals(limits: Limits, host: ManualHost) -> list[bool]:
    """Make the renewals that are due while a task waits; whether more may start since."""
    ask(limits)
    told = []
    while renewals := limits.renewals(host.monotonic()):
        told += [limits.take_answer(renewal()) for renewal in renewals]
    return told


def starts(limits: Limits) -> int:
    """Start as many tasks as the limits let through, and return their number."""
    return len(list(takewhile(bool, (limits.enter("a") for _ in range(100)))))


@pytest.mark.parametrize("limit", [{"in_flight": 2}, {"total": 2}], ids=["a type's", "the total"])
def test_nothing_begins_on_a_quota_that_ran_out_and_no_lease_reaches_beyond_it(store, host, limit):
    limits = worker(store, host, in_flight=limit.get("in_flight"), total=limit.get("total"))
    assert not limits.enter("a")
    assert take_renewals(limits, host) == [True]
    assert limits.enter("a")
    host.advance(QUOTA_LASTS - 1)
    assert limits.usable("a")
    assert limits.lease("a", LEASE) == LEASE
    host.advance(1)
    assert not limits.usable("a")
    assert not limits.enter("a")
    host.advance(20)
    assert limits.lease("a", LEASE) == pytest.approx(10)
    host.advance(20)
    assert limits.lease("a", LEASE) == 0


def test_a_quota_lasts_from_when_it_was_asked_for_however_late_the_answer(store, host, monkeypatch):
    limits, update = worker(store, host, in_flight=2), store.table.update

    def slow(task_id: str, change: Change) -> None:
        update(task_id, change)
        host.advance(2)

    monkeypatch.setattr(store.table, "update", slow)
    take_renewals(limits, host)
    assert limits.usable("a")
    host.advance(QUOTA_LASTS - 2)
    assert not limits.usable("a")


@pytest.mark.parametrize(("in_flight", "stuck"), [(1, ["a"]), (2, [])])
def test_handlers_that_hang_take_all_of_a_limit_only_where_no_more_of_it_may_be_had(
    store, host, in_flight, stuck
):
    limits = worker(store, host, in_flight=in_flight)
    take_renewals(limits, host)
    assert limits.enter("a")
    for _ in range(4):  # no other task waits: what is not used goes back
        host.advance(RENEW_EVERY)
        for renewal in limits.renewals(host.monotonic()):
            limits.take_answer(renewal())
    limits.hangs("a")
    assert limits.hung_types == stuck


def test_of_a_rate_that_is_divided_nothing_is_used_twice_while_an_answer_is_on_its_way(store, host):
    first, second = (worker(store, host, rate=4) for _ in range(2))
    for _ in range(2):  # at its second renewal the second worker insists
        take_renewals(first, host)
        take_renewals(second, host)
        assert starts(first) > 0
        host.advance(RENEW_EVERY)
    (renewal,) = first.renewals(host.monotonic())
    first.take_answer(renewal())  # it hears what is fair
    assert first.enter("a")  # one token is left
    (renewal,) = first.renewals(host.monotonic())
    renewal()
    take_renewals(second, host)
    assert starts(second) == 0
    host.advance(1)
    assert (starts(first), starts(second)) == (2, 2)


def test_an_answer_that_a_later_renewal_has_overtaken_is_not_used(store, host):
    first, second = (worker(store, host, in_flight=4) for _ in range(2))
    ask(first)
    (renewal,) = first.renewals(host.monotonic())
    answer = renewal()
    take_renewals(second, host)
    host.advance(RENEW_EVERY)
    take_renewals(second, host)
    host.advance(RENEWAL_PATIENCE - RENEW_EVERY)
    take_renewals(first, host)
    first.take_answer(answer)
    take_renewals(second, host)
    assert (starts(first), starts(second)) == (2, 2)
