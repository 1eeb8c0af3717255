"""``python -m benchmarks.fairness``: one key floods, twenty others ask for little."""

from concurrent.futures import ProcessPoolExecutor
from typing import Final

import click

from benchmarks.fairness.flood import PATIENCE, Flood
from benchmarks.record import recording

SHALLOW: Final = 60.0
DEEP: Final = 3_600.0
"""Deadlines of the queue in seconds: some 6,000 or 56,000 tasks wait at a time."""
FLOODS: Final = (
    Flood(fair=False, deadline=SHALLOW),
    Flood(fair=True, deadline=SHALLOW),
    Flood(fair=True, deadline=DEEP),
    Flood(fair=True, deadline=SHALLOW, adaptive_threshold=20.0),
)
GOAL: Final = 0.95
"""Of the quiet keys' tasks, in time."""


@click.command()
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
def main(processes: int) -> None:
    """Ten minutes of a flood in virtual time, with fair shares and without. About four minutes."""
    with (
        recording("fairness", "python -m benchmarks.fairness") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        found.results = {
            "setting": [
                {"patience_seconds": PATIENCE, "goal_in_time_share": GOAL},
            ],
            "floods": list(pool.map(Flood.row, FLOODS)),
        }


if __name__ == "__main__":
    main()
