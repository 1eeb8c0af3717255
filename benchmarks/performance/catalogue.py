"""The benchmarks, in the order in which they run and are shown."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """``name`` is its folder's, and its template's. ``every_time``: whether it runs where none is
    named. ``variant``: of a run that takes too long for every day; its results are found under that
    name, among the others, as None where it has not been run."""

    name: str
    title: str
    question: str
    variant: str | None = None
    every_time: bool = True

    @property
    def anchor(self) -> str:
        """As GitHub makes it of the heading."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")


BENCHMARKS: Final = (
    Benchmark(
        name="goodput",
        title="Goodput under overload",
        question="What share of the capacity goes to tasks that start in time, whatever the load? "
        "The real processor and store under a virtual clock, beside theory and other orders.",
    ),
    Benchmark(
        name="fairness",
        title="Fairness",
        question="One key floods the queue: how many of the other keys' tasks start in time, with "
        "fair shares and without?",
    ),
    Benchmark(
        name="beside_others",
        title="Beside other queues",
        question="Twice as many tasks arrive as can be done: how many start within 2 s of their "
        "put, in lifoq, RQ, BullMQ and Celery, and what becomes of the others?",
        every_time=False,
    ),
    Benchmark(
        name="freshness",
        title="Freshness",
        question="How long does a new task wait until it starts while a deep backlog waits, beside "
        "processing page by page?",
    ),
    Benchmark(
        name="latency",
        title="Latency",
        question="How long does it take from the put to the handler's start when the queue is "
        "idle, and where does that time go?",
    ),
    Benchmark(
        name="limits",
        title="Limits and late answers",
        question="With one of two task types at its limit, how new is the task that the next free "
        "slot takes, and how much is read for it? What does one late heartbeat cost?",
        variant="before",
    ),
    Benchmark(
        name="processor",
        title="Processor speed",
        question="How many tasks a second does a processor do when the handler does nothing, and "
        "how much of that is the database's?",
    ),
    Benchmark(
        name="producer",
        title="Producer speed",
        question="How many tasks a second can one thread put, beside bare conditional and batch "
        "writes of the same items?",
    ),
    Benchmark(
        name="backlog",
        title="Backlog depth",
        question="Does a claim cost more when more tasks wait, or when a mountain of expired ones "
        "lies behind them?",
        variant="deep",
    ),
    Benchmark(
        name="coldstart",
        title="Cold start",
        question="How long does a function take before its first event, how large is the package, "
        "and how much memory do the functions need?",
    ),
    Benchmark(
        name="cost",
        title="Cost",
        question="How many write units, read units and runs does a task take, and what does it "
        "cost?",
    ),
    Benchmark(
        name="reports",
        title="The newest report of a device",
        question="Each device reports ten times while its reports wait: how many checks are of "
        "use, and what do they cost? And what does a large payload cost?",
    ),
    Benchmark(
        name="cells",
        title="Cells: beyond one queue",
        question="How much can one queue take, and what do several side by side do to order, to "
        "what is served in time, to cost and to outages?",
    ),
    Benchmark(
        name="analytics",
        title="The report",
        question="How fast is the Spark report on exports, is its memory bounded, and does its "
        "time grow with the tasks?",
        variant="large",
        every_time=False,
    ),
)
