"""Who arrives when, and how much work each brings; times in mean service times."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.goodput.theory import Service


@dataclass(frozen=True, kw_only=True)
class Arrival:
    moment: float
    service: float


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A stretch of time with Poisson arrivals at one rate."""

    length: float
    rate: float


def arrivals(phases: Iterator[Phase], service: Service, draw: random.Random) -> Iterator[Arrival]:
    """Poisson arrivals, phase after phase. The same draw makes the same arrivals, whatever becomes
    of them: policies are compared on the same load."""
    begins = 0.0
    work = service_times(service, draw)
    for phase in phases:
        ends = begins + phase.length
        moment = begins + draw.expovariate(phase.rate)
        while moment < ends:
            yield Arrival(moment=moment, service=work())
            moment += draw.expovariate(phase.rate)
        begins = ends


def service_times(service: Service, draw: random.Random) -> Callable[[], float]:
    """Draws service times with mean 1."""
    if service is Service.CONSTANT:
        return lambda: 1.0
    return lambda: draw.expovariate(1)
