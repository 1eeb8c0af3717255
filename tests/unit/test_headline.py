"""The headline of a queue: a matrix of situations, and the order of the sentences."""

from collections.abc import Callable
from typing import Any

import pytest

from lifoq import Count, NewTask, Queue, QueueStats, TaskError
from lifoq.health import sweep_note as notes
from lifoq.health.headline import (
    MOST_NAMED,
    RULES,
    Facts,
    Headline,
    State,
    headline,
    without_worker,
)
from lifoq.items.lifetimes import Lifetimes
from lifoq.testing.hosts import ManualHost

DEADLINE = 600
CAP = 1_000
"""Rows that are counted at the most."""


class Situation:
    """A queue, and what became of its tasks."""

    def __init__(self) -> None:
        self.host = ManualHost()
        self.queue = Queue.in_memory(lifetimes=Lifetimes(deadline=DEADLINE), host=self.host)

    def wait(self, number: int = 1, *, seconds: float = 0.0, **terms: float) -> list[str]:
        tasks = [NewTask(task_type="a", **terms) for _ in range(number)]
        outcomes = self.queue.put_many(tasks)
        self.host.advance(seconds)
        return [outcome.task.task_id for outcome in outcomes if outcome.task]

    def run(self, number: int) -> None:
        for task_id in self.wait(number):
            self.queue.store.claim(task_id, claim_id=task_id, lease=3_600)

    def fail(self, number: int) -> None:
        for task_id in self.wait(number):
            task = self.queue.store.claim(task_id, claim_id=task_id, lease=30)
            self.queue.store.fail(task, TaskError(type="ValueError", message="no"))

    def swept(self, **found: Any) -> None:
        notes.write(self.queue.store, notes.Note(**found))


def overload(queue: Situation) -> None:
    queue.wait(170, deadline=10, seconds=10.5)
    queue.wait(30)
    queue.run(10)
    queue.host.advance(0.085)


def overload_that_is_over(queue: Situation) -> None:
    overload(queue)
    queue.host.advance(DEADLINE)
    for task in queue.queue.peek(100, status="TAKEN"):
        queue.queue.store.succeed(task, "1")
    queue.host.advance(200)


def step(name: str) -> Callable[..., Callable[[Situation], object]]:
    return lambda *terms, **named: lambda queue: getattr(queue, name)(*terms, **named)


wait, run, fail, swept = map(step, ("wait", "run", "fail", "swept"))


def later(seconds: float) -> Callable[[Situation], object]:
    return lambda queue: queue.host.advance(seconds)


MOUNTAIN = CAP + 100
UNKNOWN = swept(unknown_types=("a",))
SITUATIONS: dict[str, tuple[list[Callable[[Situation], object]], State, str]] = {
    "idle": ([], State.IDLE, ""),
    "in work": ([run(2)], State.KEEPING_UP, ""),
    "keeping up": ([wait(seconds=1.5), wait(deadline=9)], State.KEEPING_UP, ""),
    "falling behind": ([wait(seconds=DEADLINE / 2), wait()], State.BEHIND, ""),
    "waiting": ([wait(seconds=60)], State.WAITING, ""),
    "overloaded and failing": ([overload, fail(2)], State.OVERLOADED, "Failing"),
    "overload is over": ([overload_that_is_over], State.WAS_OVERLOADED, ""),
    "overload is over, and others wait": (
        [wait(30, deadline=10, seconds=150), wait()],
        State.WAS_OVERLOADED,
        "",
    ),
    "only failing": ([fail(4)], State.FAILING, ""),
    "failed long ago": ([fail(3), later(DEADLINE + 1)], State.IDLE, ""),
    "stalled": ([wait(seconds=400), swept(stalled=True)], State.STALLED, ""),
    "without a worker": ([wait(seconds=400), UNKNOWN], State.WITHOUT_WORKER, ""),
    "one without a worker, and others that nobody comes to": (
        [wait(3, seconds=400), swept(unknown_types=("a",), unknown_waiting=1)],
        State.BEHIND,
        "Waiting, Without a worker",
    ),
    "some shed behind a mountain that waits": (
        [wait(3, deadline=1), wait(MOUNTAIN, seconds=2)],
        State.OVERLOADED,
        "",
    ),
    "some shed before a mountain that waits": (
        [wait(MOUNTAIN, seconds=2), wait(3, deadline=1, seconds=2)],
        State.OVERLOADED,
        "",
    ),
    "a mountain of expired ones": ([wait(CAP + 200, seconds=3 * DEADLINE)], State.IDLE, ""),
}


@pytest.mark.parametrize(("steps", "state", "others"), SITUATIONS.values(), ids=SITUATIONS)
def test_the_headline_says_from_the_table_how_the_queue_is_doing(steps, state, others):
    situation = Situation()
    for happens in steps:
        happens(situation)
    stats = situation.queue.stats(cap=CAP)
    found = headline(stats)
    titles = [sentence.partition(". ")[0] for sentence in found.others]
    assert (found.state, ", ".join(titles)) == (state, others)
    paused = headline(stats, paused=True)
    assert (paused.state, paused.title) == (State.PAUSED, "Paused")
    now = Facts(stats=stats, paused=False)
    costs = [rule.cost(now) for rule in RULES if rule.holds(now)]
    assert found.state.is_well == (not any(costs))


def test_shed_tasks_are_counted_on_both_sides_of_a_mountain_that_waits():
    situation = Situation()
    situation.wait(1, deadline=1)
    situation.wait(CAP + 100, seconds=2)
    situation.wait(3, deadline=1, seconds=2)
    assert str(situation.queue.stats(cap=CAP).shed_lately) == "at least 3"


def test_what_the_sweep_shed_counts_with_what_is_still_there_and_the_latest_of_both_tells_when():
    situation = Situation()
    situation.wait(deadline=1, seconds=11)
    now = situation.host.now()
    for ago, last in ((5, 5.0), (40, 10.0)):
        situation.swept(shed=((now - 301_000_000, 7), (now - ago * 1_000_000, 2)))
        stats = situation.queue.stats()
        assert (stats.shed_lately.value, stats.last_shed_seconds) == (3, last)


def test_an_overload_that_is_over_says_when_it_was():
    situation = Situation()
    overload_that_is_over(situation)
    said = headline(situation.queue.stats())
    assert said.title == "Overloaded until 3 min ago"
    assert said.sentence == "Tasks were shed until then, and none is shed now."


@pytest.mark.parametrize(
    ("live", "seconds", "title"),
    [
        (1, 119.9, "Overloaded"),
        (1, 120.0, "Overloaded until 2 min ago"),
        (0, None, "Was overloaded"),
        (0, 0.9, "Overloaded until a moment ago"),
        (0, 1.0, "Overloaded until 1 s ago"),
        (0, 59.0, "Overloaded until 59 s ago"),
        (0, 100.0, "Overloaded until 2 min ago"),
    ],
)
def test_an_overload_is_over_once_none_waits_or_none_was_shed_for_two_minutes(live, seconds, title):
    now = facts(shed_lately=3, live=live, last_shed_seconds=seconds)
    assert headline(now.stats).title == title


def facts(*, paused: bool = False, **found: Any) -> Facts:
    """A queue of this many tasks, by what they are counted as; of the rest there is none."""
    names = ("pending", "live", "expired_present", "shed_lately", "delayed", "taken", "failure")
    counts = {
        name: Count(value=found.pop(name, 0), capped=False) for name in (*names, "failed_lately")
    }
    ages = dict.fromkeys(("newest_waiting_seconds", "oldest_waiting_seconds"))
    stats = QueueStats(**counts, **{**ages, "deadline_seconds": DEADLINE, **found})
    return Facts(stats=stats, paused=paused)


FLOODED: dict[str, Any] = {
    "live": 20_000,
    "oldest_waiting_seconds": DEADLINE - 1,
    "newest_waiting_seconds": 0.1,
}
MISTYPED: dict[str, Any] = {"unknown_types": ("nobody.home",), "unknown_waiting": 1}


SAID: dict[str, dict[str, Any]] = {
    "Overloaded, Failing, Without a worker": {"shed_lately": 528, "failed_lately": 1_515}
    | MISTYPED,
    "Failing, Overloaded": {"shed_lately": 3, "failed_lately": 1_515},
    "Falling behind, Failing, Without a worker": {"failed_lately": 2, "live": 30} | MISTYPED,
    "Stalled, Overloaded": {"stalled": True, "shed_lately": 528},
    "Paused, Failing": {"paused": True, "stalled": True, "failed_lately": 9},
    "Paused": {"paused": True, "newest_waiting_seconds": 99.0},
}
"""A queue that is flooded is told so."""
SAID_OF_FEW: dict[str, dict[str, Any]] = {
    "Failing, Without a worker": {"live": 1, "failed_lately": 1_515} | MISTYPED,
    "Failing, Overloaded until 40 s ago": {
        "failed_lately": 1,
        "shed_lately": 90,
        "last_shed_seconds": 40.0,
    },
    "Without a worker, Failing": {"live": 25, "failed_lately": 2}
    | MISTYPED
    | {"unknown_waiting": 25},
    "Failing": {"stalled": True, "failed_lately": 1},
    "Keeping up": {"live": 1, "newest_waiting_seconds": 99.0, "taken": 1},
}


@pytest.mark.parametrize(
    ("titles", "found"),
    [*((titles, FLOODED | found) for titles, found in SAID.items()), *SAID_OF_FEW.items()],
)
def test_what_costs_most_is_said_first_and_the_others_behind_it(titles, found):
    found = facts(**found)
    said = headline(found.stats, paused=found.paused)
    assert ", ".join([said.title, *(one.partition(". ")[0] for one in said.others)]) == titles


def test_the_headline_has_the_words_of_all_that_holds():
    idle = "No task waits, and none is in work."
    assert headline(facts().stats) == Headline(state=State.IDLE, title="Idle", sentence=idle)
    assert headline(facts(live=1).stats).state is State.KEEPING_UP
    assert State.BEHIND.sentence == "Falling behind: tasks come near their deadline."
    assert headline(facts(failed_lately=1, live=1, **MISTYPED).stats, paused=True) == Headline(
        state=State.PAUSED,
        title="Paused",
        sentence="No task starts until somebody resumes.",
        others=(
            "Failing. Tasks have failed, and wait for a redrive.",
            "Without a worker. No worker is known for the type nobody.home.",
        ),
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.state.name)
def test_titles_are_short_and_sentences_have_no_numbers_which_are_in_the_tiles(rule):
    now = facts(shed_lately=528, last_shed_seconds=200.0, unknown_types=("a", "b"), **FLOODED)
    assert len(rule.title(now).split()) <= 6
    assert rule.sentence(now).count(".") == 1
    assert not any(letter.isdigit() or letter == ";" for letter in rule.sentence(now))


def test_types_without_a_worker_are_named_as_far_as_a_sentence_bears():
    types = tuple("abcde")
    assert without_worker(types[:1]) == "No worker is known for the type a."
    assert without_worker(types[:2]) == "No worker is known for the types a and b."
    assert MOST_NAMED == 3
    assert without_worker(types[:3]) == "No worker is known for the types a, b and c."
    assert without_worker(types[:4]) == "No worker is known for the types a, b, c and others."
    assert without_worker(types) == "No worker is known for the types a, b, c and others."
