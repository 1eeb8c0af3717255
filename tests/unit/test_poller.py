"""The poller: the pages that it asks for, and the task that is next by those it was shown. Whole
runs are in ``tests/faults/test_run.py``."""

import pytest

from lifoq.items.schema import Preview
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.table_protocol import LARGEST_PAGE
from lifoq.worker.backlog.background_calls import Shown, ShownBehind
from lifoq.worker.backlog.newest_or_oldest_first import NewestOrOldestFirst
from lifoq.worker.backlog.poller import Poller
from lifoq.worker.backlog.tasks_of_this_run import CLAIM_REFUSED_FOR, TasksOfThisRun
from lifoq.worker.backlog.when_to_poll_or_end import POLL_PATIENCE, Found
from lifoq.worker.gates.gate import HowItLeft
from tests.unit.test_gates import World, row


class Polling:
    """A poller, whose background calls are noted and answered by the test."""

    def __init__(self, *, threshold: float | None = None, **terms) -> None:
        self.claimed = TasksOfThisRun()
        self.world = World(claimed=self.claimed, **terms)
        self.polls, self.behind = [], []
        self.poller = Poller(
            self,
            clock=self.world.host.now,
            first_page=2,
            order=NewestOrOldestFirst(threshold, self.world.host),
            claimed=self.claimed,
            woken_at=lambda: 0,
            now=self.now,
        )
        self.poller.gates = self.world.run

    @property
    def now(self) -> int:
        return self.world.host.monotonic()

    def task(self, number: int, **terms) -> Candidate:
        """A waiting task; the larger its number, the newer."""
        created = self.world.host.now() - 1_000 + number
        return row(task_id=f"t{number}", created=created, **terms)

    def poll(self, poll, *, limit: int) -> None:
        self.polls.append(poll)

    def poll_behind(self, _cursor, *, newest_first: bool, limit: int) -> None:
        self.behind.append(limit)

    def shows(self, *rows: Candidate, more: bool = False) -> bool:
        """Poll, and show these rows; whether that changes anything."""
        self.poller.poll(self.now)
        return self.poller.shown(Shown(poll=self.polls[-1], page=page(rows, more=more)), self.now)

    def next_one(self) -> Candidate | None:
        return self.poller.choose_next(self.now, shut=lambda _row: False)

    def next_ones(self) -> list[str]:
        """The tasks in the order in which they would be started."""
        found = []
        while following := self.next_one():
            self.poller.take_out(following)
            found.append(following.task_id)
        return found


def page(rows: tuple[Candidate, ...], *, more: bool) -> Candidates:
    last = {"taskId": rows[-1].task_id, "taskCreated": rows[-1].created} if more else None
    return Candidates(rows=rows, next=last)


def test_a_refused_task_is_next_again_when_that_is_over_though_no_page_shows_it():
    polling = Polling()
    ten, nine, eight, seven = (polling.task(n) for n in (10, 9, 8, 7))
    polling.claimed.refused("t8", polling.now)
    polling.shows(nine, more=True)
    shown = ShownBehind(cursor=page((nine,), more=True).next, page=page((eight, seven), more=False))
    polling.poller.shown_behind(shown, polling.now)
    polling.world.host.advance(CLAIM_REFUSED_FOR)
    polling.shows(ten, nine, more=True)
    assert polling.next_ones() == ["t10", "t9", "t8", "t7"]


def test_pages_behind_the_first_grow_and_one_is_asked_for_at_a_time_until_it_fails_or_is_late():
    polling = Polling()
    polling.shows(polling.task(9), more=True)
    for _ in range(2):
        polling.poller.poll_behind(polling.now)
    assert polling.behind == [20]
    polling.poller.failed(page((polling.task(9),), more=True).next, polling.now)
    for _ in range(2):
        polling.poller.poll_behind(polling.now)
    assert polling.behind == [20, 200]
    polling.world.host.advance(POLL_PATIENCE)
    polling.poller.poll_behind(polling.now)
    assert polling.behind == [20, 200, LARGEST_PAGE]


def test_a_page_from_the_wrong_end_is_only_asked_how_old_the_oldest_is():
    polling = Polling(threshold=20)
    nine, eight = polling.task(9), polling.task(8)
    assert polling.shows(eight, nine)
    assert polling.next_ones() == ["t8", "t9"]
    polling.world.host.advance(21)
    assert not polling.shows(eight, nine)
    assert polling.poller.facts.poll_at_once
    assert polling.next_ones() == []
    assert polling.shows(nine, eight)
    assert [poll.newest_first for poll in polling.polls] == [False, False, True]
    assert polling.next_ones() == ["t9", "t8"]


@pytest.mark.parametrize("refused", [False, True])
def test_a_heavy_task_that_is_waited_for_is_next_before_newer_ones_unless_it_cannot_start(refused):
    polling = Polling(weight="tokens", units_in_flight=10)
    heavy = polling.task(8, preview={Preview.WEIGHT: 8})
    inside = polling.world.run.enter(row(weight=4), polling.now)
    assert polling.world.run.enter(heavy, polling.now) is None
    polling.shows(polling.task(9), heavy)
    inside.leave(HowItLeft())
    if refused:
        polling.claimed.refused("t8", polling.now)
    assert polling.next_one().task_id == ("t9" if refused else "t8")
    assert polling.world.run.awaited("a") == (None if refused else heavy)


def test_the_first_moment_at_which_one_of_the_waiting_tasks_may_start_is_told():
    polling = Polling(cooldown=5)
    polling.world.run.enter(row(), polling.now).leave(HowItLeft(failed=True))
    polling.shows(polling.task(9))
    nothing = page((), more=False)
    polling.poller.judge(polling.now, page=nothing, started=False, promoting=False)
    assert (polling.poller.facts.found, polling.poller.facts.opens_in) == (Found.BLOCKED, 5)


def test_more_is_read_where_slots_stay_free_after_a_page_without_work_or_after_two_pages():
    polling = Polling()
    for started, free, more in (
        (True, True, False),
        (True, True, True),
        (False, True, True),
        (False, False, False),
        (True, True, False),
    ):
        assert polling.poller.wants_more(started=started, free=free) is more


def test_a_returned_task_is_next_at_once_and_no_page_of_before_hides_it_or_what_is_newer():
    polling = Polling()
    nine, eight = polling.task(9), polling.task(8, expires_at=polling.world.host.now() + 10**6)
    polling.poller.poll(polling.now)
    polling.poller.task_returned(nine, polling.now)
    assert polling.next_one() == nine
    old_news = Shown(poll=polling.polls[0], page=page((), more=False))
    assert polling.poller.shown(old_news, polling.now)
    assert polling.next_one() == nine
    assert polling.shows(nine, eight)
    assert polling.poller.shown(old_news, polling.now) is False
    polling.world.host.advance(1)
    assert polling.next_ones() == ["t9"]  # the other one is shed by now
