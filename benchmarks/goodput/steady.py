"""A queue under a load that goes on and on: one long simulation, cut into stretches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from benchmarks.goodput.queue import Policy, Queue, Start
from benchmarks.goodput.theory import Survival

STRETCHES: Final = 20
WARM_UP: Final = 0.1
"""Part of the time that is simulated before anything is counted."""
QUANTILE: Final = 2.12
"""The quantile of Student's t at 97.5 %, with the 16 degrees of freedom of 20 stretches and four
means."""


@dataclass(kw_only=True)
class Stretch:
    """Tasks are counted where they arrive, starts where they happen."""

    arrivals: int = 0
    offered: float = 0.0
    """Work."""
    started: float = 0.0
    waits: list[float] = field(default_factory=list)
    """The wait of each task that started."""


@dataclass(frozen=True, kw_only=True)
class Steady:
    """The outcomes, stretch by stretch."""

    load: float
    length: float
    stretches: Sequence[Stretch]

    def in_time(self, wanted: Survival) -> tuple[float, float]:
        """The share of the arrivals that started while they were wanted, and half the interval that
        holds the true one in 95 % of all cases. Freed of what a line through the stretches explains
        by things whose true means are known: how many tasks happened to arrive, how much work they
        were, and by how much the started ones happened to take longer than the mean."""
        expected = self.length * self.load
        values = np.array([wanted(np.array(s.waits)).sum() for s in self.stretches]) / expected
        known = [
            (s.arrivals - expected, s.offered - expected, s.started - len(s.waits))
            for s in self.stretches
        ]
        design = np.column_stack([np.ones(len(values)), np.array(known) / expected])
        found, *_ = np.linalg.lstsq(design, values)
        rest = values - design @ found
        variance = rest @ rest / (len(values) - 4) * np.linalg.inv(design.T @ design)[0, 0]
        return float(found[0]), float(QUANTILE * np.sqrt(variance))


def simulate(policy: Policy, load: float, length: float) -> Steady:
    """``length`` of the time that is counted."""
    begins, one = length * WARM_UP, length / STRETCHES
    stretches = [Stretch() for _ in range(STRETCHES)]

    def stretch() -> Stretch:
        place = int((queue.now - begins) // one)
        return stretches[place] if 0 <= place < STRETCHES else Stretch()

    def started(start: Start) -> None:
        here = stretch()
        here.started += start.service
        here.waits.append(start.wait)

    def arrive(service: float) -> None:
        here = stretch()
        here.arrivals += 1
        here.offered += service
        queue.put(service)

    queue = Queue(policy, started)
    queue.load(load, begins + length, f"{load:.3f}", arrive)
    queue.run(begins + length)
    return Steady(load=load, length=one, stretches=stretches)
