"""``python -m benchmarks.goodput``: which order serves most tasks in time, beside theory."""

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from statistics import fmean, stdev
from typing import Final

import click

from benchmarks.goodput import theory
from benchmarks.goodput.queue import (
    ADAPTIVE,
    NEWEST,
    OLDEST,
    OLDEST_FOR_EVER,
    PATIENCE,
    Policy,
)
from benchmarks.goodput.results import Choice, Outcome, Results
from benchmarks.goodput.steady import Steady, lost, simulate
from benchmarks.record import recording

LENGTHS: Final[Mapping[float, float]] = {
    0.5: 8_000,
    0.8: 15_000,
    0.95: 30_000,
    1.1: 20_000,
    1.5: 10_000,
    2.0: 8_000,
    3.0: 7_000,
}
"""How long each load is simulated: near saturation, what happens depends on what happened long
before, and a mean takes long to settle."""
HORIZON: Final = 1_000.0
"""Over which a queue is looked at that never comes to a steady state."""
KNOWN: Final = (NEWEST, OLDEST, ADAPTIVE)
"""The queue's deadline is the patience of its clients."""
UNKNOWN: Final = tuple(replace(policy, deadline=3 * PATIENCE) for policy in KNOWN)
"""It is longer, as the queue does not know them."""
THEORY: Final[Mapping[Policy, Callable[[float, float], float]]] = {
    NEWEST: theory.newest_first,
    OLDEST: theory.oldest_first_with_deadline,
    OLDEST_FOR_EVER: theory.oldest_first,
}


@click.command()
@click.option("--scale", default=1.0, show_default=True, help="How much longer to simulate.")
@click.option("--seeds", default=12, show_default=True, help="Of queues that fall behind.")
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
def main(scale: float, seeds: int, processes: int) -> None:
    """Simulate queues under load with the real processor and store in virtual time, and compare
    how much of their capacity goes into tasks that start in time."""
    steady = [(policy, load) for load in LENGTHS for policy in (*KNOWN, *UNKNOWN)]
    steady += [(OLDEST_FOR_EVER, load) for load in LENGTHS if load < 1]
    with (
        recording("goodput", "python -m benchmarks.goodput") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        simulated = {
            setting: pool.submit(simulate, *setting, LENGTHS[setting[1]] * scale)
            for setting in steady
        }
        outcomes = {setting: future.result() for setting, future in simulated.items()}
        found.results = Results(
            patience=PATIENCE,
            by_load=[
                *(
                    _outcome(policy, outcome)
                    for (policy, _), outcome in outcomes.items()
                    if policy not in UNKNOWN
                ),
                *(_lost(load, seeds) for load in LENGTHS if load > 1),
            ],
            adaptive=[
                _choice(three[0].deadline, *(outcomes[policy, load] for policy in three))
                for three in (KNOWN, UNKNOWN)
                for load in LENGTHS
            ],
        )


def _outcome(policy: Policy, outcome: Steady) -> Outcome:
    goodput, ci95 = outcome.goodput()
    expected = THEORY.get(policy)
    return Outcome(
        policy=policy.name,
        load=outcome.load,
        goodput=goodput,
        ci95=ci95,
        theory=expected and expected(outcome.load, PATIENCE),
        shed=outcome.shed,
        wait_p50=outcome.wait(0.5),
        wait_p95=outcome.wait(0.95),
    )


def _lost(load: float, seeds: int) -> Outcome:
    """A queue that falls behind for ever."""
    runs = [lost(load, HORIZON, seed, OLDEST_FOR_EVER) for seed in range(seeds)]
    return Outcome(
        policy=OLDEST_FOR_EVER.name,
        load=load,
        goodput=fmean(runs),
        ci95=2.2 * stdev(runs) / seeds**0.5,
        theory=theory.oldest_first_at_first(load, PATIENCE, HORIZON),
        shed=None,
        wait_p50=None,
        wait_p95=None,
    )


def _choice(deadline: float, newest: Steady, oldest: Steady, adaptive: Steady) -> Choice:
    shares = [one.goodput()[0] / one.load for one in (newest, oldest, adaptive)]
    return Choice(
        deadline=deadline,
        load=adaptive.load,
        newest=shares[0],
        oldest=shares[1],
        adaptive=shares[2],
    )


if __name__ == "__main__":
    main()
