"""The past of a queue as charts show it, from what CloudWatch keeps and what the console read."""

from typing import Any

from lifoq_console.chart import charts
from lifoq_console.traffic import PARTS, Kept, Look, Traffic

STEP = 60
NAMES = (
    *("done", "failed", "deleted", "expired", "waiting", "newest", "oldest"),
    *("begun", "waited"),
)


def kept(**series: dict[int, float]) -> Kept:
    """Values by minute; the last one, 0, has just begun."""
    starts = tuple(STEP * number for number in range(PARTS + 1))
    found = {
        name: tuple(series.get(name, {}).get(number - PARTS) for number in range(PARTS + 1))
        for name in NAMES
    }
    return Kept(step=STEP, starts=starts, series=found)


def look(**found: float) -> Look:
    """A reading in the minute that has just begun."""
    read: dict[str, Any] = dict.fromkeys(("waiting", "newest", "oldest", "expired", "shed_lately"))
    return Look(at=STEP * PARTS + 1, **{**dict.fromkeys(read, 0.0), **found})


def by_minute(traffic: Traffic, name: str) -> dict[int, float]:
    values = getattr(traffic, name)
    return {number - PARTS + 1: value for number, value in enumerate(values) if value}


def test_a_task_is_shed_at_its_deadline_and_not_once_more_when_it_is_deleted():
    gone_later = kept(
        expired={-60: 0, -20: 0, -19: 500, -18: 500, -17: 500, -16: 500, -15: 0, -14: 0},
        deleted={-16: 500},
    )
    assert by_minute(gone_later.with_looks(()), "shed") == {-19: 500}


def test_what_lies_there_since_before_is_not_shed_now():
    old = kept(expired={-60: 800, -30: 800, -20: 300}, deleted={-21: 500})
    assert by_minute(old.with_looks(()), "shed") == {}


def test_where_ttl_deletes_at_once_each_deletion_is_one_that_was_shed():
    at_once = kept(expired={-60: 0, -10: 0}, deleted={-10: 7, -9: 5})
    assert by_minute(at_once.with_looks(()), "shed") == {-10: 7, -9: 5}


def test_a_gauge_that_was_not_sent_is_0_so_that_the_first_that_come_past_their_deadline_count():
    idle = kept(expired={-10: 30, -9: 40}, deleted={-20: 5, -8: 40}, waiting={-12: 70})
    shown = idle.with_looks(())
    assert by_minute(shown, "shed") == {-20: 5, -10: 30, -9: 10}
    assert (shown.waiting[0], shown.oldest[0], shown.done[0]) == (0, 0, None)


def test_a_queue_of_which_nothing_is_known_has_no_charts_and_an_idle_one_that_was_seen_has():
    assert kept().with_looks(()).is_empty
    seen = kept().with_looks([look()])
    assert not seen.is_empty
    assert {*seen.waiting} == {0}


def test_in_a_steady_overload_each_minute_has_its_own():
    steady = kept(
        expired={-60: 0} | dict.fromkeys(range(-30, 1), 300),
        deleted=dict.fromkeys(range(-29, 0), 50),
    )
    shed = by_minute(steady.with_looks(()), "shed")
    assert shed[-30] == 300
    assert {shed[number] for number in range(-28, 0)} == {50}


def test_the_newest_minute_has_what_the_table_tells_before_any_metric():
    assert by_minute(kept().with_looks([look(shed_lately=742)]), "shed") == {0: 742}
    seen = kept(expired={-60: 0, -2: 700}).with_looks([look(expired=742, shed_lately=742)])
    assert by_minute(seen, "shed") == {-2: 700, 0: 42}


def test_what_waited_between_two_sweeps_is_shown_by_how_long_it_waited():
    burst = kept(
        waiting={-10: 0, -9: 0, -8: 9}, begun={-10: 700, -9: 3, -8: 1}, waited={-10: 21_000, -9: 6}
    )
    assert by_minute(burst.with_looks(()), "waiting") == {-10: 350, -8: 9}
    late = kept(waiting={-5: 2}, begun={-5: 4}, waited={-5: 3_600})
    assert by_minute(late.with_looks([look(waiting=5)]), "waiting") == {-5: 4, 0: 5}


def test_a_sweep_that_came_a_little_late_leaves_no_gap():
    late = kept(waiting={-9: 70, -7: 50, -4: 30}, oldest={-9: 7.0, -7: 9.0}, begun={-8: 2})
    shown = late.with_looks(())
    assert by_minute(shown, "waiting") == {-9: 70, -8: 50, -7: 50, -4: 30}
    assert by_minute(shown, "oldest") == {-9: 7, -8: 7, -7: 9}


def test_a_young_queue_is_shown_for_as_long_as_anything_is_known_of_it():
    """A queue that was two minutes old was drawn at the edge of an hour."""
    for first, parts in ((0, 10), (-9, 10), (-10, 20), (-25, 30), (-45, PARTS)):
        shown = kept(done={first: 3, 0: 1}).with_looks(()).to_show()
        assert (len(shown.starts), len(shown.waiting)) == (parts, parts), first
        assert (shown.starts[-1], sum(filter(None, shown.done))) == (
            STEP * PARTS,
            4 if first else 1,
        )
        assert len(charts(shown)[0].ticks) == 5
    assert len(kept().with_looks([look()]).to_show().starts) == PARTS
