"""The gate of fair shares: a key that has had more than its fair share of the slots starts nothing
before it is known that no other key waits. After that the order puts it behind the others.

Each key is a tenant. A tenant's use is the time for which its tasks held slots of this process; the
longer ago, the less it counts. All tenants have the same share: the sum of all use, divided by
their number. A tenant below its share is served in the queue's order. A tenant beyond it comes
after those, and the further beyond, the later. So the others have what one tenant leaves of its
share, and a tenant that floods the queue does not delay those that do not.

All tasks without a key are one tenant together, so leaving the key out gains nothing. A fresh key
for each task makes each task a tenant that has used nothing yet.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate, HowItLeft
from lifoq.worker.gates.gate_inputs import RunSetup

MEMORY: Final = 30.0
"""Seconds after which what was used counts for a third (1/e)."""
FORGOTTEN: Final = 0.001
"""Seconds of use that are as good as none."""
FIRST_GUESS: Final = 1.0
"""Seconds for which a task is taken to hold its slot, before any task has ended."""
LEARNS: Final = 0.1
"""Weight of each task's own time in that estimate from then on (a moving average)."""

Key = str | None


@dataclass(kw_only=True)
class _Tenant:
    used: float = 0.0
    """Slot seconds up to the moment ``at``, faded by MEMORY."""
    at: int
    inside: int = 0

    def pass_time(self, now: int) -> None:
        seconds = max(0.0, (now - self.at) / MICROSECONDS)
        kept = math.exp(-seconds / MEMORY)
        self.used = self.used * kept + self.inside * MEMORY * (1 - kept)
        self.at = now


class FairShares:
    """Counts each key's use of this process's slots, over all of its runs. All times are monotonic
    microseconds. Used by the thread of the run only."""

    def __init__(self) -> None:
        self._tenants: dict[Key, _Tenant] = {}
        self._typical = FIRST_GUESS

    def begin_run(self, now: int) -> None:
        """Begin a run with no task in a slot. The run before has gone: if it left tasks at work,
        nobody will tell when they end."""
        for tenant in self._tenants.values():
            tenant.pass_time(now)
            tenant.inside = 0

    def begins(self, key: Key, now: int) -> None:
        """Note that a task of the key takes a slot."""
        self._of(key, now).inside += 1

    def ends(self, key: Key, now: int, *, seconds: float | None) -> None:
        """Note that a task of the key has left its slot after ``seconds``; None if it was not
        started."""
        self._of(key, now).inside -= 1
        if seconds is not None:
            self._typical += LEARNS * (seconds - self._typical)

    def excess(
        self, waiting: Collection[Key], now: int, *, unread: bool = False
    ) -> dict[Key, float]:
        """Return the tenants beyond their share, and by how many slot seconds. ``waiting`` are the
        keys with rows in the backlog. A task in a slot counts at once for the time that tasks hold
        one on average. ``unread`` adds a tenant: one may wait in the part of the backlog that was
        not read."""
        for key, tenant in list(self._tenants.items()):
            tenant.pass_time(now)
            if not tenant.inside and tenant.used < FORGOTTEN:
                del self._tenants[key]
        used = {key: t.used + t.inside * self._typical for key, t in self._tenants.items()}
        share = sum(used.values()) / max(1, len({*used, *waiting}) + unread)
        return {key: mine - share for key, mine in used.items() if mine > share}

    def _of(self, key: Key, now: int) -> _Tenant:
        tenant = self._tenants.setdefault(key, _Tenant(at=now))
        tenant.pass_time(now)
        return tenant


class FairShare(Gate):
    """Counts for one run, and judges by the shares of the process."""

    def __init__(self, shares: FairShares, host: Host) -> None:
        self._shares = shares
        self._host = host
        self.excess: Mapping[Key, float] = {}
        """The keys beyond their share, and by how many slot seconds, at the latest look."""
        self._may_overlook = False
        shares.begin_run(host.monotonic())

    def look(
        self, waiting: Collection[Key], now: int, *, unread: bool, has_read_behind: bool
    ) -> None:
        """Judge anew, before the next task is chosen. ``unread``: a part of the backlog was not
        read. ``has_read_behind``: this poll has read behind the first page, so that a task of
        another key would have been seen there."""
        self.excess = self._shares.excess(waiting, now, unread=unread)
        self._may_overlook = unread and not has_read_behind

    def wait(self, row: Candidate, now: int) -> float:
        return math.inf if self._may_overlook and row.key in self.excess else 0.0

    def why(self, row: Candidate, now: int) -> str:
        whose = f"its key {row.key or '(none)'} has had more than its fair share of the slots"
        return f"{whose}, and the worker first reads on for other keys"

    def enter(self, row: Candidate, now: int) -> Key:
        self._shares.begins(row.key, now)
        return row.key

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        self._shares.ends(receipt, self._host.monotonic(), seconds=None)

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        self._shares.ends(receipt, self._host.monotonic(), seconds=left.seconds)


def make(setup: RunSetup, _kind: None) -> FairShare:
    """Make the gate of a run."""
    shares = setup.process.from_run_to_run.setdefault("fair_share", FairShares())
    return FairShare(shares, setup.process.host)
