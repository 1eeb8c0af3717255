"""Fair shares: whose turn it is among keys."""

from lifoq.basics.host import MICROSECONDS
from lifoq.worker.fair_shares import MEMORY, FairShares


def seconds(number):
    return round(number * MICROSECONDS)


def use(shares, key, *, since, until):
    shares.begins(key, seconds(since))
    shares.ends(key, seconds(until), seconds=until - since)


def test_who_has_had_more_than_its_share_comes_after_those_who_have_not():
    shares = FairShares()
    use(shares, "flood", since=0, until=9)
    use(shares, "quiet", since=0, until=1)
    assert shares.excess({"flood", "quiet", "new"}, seconds(9)).keys() == {"flood"}


def test_among_those_beyond_their_share_the_one_with_least_comes_first():
    shares = FairShares()
    for key, until in (("a", 9), ("b", 8), ("c", 1)):
        use(shares, key, since=0, until=until)
    excess = shares.excess({"a", "b"}, seconds(9))
    assert excess["a"] > excess["b"] > 0


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


def test_a_claim_that_gave_nothing_uses_nothing_and_a_new_run_holds_nothing():
    shares = FairShares()
    shares.begins("a", 0)
    shares.ends("a", 0, seconds=None)
    shares.begins("b", 0)
    shares.begin_run(0)
    assert not shares.excess({"a", "b", "c"}, 0)
