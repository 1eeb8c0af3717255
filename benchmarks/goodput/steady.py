"""A queue under a load that goes on and on: one long simulation, cut into stretches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from benchmarks.goodput.queue import PATIENCE, Policy, Queue, Start

STRETCHES: Final = 20
WARM_UP: Final = 0.1
"""Part of the time that is simulated before anything is counted."""
QUANTILE: Final = 2.1
"""Of Student's t at 97.5 %, with the 17 degrees of freedom of 20 stretches and three means."""


@dataclass(kw_only=True)
class Stretch:
    """Tasks are counted where they arrive, starts where they happen."""

    arrivals: int = 0
    offered: float = 0.0
    starts: int = 0
    started: float = 0.0
    in_time: float = 0.0
    """Work, as ``offered`` and ``started``."""
    waits: list[float] = field(default_factory=list)
    """Of starts in time."""


@dataclass(frozen=True, kw_only=True)
class Steady:
    """What happened, stretch by stretch."""

    load: float
    length: float
    stretches: Sequence[Stretch]

    @property
    def shed(self) -> float:
        """Share of the arrivals that never started."""
        return 1 - sum(s.starts for s in self.stretches) / sum(s.arrivals for s in self.stretches)

    def wait(self, part: float) -> float:
        """That this part of those who started in time did not exceed."""
        waits = sorted(chain.from_iterable(s.waits for s in self.stretches))
        return waits[int(part * (len(waits) - 1))]

    def goodput(self) -> tuple[float, float]:
        """The mean, and half the interval that holds the true one in 95 % of all cases. Freed of
        what a line through the stretches explains by two things whose true means are known: how
        much work happened to arrive, and how long the started tasks happened to take."""
        values = np.array([s.in_time for s in self.stretches]) / self.length
        offered = [s.offered / self.length - self.load for s in self.stretches]
        services = [s.started / max(1, s.starts) - 1 for s in self.stretches]
        design = np.column_stack([np.ones(len(values)), offered, services])
        found, *_ = np.linalg.lstsq(design, values)
        rest = values - design @ found
        variance = rest @ rest / (len(values) - 3) * np.linalg.inv(design.T @ design)[0, 0]
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
        here.starts += 1
        here.started += start.service
        if start.wait <= PATIENCE:
            here.in_time += start.service
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


def lost(load: float, length: float, seed: int, policy: Policy) -> float:
    """Goodput of a queue over its first ``length``, begun empty."""
    in_time: list[float] = []
    queue = Queue(policy, lambda s: in_time.append(s.service if s.wait <= PATIENCE else 0.0))
    queue.load(load, length, f"{seed}", queue.put)
    queue.run(length)
    return sum(in_time) / length
