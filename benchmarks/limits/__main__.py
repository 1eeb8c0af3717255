"""``python -m benchmarks.limits``: see README.md."""

import click

from benchmarks.limits.heartbeats import LATE, heartbeats
from benchmarks.limits.order import LIMITS, WAITING, Row, order
from benchmarks.record import recording


@click.command()
@click.option("--control", is_flag=True, help="Write results-before.json; leave out the deepest.")
def main(*, control: bool) -> None:
    """Measure the order where types are at their limits, and what a late heartbeat costs."""
    command = "python -m benchmarks.limits" + (" --control" if control else "")
    depths = WAITING[:-1] if control else WAITING
    with recording("limits", command, variant="before" if control else None) as found:
        rows: dict[str, list[Row]] = {"order": [], "heartbeats": []}
        for limit in LIMITS:
            for waiting in depths:
                rows["order"].append(order(limit, waiting))
                print(rows["order"][-1], flush=True)
        for late in LATE:
            rows["heartbeats"].append(heartbeats(late))
            print(rows["heartbeats"][-1], flush=True)
        found.results = rows


if __name__ == "__main__":
    main()
