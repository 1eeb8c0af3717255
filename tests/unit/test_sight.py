"""What a run has seen of the queue: gaps, memory, order."""

import sys

import pytest

from lifoq.basics.host import MICROSECONDS
from lifoq.tables.store import Candidate, Candidates
from lifoq.worker import rows
from lifoq.worker.sight import Sight


def row(created, task_type="a", **terms):
    return Candidate(
        task_id=f"t{created}", task_type=task_type, created=created, expires_at=10**18, **terms
    )


def page(*created, more=True, task_type="a"):
    rows = tuple(row(n, task_type) for n in created)
    last = {"taskId": rows[-1].task_id, "taskStatus": "PENDING", "taskCreated": created[-1]}
    return Candidates(rows=rows, next=last if rows and more else None)


def front(seen, *created, **terms):
    shown = page(*created, **terms)
    seen.front(shown, shown.rows)


def behind(seen, *created, **terms):
    shown = page(*created, **terms)
    seen.behind(seen.cursor, shown, shown.rows)


def order(seen, may_start=lambda _lane: True):
    """The rows in the order in which they would be started; they are gone then."""
    found = []
    while (following := seen.next(may_start)) is not None:
        seen.drop(following)
        found.append(following.created)
    return found


@pytest.fixture
def seen():
    return Sight(newest_first=True, now=0)


def test_rows_come_in_the_order_of_the_queue_whatever_their_type(seen):
    front(seen, 9, 7, 5)
    other = page(6, 4, task_type="b", more=False)
    seen.behind(seen.cursor, other, other.rows)
    assert order(seen) == [9, 7, 6, 5, 4]
    assert seen.empty()


def test_suspects_are_a_lane_of_their_own(seen):
    shown = Candidates(rows=(row(9, suspect=True), row(8)), next=None)
    seen.front(shown, shown.rows)
    assert order(seen, lambda cohort: not cohort[1]) == [8]
    assert order(seen) == [9]


def test_what_was_not_read_yet_comes_before_what_lies_behind_it(seen):
    front(seen, 9, 8)
    behind(seen, 7, 6)
    seen.came_back(row(2))
    assert order(seen) == [9, 8, 7, 6]  # between 6 and 2 there may be others
    behind(seen, 4, more=False)
    assert order(seen) == [4, 2]


def test_a_first_page_that_meets_what_is_known_leaves_nothing_to_read(seen):
    front(seen, 9, 8)
    behind(seen, 7, 6, more=False)
    front(seen, 11, 10, 9)
    assert seen.cursor is None
    assert order(seen) == [11, 10, 9, 8, 7, 6]


def test_between_a_first_page_and_what_is_known_there_is_a_gap_to_be_read_first(seen):
    front(seen, 9, 8)
    behind(seen, 7, more=False)
    front(seen, 20, 19)
    assert seen.cursor["taskCreated"] == 19
    assert order(seen) == [20, 19]
    behind(seen, 15, 12)
    assert order(seen) == [15, 12]
    behind(seen, 10, 9)
    assert seen.cursor is None
    assert order(seen) == [10, 9, 8, 7]


def test_it_is_relied_on_for_two_seconds_or_for_as_long_as_reading_it_again_may_take(seen):
    front(seen, *range(10_000, 9_990, -1))
    assert not seen.outdated(2 * MICROSECONDS - 1)
    assert seen.outdated(2 * MICROSECONDS)
    behind(seen, *range(9_990, 9_490, -1), more=False)
    assert not seen.outdated(5 * MICROSECONDS - 1)
    assert seen.outdated(5 * MICROSECONDS)


def test_of_many_rows_of_a_type_the_first_are_remembered_and_the_others_read_again(
    seen, monkeypatch
):
    monkeypatch.setattr(rows, "MOST_REMEMBERED", 3)
    front(seen, 9, 8)
    behind(seen, 7, 6, 5, more=False)
    assert not seen.outdated(0)
    assert order(seen) == [9, 8, 7]
    assert seen.outdated(0)


def test_from_the_oldest_on_they_come_the_other_way_round():
    seen = Sight(newest_first=False, now=0)
    front(seen, 1, 2)
    behind(seen, 3, 5, more=False)
    assert order(seen) == [1, 2, 3, 5]


def test_a_type_that_must_not_start_is_left_where_it_is(seen):
    front(seen, 9, 8, more=False)
    seen.came_back(row(5, "b"))
    assert order(seen, lambda cohort: cohort[0] == "b") == [5]
    assert order(seen) == [9, 8]


def test_what_a_first_page_does_not_show_any_more_is_forgotten(seen):
    front(seen, 9, 8, 7)
    front(seen, 9, 7, 6)
    assert order(seen) == [9, 7, 6]


def test_gaps_that_were_not_read_become_one(seen):
    front(seen, 9, 8, more=False)
    front(seen, 20, 19)
    front(seen, 30, 29)
    behind(seen, 25, 20)
    assert seen.cursor["taskCreated"] == 20
    behind(seen, 19, 9)
    assert seen.cursor is None
    assert order(seen) == [30, 29, 25, 20, 19, 9, 8]


def test_a_page_that_was_asked_for_before_a_gap_opened_is_of_no_use(seen):
    front(seen, 9, 8)
    asked = seen.cursor
    front(seen, 20, 19)
    late = page(7, 6, more=False)
    seen.behind(asked, late, late.rows)
    assert seen.cursor["taskCreated"] == 19


def test_before_a_key_with_too_much_is_taken_the_queue_is_read_on():
    seen = Sight(newest_first=True, now=0, key_of=lambda row: row.key)
    flood = (row(9, key="flood"), row(8, key="flood"))
    seen.front(Candidates(rows=flood, next=page(8).next), flood)
    assert seen.next(lambda _: True, settle=False).created == 9
    excess = {"flood": 1.0}
    assert seen.next(lambda _: True, excess=excess, settle=False) is None
    assert seen.next(lambda _: True, excess=excess, settle=True).created == 9
    behind = (row(7, key="flood"), row(6, key="quiet"), row(5, key="quiet"))
    seen.behind(seen.cursor, Candidates(rows=behind, next=page(5).next), behind)
    assert seen.next(lambda _: True, excess=excess, settle=True).created == 6  # newest of its key


def steps(action):
    """Python's own steps, which no machine's speed changes."""
    count = 0

    def trace(frame, event, _argument):
        nonlocal count
        count += event == "opcode"
        frame.f_trace_opcodes = True
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("newest_first", [True, False])
def test_however_many_keys_wait_to_choose_the_next_takes_no_longer(newest_first):
    def takes(keys):
        seen = Sight(newest_first=newest_first, now=0, key_of=lambda row: row.key)
        place = range(keys, 0, -1) if newest_first else range(1, keys + 1)
        waiting = [row(n, key=f"k{n}") for n in place]
        first = Candidates(rows=(waiting[0],), next=page(waiting[0].created).next)
        seen.front(first, first.rows)
        seen.behind(seen.cursor, Candidates(rows=(), next=None), waiting)

        def choose():
            chosen = seen.next(lambda _lane: True, full=lambda _type, key: key == waiting[0].key)
            assert chosen is waiting[1]
            seen.drop(chosen)
            seen.front(first, first.rows)
            assert not seen.empty()
            assert not seen.outdated(0)

        return steps(choose)

    assert takes(20_000) < 3 * takes(200)
