"""The queues that are compared, each as its own documents would have it for this load."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.beside_others.packages import Packages

Counts = Mapping[str, int]
"""Numbers of tasks by status, by the queue's own account."""
HERE = "benchmarks.beside_others"


@dataclass(frozen=True, kw_only=True)
class Contender:
    name: str
    work: Sequence[str]
    """Starts the workers, four slots together."""
    client: Sequence[str]
    """The command of the client: with ``put`` it puts the load, with ``count`` it prints the
    counts."""
    shed: Callable[[Counts, int], int] = lambda counts, _ran: counts["shed"]
    """Return the number of tasks that were shed, told the queue's counts and how many tasks ran."""
    deadline: float
    """Seconds after which it drops a task."""
    needs_redis: bool = True


def contenders(
    packages: Packages, *, deadline: float, table: str, endpoint: str, redis: str
) -> list[Contender]:
    """``deadline``: of the queue, in seconds."""
    python, node = str(packages.python), ("node", "benchmarks/beside_others/with_bullmq.mjs")
    options = f"--table {table} --endpoint-url {endpoint} --region us-east-1 --deadline-seconds"

    def celery(name: str, own: float) -> Contender:
        worker = f"--app {HERE}.with_celery --quiet worker --concurrency 4 --loglevel ERROR"
        return Contender(
            name=name,
            work=(python, "-m", "celery", *worker.split()),
            client=(python, "-m", f"{HERE}.with_celery"),
            deadline=own,
        )

    return [
        Contender(
            name="lifoq",
            work=(
                *(sys.executable, "-m", "lifoq_cli", *options.split(), str(deadline), "work"),
                *("--tasks", f"{HERE}.with_lifoq", "--in-flight", "4"),
            ),
            client=(sys.executable, "-m", f"{HERE}.with_lifoq"),
            deadline=deadline,
            needs_redis=False,
        ),
        Contender(
            name="RQ, at_front and ttl",
            work=(
                *(str(packages.python.with_name("rq")), "worker-pool", "beside", "--quiet"),
                *("--num-workers", "4", "--url", redis, "--path", "."),
            ),
            client=(python, "-m", f"{HERE}.with_rq"),
            deadline=deadline,
        ),
        Contender(
            name="BullMQ, lifo and an age check",
            work=(*node, "work"),
            client=node,
            deadline=deadline,
            shed=lambda counts, ran: counts["completed"] - ran,
        ),
        celery("Celery, expires", deadline),
        celery("Celery, expires 2 s", 2.0),
    ]
