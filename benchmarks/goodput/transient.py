"""Oldest first, nothing ever dropped, above saturation: begun empty, and soon lost."""

import random
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from benchmarks.goodput import theory
from benchmarks.goodput.estimate import mean
from benchmarks.goodput.load import Arrival, Phase, arrivals
from benchmarks.goodput.policies import FIFO_UNBOUNDED, PATIENCE
from benchmarks.goodput.system import Started, System
from benchmarks.goodput.theory import Service


@dataclass(frozen=True, kw_only=True)
class Horizon:
    """Times in mean service times."""

    service: Service
    load: float
    length: float
    seeds: range

    def row(self) -> dict[str, Any]:
        arrived = self.load * self.length
        found = mean([self._in_time(seed) / arrived for seed in self.seeds])
        exact = theory.fifo_in_time_at_all(self.load, PATIENCE, self.service) / self.length
        return {
            "service": self.service.value,
            "load": self.load,
            "horizon_services": self.length,
            "runs": len(self.seeds),
            "in_time_share_of_arrivals": found.value,
            "ci95": found.half_width,
            "theory": exact,
            "theory_even_flow": theory.fifo_in_time_fluid(self.load, PATIENCE, self.length),
            "goodput_share_of_capacity": self.load * found.value,
        }

    def _in_time(self, seed: int) -> int:
        waits: list[float] = []

        def started(start: Started) -> None:
            waits.append(start.wait)

        def arrive(arrival: Arrival) -> None:
            system.offer(arrival.service)

        system = System(FIFO_UNBOUNDED, on_start=started)
        phases = repeat(Phase(length=self.length, rate=self.load), 1)
        system.feed(arrivals(phases, self.service, random.Random(seed)), arrive)
        system.run(self.length)
        return sum(wait <= PATIENCE for wait in waits)
