"""The queues that are compared, each as its own documents would have it for this load."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.beside_others.packages import Packages

Counts = Mapping[str, int]
"""What the queue itself says of its tasks."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    name: str
    work: Sequence[str]
    """Starts the workers, four slots together."""
    put: Sequence[str]
    count: Sequence[str]
    shed_as: str
    """What one finds of a task that was shed."""
    shed: Callable[[Counts, int], int]
    """Of its counts, and of how many tasks ran: how many it knows to have been shed."""
    deadline: float | None = None
    """Seconds; None: the load's."""
    needs_redis: bool = True


def contenders(
    packages: Packages, *, deadline: float, table: str, endpoint: str, redis: str
) -> list[Contender]:
    """``deadline``: of the queue, in seconds."""
    python, here = str(packages.python), "benchmarks.beside_others"
    node = ("node", "benchmarks/beside_others/with_bullmq.mjs")

    def module(name: str, verb: str, python: str = python) -> tuple[str, ...]:
        return (python, "-m", f"{here}.with_{name}", verb)

    def celery(own: float | None) -> Contender:
        return Contender(
            name="Celery, expires" + (f" {own:g} s" if own else ""),
            work=(
                *(python, "-m", "celery", "--app", f"{here}.with_celery", "--quiet"),
                *("worker", "--concurrency", "4", "--loglevel", "ERROR"),
            ),
            put=module("celery", "put"),
            count=module("celery", "count"),
            shed_as="revoked",
            shed=lambda counts, _: counts["shed"],
            deadline=own,
        )

    queue = ("--table", table, "--endpoint-url", endpoint, "--region", "us-east-1")
    return [
        Contender(
            name="lifoq",
            work=(
                *(
                    sys.executable,
                    "-m",
                    "lifoq",
                    *queue,
                    "--deadline-seconds",
                    str(deadline),
                    "work",
                ),
                *("--tasks", f"{here}.with_lifoq", "--in-flight", "4"),
            ),
            put=module("lifoq", "put", sys.executable),
            count=module("lifoq", "count", sys.executable),
            shed_as="counted as shed",
            shed=lambda counts, _: counts["shed"],
            needs_redis=False,
        ),
        Contender(
            name="RQ, at_front and ttl",
            work=(
                *(str(packages.python.with_name("rq")), "worker-pool", "beside", "--quiet"),
                *("--num-workers", "4", "--url", redis, "--path", "."),
            ),
            put=module("rq", "put"),
            count=module("rq", "count"),
            shed_as="gone",
            shed=lambda counts, _: counts["shed"],
        ),
        Contender(
            name="BullMQ, lifo and an age check",
            work=(*node, "work"),
            put=(*node, "put"),
            count=(*node, "count"),
            shed_as="completed",
            shed=lambda counts, ran: counts["completed"] - ran,
        ),
        celery(None),
        celery(2.0),
    ]
