"""Fair shares: whose turn it is among keys."""

import math
from dataclasses import replace

import pytest

from lifoq.basics.host import MICROSECONDS
from lifoq.store.candidate import Candidate
from lifoq.testing.hosts import ManualHost
from lifoq.worker.gates.fair_share import MEMORY, FairShare, FairShares
from lifoq.worker.gates.gate import HowItLeft


def seconds(number):
    return round(number * MICROSECONDS)


def use(shares, key, *, since, until):
    shares.begins(key, seconds(since))
    shares.ends(key, seconds(until), seconds=until - since)


def test_who_has_had_more_than_its_share_comes_after_the_others_and_last_who_has_had_most():
    shares = FairShares()
    for key, until in (("flood", 9), ("many", 8), ("quiet", 1)):
        use(shares, key, since=0, until=until)
    excess = shares.excess({"flood", "many", "quiet", "new"}, seconds(9))
    assert excess.keys() == {"flood", "many"}
    assert excess["flood"] > excess["many"] > 0


def test_who_is_alone_has_never_too_much():
    shares = FairShares()
    use(shares, "flood", since=0, until=60)
    assert not shares.excess({"flood"}, seconds(60))
    assert shares.excess({"flood"}, seconds(60), unread=True)["flood"] > 0


def test_what_holds_a_slot_counts_at_once_and_as_long_as_it_does():
    shares = FairShares()
    shares.begins("flood", 0)
    assert shares.excess({"flood", "new"}, 0).keys() == {"flood"}
    shares.begins("new", 0)
    assert not shares.excess({"flood", "new"}, 0)
    shares.ends("new", seconds(1), seconds=1)
    assert shares.excess({"flood", "new"}, seconds(5)).keys() == {"flood"}


def test_what_was_used_long_ago_is_forgotten():
    shares = FairShares()
    use(shares, "flood", since=0, until=10)
    assert shares.excess({"flood", "new"}, seconds(10))["flood"] > 1
    assert not shares.excess({"flood", "new"}, seconds(10 + 20 * MEMORY))


def test_a_claim_of_the_run_that_gave_nothing_is_not_held_against_its_key():
    host = ManualHost()
    gate = FairShare(FairShares(), host)
    row = Candidate(task_id="t", task_type="a", created=1, expires_at=10**18, key="k")
    token = gate.enter(row, host.monotonic())
    host.advance(1)
    gate.look({"k", "other"}, host.monotonic(), unread=False, has_read_behind=False)
    assert gate.excess.keys() == {"k"}
    gate.undo(token, after=1.0)
    gate.look(
        {"k", "other"}, host.monotonic() + seconds(1_000), unread=False, has_read_behind=False
    )
    assert gate.excess == {}


def test_a_key_beyond_its_share_waits_only_while_others_may_be_overlooked():
    host = ManualHost()
    gate = FairShare(FairShares(), host)
    row = Candidate(task_id="t", task_type="a", created=1, expires_at=10**18, key="flood")
    gate.enter(row, host.monotonic())
    host.advance(1)
    for unread, has_read_behind, opens in (
        (True, False, False),
        (True, True, True),
        (False, False, True),
    ):
        gate.look({"flood", "k"}, host.monotonic(), unread=unread, has_read_behind=has_read_behind)
        assert (gate.wait(row, host.monotonic()) == 0) is opens
        other = replace(row, key="k")
        assert gate.wait(other, host.monotonic()) == 0
    gate.look({"flood"}, host.monotonic(), unread=True, has_read_behind=False)
    assert gate.wait(row, host.monotonic()) == math.inf  # another key may wait, not read yet
    says = "its key flood has had more than its fair share of the slots, and the worker first reads"
    assert gate.why(row, host.monotonic()) == f"{says} on for other keys"


def test_a_task_that_ended_counts_with_its_own_time_and_the_next_ones_with_what_is_usual():
    host, shares = ManualHost(), FairShares()
    gate = FairShare(shares, host)
    row = Candidate(task_id="t", task_type="a", created=1, expires_at=10**18, key="k")
    token = gate.enter(row, host.monotonic())
    host.advance(11)
    gate.leave(token, HowItLeft(seconds=11))
    used = MEMORY * (1 - math.exp(-11 / MEMORY))
    assert shares.excess({"k", "other"}, host.monotonic()) == {"k": pytest.approx(used / 2)}
    host.advance(20 * MEMORY)
    gate.enter(row, host.monotonic())  # one of a second was guessed, one took ten more
    assert shares.excess({"k", "other"}, host.monotonic()) == {"k": pytest.approx(2 / 2)}


def test_a_claim_that_gave_nothing_uses_nothing_and_a_new_run_holds_nothing():
    shares = FairShares()
    shares.begins("a", 0)
    shares.ends("a", 0, seconds=None)
    shares.begins("b", 0)
    shares.begin_run(0)
    assert not shares.excess({"a", "b", "c"}, 0)
