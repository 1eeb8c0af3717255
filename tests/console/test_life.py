"""A task's life, as its page draws it."""

import pytest

from lifoq import Queue, TaskError
from lifoq.basics.host import MICROSECONDS
from lifoq.testing.hosts import ManualHost
from lifoq_console.life import WIDTH, life

ERROR = TaskError(type="TimeoutError", message="no answer")


class Story:
    """A task to which things happen, one after the other."""

    def __init__(self) -> None:
        self.host = ManualHost()
        self.queue = Queue.in_memory(host=self.host)
        self.store = self.queue.store

    def put(self, **terms) -> None:
        self.queue.put("a", task_id="t", **terms)

    def attempt(self, *, after: float, lasts: float):
        """The task as it is once it has been at work for so many seconds."""
        self.host.advance(after)
        self.store.promote("t")
        task = self.store.claim("t", claim_id=self.host.new_id(), lease=30)
        self.host.advance(lasts)
        return task

    def told(self, task_id: str = "t") -> list[tuple[str, float, str]]:
        """Each stretch: its title, its seconds, how it ended."""
        drawn = life(self.queue.get(task_id), now=self.store.now())
        return [(one.title, one.seconds, one.outcome) for one in drawn.stretches]


@pytest.fixture
def story() -> Story:
    return Story()


def test_waits_attempts_and_backoffs_follow_each_other_up_to_the_end(story):
    story.put()
    story.store.retry(story.attempt(after=3, lasts=1), ERROR, delay=10)
    story.store.succeed(story.attempt(after=12, lasts=2), "null")
    assert story.told() == [
        ("waits", 3, ""),
        ("attempt 1", 1, "failed, to be tried again"),
        ("backs off, and waits", 12, ""),
        ("attempt 2", 2, "succeeded"),
    ]


def test_a_retry_that_waits_again_tells_its_backoff_and_its_wait_apart(story):
    story.put()
    story.store.retry(story.attempt(after=3, lasts=1), ERROR, delay=10)
    assert story.told()[2:] == [("backs off", 10, "until it is due")]
    story.host.advance(10)
    story.store.promote("t")
    story.host.advance(5)
    assert story.told()[2:] == [("backs off", 10, ""), ("waits", 5, "")]


def test_a_redriven_failure_was_in_failure_until_then(story):
    story.put()
    story.store.fail(story.attempt(after=3, lasts=1), ERROR)
    story.host.advance(60)
    story.queue.redrive("t")
    story.attempt(after=4, lasts=6)
    assert story.told() == [
        ("waits", 3, ""),
        ("attempt 1", 1, "failed for good"),
        ("in FAILURE", 60, ""),
        ("waits", 4, ""),
        ("attempt 1", 6, "at work"),
    ]


def test_a_task_that_nobody_began_waits_until_it_ended(story):
    story.put(deadline=30)
    story.host.advance(5)
    assert story.told() == [("waits", 5, "")]
    story.host.advance(40)
    assert story.told() == [("waits", 30, "shed at its deadline")]
    story.queue.put("a", task_id="u")
    story.host.advance(7)
    story.queue.cancel("u")
    assert story.told("u") == [("waits", 7, "ended as CANCELLED")]


def test_a_delayed_put_is_drawn_until_it_is_due(story):
    story.put(delay=100)
    story.host.advance(30)
    assert story.told() == [("is delayed", 100, "until it is due")]


def test_of_more_attempts_than_the_item_keeps_the_first_are_one_stretch(story):
    story.put(max_attempts=20)
    for _ in range(12):
        story.store.retry(story.attempt(after=10, lasts=1), ERROR, delay=9)
    titles = [title for title, _, _ in story.told()]
    assert titles[:2] == ["waits, and attempts that are no longer kept", "attempt 3"]
    assert len(titles) == 1 + 10 + 9 + 1


def test_bars_stay_within_the_drawing_and_none_is_too_narrow_to_be_seen(story):
    story.put()
    story.store.retry(story.attempt(after=0.001, lasts=0.001), ERROR, delay=3_000)
    story.store.succeed(story.attempt(after=3_500, lasts=0.001), "null")
    drawn = life(story.queue.get("t"), now=story.store.now())
    bars = [drawn.bar(one) for one in drawn.stretches]
    assert all(width > 1 and 0 <= x <= WIDTH - width for x, width in bars)
    assert 3_500 * MICROSECONDS < drawn.end - drawn.start < 3_501 * MICROSECONDS
