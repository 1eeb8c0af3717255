"""The backlog view: gaps, memory, order."""

import itertools
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifoq.basics.host import MICROSECONDS
from lifoq.store.candidate import Candidate, Candidates
from lifoq.worker.backlog import view_index as rows
from lifoq.worker.backlog.view import BacklogView


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


def every(_row):
    return True


def order(seen, is_open=every):
    """The rows in the order in which they would be started; they are gone then."""
    found = []
    while (following := seen.next(is_open)) is not None:
        seen.drop(following)
        found.append(following.created)
    return found


@pytest.fixture
def seen():
    return BacklogView(newest_first=True, now=0)


MOMENTS = st.tuples(*(st.integers(0, most) for most in (6, 2, 3, 4, 1)))


@given(st.lists(MOMENTS, max_size=12), st.booleans())
@settings(deadline=None)
def test_whatever_comes_and_goes_rows_come_in_the_order_of_the_queue(moments, newest_first):
    """Only what lies behind rows that were not read yet has to wait for them."""
    seen, waiting = BacklogView(newest_first=newest_first, now=0), []
    numbers, sign = itertools.count(1), 1 if newest_first else -1

    def page(rows):
        shown = Candidates(rows=tuple(rows[:3]), next=None)
        if len(rows) > len(shown.rows):
            last = shown.rows[-1]
            shown = replace(shown, next={"taskId": last.task_id, "taskCreated": last.created})
        return shown, shown.rows

    def start():
        """One more, unless others are to be read before."""
        started = seen.next(lambda _scheduling_class: True)
        if started is None:
            assert seen.cursor or not waiting
        else:
            assert started == waiting.pop(0)
            seen.drop(started)
        return started

    for come, gone, reads, starts, back in [*moments, (0, 0, 99, 99, 0)]:
        for _ in range(come):
            number = next(numbers)
            waiting.insert(0, row(sign * number, "ab"[number % 2]))
        waiting[:gone] = []
        known = [*waiting]
        seen.front(*page(known))
        assert len(known) > 3 or seen.cursor is None
        while seen.cursor and (reads := reads - 1) > 0:
            read = sign * seen.cursor["taskCreated"]
            seen.behind(seen.cursor, *page([one for one in known if sign * one.created < read]))
        started = [start() for _ in range(starts)]
        if back and started and started[-1]:
            waiting[:0] = started[-1:]
            seen.put_back(started[-1])
    assert waiting == []
    assert seen.nothing_waits()


def test_suspected_poison_is_a_scheduling_class_of_its_own(seen):
    shown = Candidates(rows=(row(9, suspected_poison=True), row(8)), next=None)
    seen.front(shown, shown.rows)
    assert order(seen, lambda row: not row.suspected_poison) == [8]
    assert order(seen) == [9]


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


def test_a_type_that_must_not_start_is_left_where_it_is(seen):
    front(seen, 9, 8, more=False)
    seen.put_back(row(5, "b"))
    assert order(seen, lambda row: row.task_type == "b") == [5]
    assert order(seen) == [9, 8]


def test_a_page_that_was_asked_for_before_a_gap_opened_is_of_no_use(seen):
    front(seen, 9, 8)
    asked = seen.cursor
    front(seen, 20, 19)
    late = page(7, 6, more=False)
    seen.behind(asked, late, late.rows)
    assert seen.cursor["taskCreated"] == 19


def test_before_a_key_with_too_much_is_taken_the_queue_is_read_on():
    seen = BacklogView(newest_first=True, now=0, key_of=lambda row: row.key)
    flood = (row(9, key="flood"), row(8, key="flood"))
    seen.front(Candidates(rows=flood, next=page(8).next), flood)
    assert seen.next(every).created == 9
    excess = {"flood": 1.0}
    assert seen.next(every, lambda row: row.key not in excess, excess=excess) is None
    assert seen.next(every, excess=excess).created == 9
    behind = (row(7, key="flood"), row(6, key="quiet"), row(5, key="quiet"))
    seen.behind(seen.cursor, Candidates(rows=behind, next=page(5).next), behind)
    newest_of_quiet = seen.next(every, excess=excess)
    assert newest_of_quiet.created == 6


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
        seen = BacklogView(newest_first=newest_first, now=0, key_of=lambda row: row.key)
        place = range(keys, 0, -1) if newest_first else range(1, keys + 1)
        waiting = [row(n, key=f"k{n}") for n in place]
        first = Candidates(rows=(waiting[0],), next=page(waiting[0].created).next)
        seen.front(first, first.rows)
        seen.behind(seen.cursor, Candidates(rows=(), next=None), waiting)

        def choose():
            chosen = seen.next(every, lambda row: row.key != waiting[0].key)
            assert chosen is waiting[1]
            seen.drop(chosen)
            seen.front(first, first.rows)
            assert not seen.nothing_waits()
            assert not seen.outdated(0)

        return steps(choose)

    assert takes(20_000) < 3 * takes(200)
