"""``python -m benchmarks.goodput``: which order serves most while it is wanted, beside theory."""

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Final

import click
import numpy as np

from benchmarks.goodput import classes, theory
from benchmarks.goodput.queue import LONGEST, Policy
from benchmarks.goodput.results import TOLD, Outcome, Results
from benchmarks.goodput.steady import Steady, simulate
from benchmarks.goodput.theory import LAWS, LEAST, PATIENCE, Survival
from benchmarks.record import recording

LENGTHS: Final[Mapping[float, float]] = {
    0.5: 1_500,
    0.8: 3_000,
    0.95: 6_000,
    1.1: 4_500,
    1.5: 2_500,
    2.0: 2_000,
    3.0: 1_500,
}
"""Time units for which each load is simulated. Near saturation, what happens depends on what
happened long before, and a mean takes long to settle."""

NEWEST: Final = Policy()
NEWEST_FOR_EVER: Final = Policy(deadline=math.inf)
OLDEST: Final = Policy(threshold=math.inf)
ADAPTIVE: Final = Policy(threshold=0.99 * PATIENCE)
CAREFUL: Final = Policy(threshold=0.99 * LEAST)
BLIND: Final = {
    "newest first": NEWEST,
    "newest first, no deadline": NEWEST_FOR_EVER,
    "adaptive, threshold 9.9": ADAPTIVE,
    "adaptive, threshold 3.3": CAREFUL,
    "oldest first": OLDEST,
}
"""Orders that see nothing of patience: one simulation tells what becomes of them by each law."""
BEST: Final = "oldest first, best deadline"
FOR_EVER: Final = "oldest first, no deadline"
KNOWING: Final = {
    name: replace(BLIND[name], deadline=LONGEST, told=True)
    for name in ("newest first", "adaptive, threshold 9.9")
}
DEADLINES: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Parts of the mean patience, of which a team may take one of the last five for it."""
WRONG: Final = -5

Setting = tuple[Policy, float]
Found = tuple[float, float | None]


def best(law: str, load: float) -> Policy:
    """Oldest first with the deadline that serves most."""
    return replace(OLDEST, deadline=round(theory.best_deadline(load, LAWS[law]), 2))


@click.command()
@click.option("--scale", default=1.0, show_default=True, help="How much longer to simulate.")
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
def main(scale: float, processes: int) -> None:
    """Simulate queues under load with the real processor and store in virtual time, and compare
    how much of what arrives starts while its client waits."""
    with (
        recording("goodput", "python -m benchmarks.goodput") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        futures = {
            (policy, load): pool.submit(simulate, policy, load, LENGTHS[load] * scale)
            for load in LENGTHS
            for policy in {*BLIND.values(), *KNOWING.values(), *(best(law, load) for law in LAWS)}
        }
        of_classes = [
            pool.submit(classes.simulate, name, head_start=head_start)
            for name in classes.LOADS
            for head_start in (False, True)
        ]
        ran = {setting: future.result() for setting, future in futures.items()}
        found.results = Results(
            by_load=[outcome for load in LENGTHS for outcome in _outcomes(load, ran)],
            newest_spread=_spread(theory.newest_first),
            oldest_spread=_spread(theory.oldest_first),
            classes=[row for future in of_classes for row in future.result()],
        )


def _spread(share: Callable[[float, Survival, float], float]) -> float:
    """Return the most that a deadline of half to three times the mean patience costs beside the
    best one, where patience is exponential."""
    wanted, some = LAWS["exponential"], [part * PATIENCE for part in DEADLINES]
    shares = [[share(load, wanted, deadline) for deadline in some] for load in LENGTHS]
    return 100 * max(max(row) - min(row[WRONG:]) for row in shares)


def _outcomes(load: float, ran: Mapping[Setting, Steady]) -> Iterator[Outcome]:
    def outcome(order: str, law: str, found: Found, closed: float | None = None) -> Outcome:
        share, ci95 = found
        return Outcome(
            order=order, patience=law, load=load, in_time=share, ci95=ci95, theory=closed
        )

    for law, wanted in LAWS.items():
        for order, policy in {**BLIND, BEST: best(law, load)}.items():
            found = ran[policy, load].in_time(wanted)
            yield outcome(order, law, found, _closed(policy, load, wanted))
        yield outcome(FOR_EVER, law, (theory.oldest_first(load, wanted), None))
    for order, policy in KNOWING.items():
        yield outcome(order, TOLD, ran[policy, load].in_time(np.ones_like))


def _closed(policy: Policy, load: float, wanted: Survival) -> float | None:
    forms = {None: theory.newest_first, math.inf: theory.oldest_first}
    form = forms.get(policy.threshold)
    return form and form(load, wanted, policy.deadline)


if __name__ == "__main__":
    main()
