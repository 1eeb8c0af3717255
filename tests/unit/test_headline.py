"""How a queue is doing, in one sentence: a matrix of situations."""

from typing import Any

import pytest

from lifoq import NewTask, Queue, TaskError
from lifoq.health import sweep_note as notes
from lifoq.health.headline import State, headline
from lifoq.items.lifetimes import Lifetimes
from lifoq.testing.hosts import ManualHost

DEADLINE = 600


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


SITUATIONS = {
    "idle": (lambda _: None, State.IDLE, ""),
    "in work": (lambda queue: queue.run(2), State.KEEPING_UP, "; 2 in work"),
    "keeping up": (
        lambda queue: (queue.wait(seconds=1.5), queue.wait(deadline=9)),
        State.KEEPING_UP,
        "; 2 waiting, the newest for 0 ms, the oldest for 1.5 s",
    ),
    "falling behind": (
        lambda queue: queue.wait(seconds=DEADLINE / 2),
        State.BEHIND,
        "; 1 waiting, for 5 min",
    ),
    "waiting": (lambda queue: queue.wait(seconds=60), State.WAITING, "; 1 waiting, for 1 min"),
    "overloaded and failing": (
        lambda queue: (overload(queue), queue.fail(2)),
        State.OVERLOADED,
        (
            "; 30 waiting, the newest for 85 ms, the oldest for 85 ms; 10 in work; "
            "170 shed in the last 5 min; 2 failed"
        ),
    ),
    "overload is over": (
        overload_that_is_over,
        State.OVERLOADED,
        "; 30 shed in the last 5 min; 170 shed before, not deleted yet",
    ),
    "only failing": (lambda queue: queue.fail(4), State.FAILING, "; 4 failed"),
    "failed long ago": (
        lambda queue: (queue.fail(3), queue.host.advance(DEADLINE + 1)),
        State.IDLE,
        "; 3 failed",
    ),
    "stalled": (
        lambda queue: (queue.wait(), queue.swept(stalled=True)),
        State.STALLED,
        "; 1 waiting, for 0 ms",
    ),
    "without a worker": (
        lambda queue: (queue.wait(), queue.swept(unknown_types=("a",))),
        State.WITHOUT_WORKER,
        "; of type a; 1 waiting, for 0 ms",
    ),
    "some shed behind a mountain that waits": (
        lambda queue: (queue.wait(3, deadline=1), queue.wait(11_000, seconds=2)),
        State.OVERLOADED,
        (
            "; at least 10,000 waiting, the newest for 2 s, the oldest for 2 s; "
            "at least 3 shed in the last 5 min"
        ),
    ),
    "a mountain of expired ones": (
        lambda queue: queue.wait(12_000, seconds=3 * DEADLINE),
        State.IDLE,
        "; at least 10,000 shed before, not deleted yet",
    ),
}


@pytest.mark.parametrize(("arrange", "state", "numbers"), SITUATIONS.values(), ids=SITUATIONS)
def test_the_headline_says_from_the_table_how_the_queue_is_doing(arrange, state, numbers):
    situation = Situation()
    arrange(situation)
    found = headline(situation.queue.stats())
    assert (found.state, found.sentence) == (state, f"{state}: {state.meaning}{numbers}.")
    assert headline(situation.queue.stats(), paused=True).state is State.PAUSED
