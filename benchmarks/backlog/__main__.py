"""``python -m benchmarks.backlog``: polls and claims, however many tasks wait."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
import numpy as np

from benchmarks.backlog.queue import Backlog, Cost, Layer
from benchmarks.backlog.results import Depth, Results
from benchmarks.record import recording
from lab.dynamodb_local import running
from lifoq.items.lifetimes import Lifetimes

DEADLINE: Final = Lifetimes().deadline
SPARE: Final = 1_800.0
"""Seconds that the run may take: nothing of what is alive at first expires in it."""
WARM_UP: Final = 20
"""Polls until connections stand and Java has compiled what it runs."""


@click.command()
@click.option(
    "--depths", default=(1_000, 100_000, 1_000_000), show_default=True, multiple=True, type=int
)
@click.option("--expired", default=100_000, show_default=True, help="At the oldest end.")
@click.option("--polls", default=200, show_default=True, help="At each queue and end.")
def main(depths: tuple[int, ...], expired: int, polls: int) -> None:
    """Look at queues of different depth, and claim. About ten minutes."""
    with (
        recording("backlog", "python -m benchmarks.backlog") as found,
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "dynamodb.log", heap_megabytes=2_048) as endpoint,
    ):
        queues = {depth: Backlog(endpoint, f"waiting-{depth}") for depth in depths}
        for depth, queue in queues.items():
            queue.fill(waiting(depth))
        rows = measure(queues, polls, expired=0)
        for queue in queues.values():
            queue.fill(mountain(expired))
        rows += measure(queues, polls, expired=expired)
        found.results = Results(depths=rows)


def waiting(count: int) -> Layer:
    """All alive, for as long as the run may take."""
    return Layer(prefix="live-", count=count, youngest=1, oldest=DEADLINE - SPARE, lives=DEADLINE)


def mountain(count: int) -> Layer:
    """A day's worth of tasks that an overload left behind and TTL has not yet deleted."""
    return Layer(
        prefix="expired-",
        count=count,
        youngest=DEADLINE + 60,
        oldest=DEADLINE + 86_400,
        lives=DEADLINE,
    )


def measure(queues: Mapping[int, Backlog], polls: int, *, expired: int) -> list[Depth]:
    """Measure the queues by turns: a poll of each, then the next. The first polls do not count."""
    costs: dict[tuple[str, int], list[Cost]] = {
        (end, depth): [] for end in ("newest", "oldest") for depth in queues
    }
    for _ in range(WARM_UP + polls):
        for (end, depth), found in costs.items():
            found.append(queues[depth].poll_and_claim(newest_first=end == "newest"))
    medians = {queue: np.median(found[WARM_UP:], axis=0) for queue, found in costs.items()}
    return [
        Depth(
            order=f"{end} first",
            expired=expired,
            waiting=depth,
            poll_ms=round(poll, 2),
            claim_ms=round(claim, 2),
            read_units=read,
            write_units=written,
            ratio=round((poll + claim) / sum(medians[end, min(queues)][:2]), 2),
        )
        for (end, depth), (poll, claim, read, written) in medians.items()
    ]


if __name__ == "__main__":
    main()
