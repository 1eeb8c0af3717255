"""``python -m benchmarks.backlog``: looks and claims, however many tasks wait."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Final

import click

from benchmarks.backlog.queue import Backlog, Cost, Layer
from benchmarks.backlog.results import Depth, Results, ShortLived
from benchmarks.record import recording
from lab.dynamodb_local import running
from lifoq.items.lifetimes import Lifetimes

DEADLINE: Final = Lifetimes().deadline
SPARE: Final = 1_800.0
"""Seconds that the run may take: nothing of what is alive at first expires in it."""
SHORT_LIVED: Final = 5_000
WARM_UP: Final = 20
"""Looks until connections stand and Java has compiled what it runs."""


@click.command()
@click.option(
    "--depths", default=(1_000, 100_000, 1_000_000), show_default=True, multiple=True, type=int
)
@click.option("--expired", default=100_000, show_default=True, help="At the oldest end.")
@click.option("--looks", default=200, show_default=True, help="At each queue and end.")
def main(depths: tuple[int, ...], expired: int, looks: int) -> None:
    """Look at queues of different depth, and claim. About seven minutes."""
    with (
        recording("backlog", "python -m benchmarks.backlog") as found,
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "dynamodb.log", heap_megabytes=2_048) as endpoint,
    ):
        queues = {depth: Backlog(endpoint, f"waiting-{depth}") for depth in depths}
        for depth, queue in queues.items():
            queue.fill(waiting(depth))
        rows = measure(queues, looks, expired=0)
        for queue in queues.values():
            queue.fill(mountain(expired))
        rows += measure(queues, looks, expired=expired)
        found.results = Results(depths=rows, short_lived=short_lived(queues[depths[0]]))


def waiting(count: int) -> Layer:
    """All alive, for as long as the run may take."""
    return Layer(prefix="live-", count=count, youngest=1, oldest=DEADLINE - SPARE, lives=DEADLINE)


def mountain(count: int) -> Layer:
    """What overload left behind and TTL has not yet deleted: a day's worth."""
    return Layer(
        prefix="expired-",
        count=count,
        youngest=DEADLINE + 60,
        oldest=DEADLINE + 86_400,
        lives=DEADLINE,
    )


def measure(queues: Mapping[int, Backlog], looks: int, *, expired: int) -> list[Depth]:
    """Interleaved: one look at each queue, then the next. The first looks do not count."""
    costs: dict[tuple[str, int], list[Cost]] = {
        (end, depth): [] for end in ("newest", "oldest") for depth in queues
    }
    for _ in range(WARM_UP + looks):
        for (end, depth), found in costs.items():
            found.append(queues[depth].look_and_claim(newest_first=end == "newest"))
    rows = []
    for end in ("newest", "oldest"):
        first = costs[end, min(queues)][WARM_UP:]
        rows += [
            depth_row(end, expired, depth, costs[end, depth][WARM_UP:], first) for depth in queues
        ]
    return rows


def depth_row(
    end: str, expired: int, waiting: int, costs: list[Cost], shallowest: list[Cost]
) -> Depth:
    return Depth(
        order=f"{end} first",
        expired=expired,
        waiting=waiting,
        look_ms=round(median(cost.look_ms for cost in costs), 2),
        claim_ms=round(median(cost.claim_ms for cost in costs), 2),
        read_units=median(cost.read_units for cost in costs),
        write_units=median(cost.write_units for cost in costs),
        ratio=round(_both(costs) / _both(shallowest), 2),
    )


def _both(costs: list[Cost]) -> float:
    return median(cost.look_ms for cost in costs) + median(cost.claim_ms for cost in costs)


def short_lived(queue: Backlog) -> ShortLived:
    """What does cost: tasks with deadlines of their own, much shorter than the queue's, that have
    expired at the newest end, where no bound of the query leaves them out."""
    queue.fill(Layer(prefix="short-", count=SHORT_LIVED, youngest=0.5, oldest=0.9, lives=-10))
    costs = [queue.look_and_claim() for _ in range(10)]
    return ShortLived(
        expired=SHORT_LIVED,
        look_ms=round(median(cost.look_ms for cost in costs), 2),
        read_units=median(cost.read_units for cost in costs),
    )


if __name__ == "__main__":
    main()
