"""``python -m benchmarks.backlog``"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import click

from benchmarks.backlog.fill import Layer, fill
from benchmarks.backlog.looks import Backlog, Cost
from benchmarks.record import recording
from lab.dynamodb_local import running
from lifoq.items.lifetimes import Lifetimes

DEADLINE: Final = Lifetimes().deadline
SPARE: Final = 1_800.0
"""Seconds that the run may take: nothing of what is alive at first expires in it."""
SHORT_LIVED: Final = 5_000
HEAP_MEGABYTES: Final = 2_048
WARM_UP: Final = 20
"""Looks until connections stand and Java has compiled what it runs."""


@click.command()
@click.option(
    "--deepest", default=100_000, show_default=True, help="Waiting tasks of the deepest queue."
)
@click.option(
    "--expired", default=40_000, show_default=True, help="Expired tasks at the oldest end."
)
@click.option("--looks", default=200, show_default=True, help="Looks at each queue and end.")
@click.option("--variant", help="Keep the results apart, in results-VARIANT.json.")
def main(deepest: int, expired: int, looks: int, variant: str | None) -> None:
    """Look at queues of 1,000 tasks, 100,000, and so on, and claim. About two minutes; with a
    million, seven."""
    depths = [depth for depth in (1_000, 100_000, 1_000_000) if depth < deepest] + [deepest]
    command = f"python -m benchmarks.backlog --deepest {deepest} --expired {expired}"
    if variant:
        command += f" --variant {variant}"
    with (
        recording("backlog", command, variant=variant) as found,
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "dynamodb.log", heap_megabytes=HEAP_MEGABYTES) as endpoint,
    ):
        queues = {depth: Backlog(endpoint, f"waiting-{depth}") for depth in depths}
        for depth, queue in queues.items():
            fill(endpoint, queue.table_name, [waiting(depth)])
        rows = measure(queues, looks, expired=0)
        for queue in queues.values():
            fill(endpoint, queue.table_name, [mountain(expired)])
        rows += measure(queues, looks, expired=expired)
        found.results = {
            "depth": with_ratios(rows),
            "expired_at_the_newest_end": [short_lived(endpoint, queues[depths[0]])],
        }


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


def measure(queues: Mapping[int, Backlog], looks: int, *, expired: int) -> list[dict[str, Any]]:
    """Interleaved: one look at each queue, then the next. The first looks do not count."""
    costs: dict[tuple[int, str], list[Cost]] = {
        (depth, end): [] for end in ("newest", "oldest") for depth in queues
    }
    for _ in range(WARM_UP + looks):
        for (depth, end), found in costs.items():
            found.append(queues[depth].look_and_claim(newest_first=end == "newest"))
    return [
        {"end": end, "waiting": depth, "expired": expired, **summary(found[WARM_UP:])}
        for (depth, end), found in costs.items()
    ]


def summary(costs: Sequence[Cost]) -> dict[str, Any]:
    return {
        "look_ms": spread([cost.look_ms for cost in costs])[0],
        "look_p99_ms": spread([cost.look_ms for cost in costs])[1],
        "claim_ms": spread([cost.claim_ms for cost in costs])[0],
        "claim_p99_ms": spread([cost.claim_ms for cost in costs])[1],
        "read_units": median(cost.read_units for cost in costs),
        "write_units": median(cost.write_units for cost in costs),
    }


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Median and 99th percentile."""
    return round(median(values), 2), round(quantiles(values, n=100)[98], 2)


def with_ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both medians together, as a multiple of the shallowest queue's in the same phase."""
    return [row | {"ratio": round(total(row) / total(base(row, rows)), 2)} for row in rows]


def base(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    alike = [r for r in rows if (r["end"], r["expired"]) == (row["end"], row["expired"])]
    return min(alike, key=lambda each: int(each["waiting"]))


def total(row: dict[str, Any]) -> float:
    return float(row["look_ms"] + row["claim_ms"])


def short_lived(endpoint: str, queue: Backlog) -> dict[str, Any]:
    """What does cost: tasks with deadlines of their own, much shorter than the queue's, that have
    expired at the newest end, where no bound of the query leaves them out."""
    layer = Layer(prefix="short-", count=SHORT_LIVED, youngest=0.5, oldest=0.9, lives=-10)
    fill(endpoint, queue.table_name, [layer])
    found = summary([queue.look_and_claim() for _ in range(10)])
    return {"expired": SHORT_LIVED, **{k: v for k, v in found.items() if "p99" not in k}}


if __name__ == "__main__":
    main()
