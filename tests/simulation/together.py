"""The most that all workers together may have at the downstream, where limits are shared: tasks at
a time, and starts in any span of time; or their units, where they have a weight. It is told once
more, from what task code does. A task counts from when its task code begins until it is back; but
not that of a machine that crashed, or stood still, for longer than its lease: nobody can tell these
from each other."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import Item
from lifoq.items.schema import Attribute, Status
from tests.simulation.history import Violation, Write
from tests.simulation.machine import Machine

EVERYTHING: Final = ""
"""In place of a type: all tasks of the queue."""
LEEWAY: Final = microseconds(0.05)
"""Between a start that is decided and task code that begins lie a claim and its answer."""
LONGEST_SPAN: Final = 60 * MICROSECONDS
GONE_AFTER: Final = 55.0
"""Seconds: the longest pause of a machine, and then the lease of its tasks and of its shares."""
SETTLES: Final = 2.0
"""Seconds by which a lease, as its holder's clock told it, may end late by the true one."""

FULL: Final = "all workers together have as many at the downstream as may be"
MOVED: Final = "a limit's capacity goes on to another worker"
TOGETHER: Final = {FULL, MOVED}


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Task code that runs."""

    machine: Machine
    task_id: str
    weight: int
    pauses: int
    outages: int


class Together:
    def __init__(
        self,
        *,
        now: Callable[[], int],
        caps: Mapping[str, int],
        rates: Mapping[str, float],
        bursts: Mapping[str, float],
        heaviest: Mapping[str, int],
        skew: float,
        smooth: bool,
        tell: Callable[[str], None],
    ) -> None:
        """``caps``: tasks at a time; ``rates``: starts per second; by type, or of all. ``now``: the
        true time. ``bursts``: the tokens of a rate that may be saved, unless a second's worth.
        ``heaviest``: of the types of which units count, the most that a task weighs.
        ``skew``: seconds by which two clocks may differ. ``smooth``: whether nothing goes wrong."""
        self._now = now
        self._caps = caps
        self._rates = rates
        self._bursts = bursts
        self._heaviest = heaviest
        self._skew = skew
        self._tell = tell
        self._inside: dict[str, dict[str, Inside]] = defaultdict(dict)
        self._starts: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """When tasks began, and what they weigh."""
        self._lease_ends: dict[str, int] = {}
        """When the leases of claims that stand are over."""
        self._lapsed: set[str] = set()
        """Claims that outlived their lease."""
        self._last: dict[str, str] = {}
        """The machine that began the latest of a type."""
        self._left: dict[str, int] = {}
        """When task code of a type was last back."""
        self._settled: float = 0 if smooth else math.inf
        """From when on nothing is held any more by who is gone."""

    def check(self, write: Write) -> None:
        """Keep account of leases."""
        if write.was is Status.TAKEN and write.before is not None:
            claim, lease = _lease_of(write.before)
            if lease < self._now():
                self._lapsed.add(claim)
            self._lease_ends.pop(claim, None)
        if write.becomes is Status.TAKEN and write.after is not None:
            claim, lease = _lease_of(write.after)
            self._lease_ends[claim] = lease

    def begins(
        self, machine: Machine, task_type: str, claim: str, task_id: str, sent: int, *, weight: int
    ) -> None:
        """Task code begins; ``sent``: about when its claim was."""
        for limit, number in ((task_type, weight), (EVERYTHING, 1)):
            if limit in self._caps:
                self._enters(limit, machine, claim, task_id, number)
            if limit in self._rates and not self._was_held_up(machine, claim, sent):
                self._starts_one(limit, task_id, number)

    def ends(self, task_type: str, claim: str) -> None:
        for limit in (task_type, EVERYTHING):
            inside = self._inside[limit].pop(claim, None)
            self._left[limit] = self._now()
            if inside is not None and not inside.machine.alive:
                self.pauses()

    def calm(self) -> None:
        """From now on nothing goes wrong."""
        self._settled = min(self._settled, self._now() + microseconds(GONE_AFTER))

    def pauses(self) -> None:
        """A machine stands still, or is gone with what it had; the last time may be in the calm,
        since it was drawn before."""
        self._settled = max(self._settled, self._now() + microseconds(GONE_AFTER))

    def free_since(self, task_type: str) -> float:
        """The last moment at which no task of this type could start anywhere; infinite where that
        cannot be told."""
        limited = self._caps.keys() | self._rates.keys()
        if EVERYTHING in limited or task_type not in limited:
            return math.inf
        since = self._settled
        if task_type in self._caps:
            inside = sum(one.weight for one in self._inside[task_type].values())
            full = inside + self._heaviest.get(task_type, 1) > self._caps[task_type]
            since = max(since, self._now() if full else self._left.get(task_type, 0))
        if task_type in self._rates:
            last, owed = max((at for at, _ in self._starts[task_type]), default=0), 1.0
            if task_type in self._heaviest:
                owed += self._most_owed(task_type)
            since = max(since, last + microseconds(owed / self._rates[task_type]))
        return since

    def _most_owed(self, limit: str) -> float:
        """Return the units that may have begun beyond the rate: a second's worth, or one task."""
        return max(self._rates[limit], self._heaviest[limit]) if limit in self._heaviest else 0.0

    def _enters(self, limit: str, machine: Machine, claim: str, task_id: str, weight: int) -> None:
        inside, most = self._inside[limit], self._caps[limit]
        entry = Inside(
            machine=machine,
            task_id=task_id,
            weight=weight,
            pauses=machine.pauses,
            outages=machine.outages,
        )
        inside[claim] = entry
        counted = {c: i for c, i in inside.items() if self._counts(c, i)}
        number = sum(one.weight for one in counted.values())
        if number > most:
            others = sorted(f"{i.task_id} on {i.machine.name}" for i in counted.values())
            raise Violation(f"began as one too many of {most} of {limit!r}: {others}", task_id)
        if number == most and len({i.machine.name for i in counted.values()}) > 1:
            self._tell(FULL)
        if self._last.get(limit, machine.name) != machine.name:
            self._tell(MOVED)
        self._last[limit] = machine.name

    def _counts(self, claim: str, inside: Inside) -> bool:
        if not inside.machine.alive or claim in self._lapsed:
            return False
        ends = self._lease_ends.get(claim)
        if ends is not None:
            return ends + microseconds(SETTLES) >= self._now()
        # Its attempt is over, but it hangs.
        machine = inside.machine
        return (machine.pauses, machine.outages) == (inside.pauses, inside.outages)

    @staticmethod
    def _was_held_up(machine: Machine, claim: str, sent: int) -> bool:
        """Return True if the task began later than it was meant to."""
        return claim in machine.claim_faults or machine.resumed_at >= sent - LEEWAY

    def _starts_one(self, limit: str, task_id: str, weight: int) -> None:
        now, rate, number = self._now(), self._rates[limit], 0
        burst = self._bursts.get(limit, max(1.0, rate))
        starts = self._starts[limit]
        starts.append((now, weight))
        for since, units in reversed(starts):
            if now - since > LONGEST_SPAN:
                break
            number += units
            span = (now - since + LEEWAY) / MICROSECONDS + self._skew
            if number > rate * span + burst + self._most_owed(limit) + 1e-6:
                raise Violation(
                    f"began as one of {number} of {limit!r} in {span:.2f} s, which may be "
                    f"{rate:g} in a second",
                    task_id,
                )


def _lease_of(item: Item) -> tuple[str, int]:
    """A claim, and when its lease is over; one that is damaged holds nothing."""
    lease = item.get(Attribute.LEASE_EXPIRES)
    return str(item.get(Attribute.CLAIM_ID)), lease if type(lease) is int else 0
