"""A queue under a load that goes on and on: one long simulation, cut into stretches."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat

from benchmarks.goodput.estimate import Control, Estimate, controlled_mean
from benchmarks.goodput.load import Arrival, Phase, arrivals
from benchmarks.goodput.policies import PATIENCE, Policy
from benchmarks.goodput.system import WINDOW, Started, System
from benchmarks.goodput.theory import Service

STRETCHES = 20
WARM_UP = 0.1
"""Part of the time that is simulated before anything is counted."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Times in mean service times; rates per mean service time, of all servers together."""

    policy: Policy
    service: Service
    phases: tuple[Phase, ...]
    """Over and over again."""
    length: float
    """Of the time that is counted; a multiple of all phases together times ``STRETCHES``."""
    slots: int = 1
    patience: float = PATIENCE
    window: float = WINDOW

    @property
    def load(self) -> float:
        """ρ: work that arrives per time and server."""
        time = sum(phase.length for phase in self.phases)
        return sum(phase.length * phase.rate for phase in self.phases) / time / self.slots


@dataclass(kw_only=True)
class Stretch:
    """Tasks are counted where they arrive, starts where they happen."""

    arrivals: int = 0
    offered_work: float = 0.0
    starts: int = 0
    started_work: float = 0.0
    in_time_work: float = 0.0
    waits: list[float] = field(default_factory=list)
    """Of starts in time."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    setting: Setting
    stretches: Sequence[Stretch]

    @property
    def goodput(self) -> Estimate:
        """Share of the servers' time that goes into tasks which started in time."""
        return self._estimate(self.goodputs)

    @property
    def goodputs(self) -> list[float]:
        return [stretch.in_time_work / self._capacity for stretch in self.stretches]

    def better_by(self, other: "Outcome") -> Estimate:
        """This goodput less another under the same load."""
        pairs = zip(self.goodputs, other.goodputs, strict=True)
        return self._estimate([ours - theirs for ours, theirs in pairs])

    @property
    def shed_share(self) -> float:
        """Of the arrivals: never started; where the queue has no bound, not yet."""
        return 1 - self._sum(lambda s: s.starts) / self._sum(lambda s: s.arrivals)

    def wait(self, part: float) -> float | None:
        """The wait that this part of those who started in time did not exceed."""
        waits = sorted(chain.from_iterable(stretch.waits for stretch in self.stretches))
        return waits[int(part * (len(waits) - 1))] if waits else None

    @property
    def _capacity(self) -> float:
        return self.setting.length / STRETCHES * self.setting.slots

    def _estimate(self, values: Sequence[float]) -> Estimate:
        offered = [stretch.offered_work / self._capacity for stretch in self.stretches]
        services = [stretch.started_work / max(1, stretch.starts) for stretch in self.stretches]
        return controlled_mean(
            values,
            (
                Control(values=offered, expected=self.setting.load),
                Control(values=services, expected=1.0),
            ),
        )

    def _sum(self, of: Callable[[Stretch], float]) -> float:
        return sum(map(of, self.stretches))


def simulate(setting: Setting) -> Outcome:
    begins = setting.length * WARM_UP
    stretches = [Stretch() for _ in range(STRETCHES)]

    def stretch_at(moment: float) -> Stretch:
        place = int((moment - begins) / setting.length * STRETCHES) if moment >= begins else -1
        return stretches[place] if 0 <= place < STRETCHES else Stretch()

    def started(start: Started) -> None:
        stretch = stretch_at(start.started)
        stretch.starts += 1
        stretch.started_work += start.service
        if start.wait <= setting.patience:
            stretch.in_time_work += start.service
            stretch.waits.append(start.wait)

    system = System(setting.policy, on_start=started, slots=setting.slots, window=setting.window)

    def arrive(arrival: Arrival) -> None:
        stretch = stretch_at(arrival.moment)
        stretch.arrivals += 1
        stretch.offered_work += arrival.service
        system.offer(arrival.service)

    phases = chain.from_iterable(repeat(setting.phases))
    draw = random.Random(f"{setting.service} {setting.load:.3f}")  # the same for all policies
    system.feed(arrivals(phases, setting.service, draw), arrive)
    system.run(begins + setting.length)
    return Outcome(setting=setting, stretches=stretches)
