"""How a queue is doing, in one sentence: a matrix of situations."""

from dataclasses import replace

import pytest

from lifoq import NewTask, Queue, QueueStats, TaskError
from lifoq.items.lifetimes import Lifetimes
from lifoq.tables.headline import headline
from lifoq.testing.hosts import ManualHost

DEADLINE = 600
OVERLOADED = "Overloaded: more comes in than is done, and tasks are shed; "
KEEPING_UP = "Keeping up: nothing was shed in the last 5 min; "
FAILING = "Failing: tasks ended in FAILURE and wait for a redrive; "
IDLE = "Idle: nothing waits and nothing is in work"


class Situation:
    """A queue, and what became of its tasks."""

    def __init__(self) -> None:
        self.host = ManualHost()
        self.queue = Queue.in_memory(lifetimes=Lifetimes(deadline=DEADLINE), host=self.host)

    def wait(self, number: int = 1, **terms: float) -> list[str]:
        tasks = [NewTask(task_type="a", **terms) for _ in range(number)]
        return [outcome.task.task_id for outcome in self.queue.put_many(tasks) if outcome.task]

    def run(self, number: int) -> None:
        for task_id in self.wait(number):
            self.queue.store.claim(task_id, claim_id=task_id, lease=3_600)

    def fail(self, number: int) -> None:
        for task_id in self.wait(number):
            task = self.queue.store.claim(task_id, claim_id=task_id, lease=30)
            self.queue.store.fail(task, TaskError(type="ValueError", message="no"))


def overload(queue: Situation) -> None:
    queue.wait(170, deadline=10)
    queue.host.advance(10.5)
    queue.wait(30)
    queue.run(10)
    queue.host.advance(0.085)


def overload_that_is_over(queue: Situation) -> None:
    overload(queue)
    queue.host.advance(DEADLINE)
    for task in queue.queue.peek(100, status="TAKEN"):
        queue.queue.store.succeed(task, "1")
    queue.host.advance(200)


def old_failures(queue: Situation) -> None:
    queue.fail(3)
    queue.host.advance(DEADLINE + 1)


@pytest.mark.parametrize(
    ("arrange", "known", "sentence"),
    [
        (lambda _: None, {}, f"{IDLE}."),
        (lambda queue: queue.run(2), {}, f"{KEEPING_UP}2 in work."),
        (
            lambda queue: (queue.wait(), queue.host.advance(1.5), queue.wait(deadline=9)),
            {},
            f"{KEEPING_UP}2 waiting, the newest for 0 ms, the oldest for 1.5 s.",
        ),
        (
            lambda queue: (queue.wait(), queue.host.advance(DEADLINE / 2)),
            {},
            "Falling behind: tasks come near their deadline; 1 waiting, for 5 min.",
        ),
        (
            lambda queue: (queue.wait(), queue.host.advance(60)),
            {},
            (
                "Waiting: nothing is in work, though even the newest task has waited for a minute; "
                "1 waiting, for 1 min."
            ),
        ),
        (
            overload,
            {},
            (
                f"{OVERLOADED}30 waiting, the newest for 85 ms, the oldest for 85 ms; 10 in work; "
                "170 shed in the last 5 min."
            ),
        ),
        (
            overload_that_is_over,
            {},
            f"{OVERLOADED}30 shed in the last 5 min; 170 shed before, not deleted yet.",
        ),
        (
            lambda queue: (overload(queue), queue.fail(2)),
            {},
            (
                f"{OVERLOADED}30 waiting, the newest for 85 ms, the oldest for 85 ms; 10 in work; "
                "170 shed in the last 5 min; 2 failed."
            ),
        ),
        (lambda queue: queue.fail(4), {}, f"{FAILING}4 failed."),
        (old_failures, {}, f"{IDLE}; 3 failed."),
        (
            lambda queue: queue.wait(3),
            {"paused": True},
            (
                "Paused: no task starts until somebody resumes; "
                "3 waiting, the newest for 0 ms, the oldest for 0 ms."
            ),
        ),
        (
            lambda queue: queue.wait(),
            {"stalled": True},
            (
                "Stalled: tasks wait, and none has been claimed for five minutes or longer; "
                "1 waiting, for 0 ms."
            ),
        ),
        (
            lambda queue: queue.wait(),
            {"unknown_types": ("a",)},
            (
                "Without a worker: tasks wait of a type that no worker is known to have; "
                "of type a; 1 waiting, for 0 ms."
            ),
        ),
        (
            lambda queue: (queue.wait(12_000), queue.host.advance(3 * DEADLINE)),
            {},
            f"{IDLE}; 10000+ shed before, not deleted yet.",
        ),
    ],
    ids=[
        *(
            "idle",
            "in work",
            "keeping up",
            "falling behind",
            "waiting",
            "overloaded",
            "overload is over",
        ),
        *("overloaded and failing", "only failing", "failed long ago", "paused", "stalled"),
        *("without a worker", "a mountain of expired ones"),
    ],
)
def test_the_headline_says_from_the_table_how_the_queue_is_doing(arrange, known, sentence):
    situation = Situation()
    arrange(situation)
    paused = known.pop("paused", False)
    stats: QueueStats = replace(situation.queue.stats(), **known)
    assert headline(stats, paused=paused).sentence == sentence
