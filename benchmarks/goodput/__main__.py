"""``python -m benchmarks.goodput``: which order serves most tasks in time, beside theory."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

import click

from benchmarks.goodput import experiments, storm
from benchmarks.goodput.policies import PATIENCE
from benchmarks.goodput.steady import Outcome, Setting, simulate
from benchmarks.goodput.storm import Storms
from benchmarks.goodput.transient import Horizon
from benchmarks.record import recording

PARTS: Final[dict[str, Callable[[float], list[Setting]]]] = {
    "by_load": experiments.by_load,
    "unknown_patience": experiments.of_unknown_patience,
    "thresholds": experiments.of_thresholds,
    "bursts": experiments.of_bursts,
    "slots": experiments.of_slots,
}


@click.command()
@click.option(
    "--scale", default=1.0, show_default=True, help="How much longer to simulate each setting."
)
@click.option(
    "--horizons", default=12, show_default=True, help="Queues without a deadline, by seed."
)
@click.option("--storms", default=8, show_default=True, help="Retry storms, by seed.")
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
def main(scale: float, horizons: int, storms: int, processes: int) -> None:
    """Simulate queues under load with the real processor and store in virtual time, and compare
    how much of their capacity goes into tasks that start in time."""
    with (
        recording("goodput", "python -m benchmarks.goodput") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        outcomes = _simulate(pool, scale)
        over_horizons = list(pool.map(Horizon.row, experiments.horizons(horizons)))
        over_time = list(pool.map(Storms.rows, experiments.storms(storms)))
        found.results = {
            "setting": [_setting()],
            "goodput_by_load": experiments.by_load_rows(outcomes["by_load"]),
            "fifo_without_deadline_over_a_horizon": over_horizons,
            "near_saturation_by_patience": experiments.near_saturation_rows(),
            "adaptive_by_load": [
                *experiments.choice_rows(outcomes["by_load"], experiments.KNOWN),
                *experiments.choice_rows(outcomes["unknown_patience"], experiments.UNKNOWN),
            ],
            "adaptive_by_threshold": experiments.threshold_rows(outcomes["thresholds"]),
            "bursts": experiments.burst_rows(outcomes["bursts"]),
            "several_slots": experiments.slots_rows(outcomes["slots"]),
            "storm_summary": [storm.summary(rows) for rows in over_time],
            "storm_over_time": [row for rows in over_time for row in rows],
        }


def _simulate(pool: ProcessPoolExecutor, scale: float) -> dict[str, list[Outcome]]:
    """Every part's settings, simulated side by side, the longest first."""
    named = [(name, chosen) for name, part in PARTS.items() for chosen in part(scale)]
    named.sort(key=lambda pair: -pair[1].length * pair[1].load * pair[1].slots)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in PARTS}
    simulated = pool.map(simulate, [chosen for _, chosen in named])
    with click.progressbar(simulated, length=len(named), label="Simulating") as progress:
        for (name, _), outcome in zip(named, progress, strict=True):
            outcomes[name].append(outcome)
    for name, part in PARTS.items():
        place = {chosen: n for n, chosen in enumerate(part(scale))}
        outcomes[name].sort(key=lambda outcome: place[outcome.setting])
    return outcomes


def _setting() -> dict[str, Any]:
    return {
        "patience_services": PATIENCE,
        "storm_calm_load": storm.CALM,
        "storm_burst_load": storm.BURST,
        "storm_burst_begins_services": storm.BEFORE,
        "storm_burst_ends_services": storm.BEFORE + storm.DURING,
        "storm_repeats": storm.REPEATS,
    }


if __name__ == "__main__":
    main()
