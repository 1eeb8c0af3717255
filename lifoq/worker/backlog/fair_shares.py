"""Who has had more than its share of the slots, where they are shared out evenly among keys.

Each key is a tenant. What it has used is the time for which its tasks held slots of this process,
the longer ago the less it counts. Its share is what it would have if all had the same of that.
Who stays below it waits for nobody but those that are newer; who is beyond it comes after them, the
further the later. So what one key leaves of its share the others have, and no key that floods the
queue delays those that do not.

All tasks without a key are one tenant together, so nothing is gained by forgetting it. A fresh key
for each task is a tenant for each that has used nothing yet.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from lifoq.basics.host import MICROSECONDS

MEMORY: Final = 30.0
"""Seconds after which what was used counts for a third (1/e)."""
FORGOTTEN: Final = 0.001
"""Seconds of use that are as good as none."""
FIRST_GUESS: Final = 1.0
"""Seconds for which a task holds its slot, before any has told."""
LEARNS: Final = 0.1
"""The part of each end in that guess from then on."""

Key = str | None


@dataclass(kw_only=True)
class _Tenant:
    used: float = 0.0
    """Slot seconds, as of ``at``."""
    at: int
    inside: int = 0

    def pass_time(self, now: int) -> None:
        seconds = max(0.0, (now - self.at) / MICROSECONDS)
        kept = math.exp(-seconds / MEMORY)
        self.used = self.used * kept + self.inside * MEMORY * (1 - kept)
        self.at = now


class FairShares:
    """What each key has had of one process, over all runs. All times are monotonic microseconds."""

    def __init__(self) -> None:
        self._tenants: dict[Key, _Tenant] = {}
        self._typical = FIRST_GUESS

    def begin_run(self, now: int) -> None:
        """What an earlier run still holds, nobody will tell of any more."""
        for tenant in self._tenants.values():
            tenant.pass_time(now)
            tenant.inside = 0

    def begins(self, key: Key, now: int) -> None:
        """A task takes a slot."""
        self._of(key, now).inside += 1

    def ends(self, key: Key, now: int, *, seconds: float | None) -> None:
        """It has left it, after so long; None: it was not started."""
        self._of(key, now).inside -= 1
        if seconds is not None:
            self._typical += LEARNS * (seconds - self._typical)

    def excess(
        self, waiting: Collection[Key], now: int, *, unread: bool = False
    ) -> dict[Key, float]:
        """The tenants that are beyond their share, and by how much. A task that holds a slot counts
        as if it had done so for as long as others do. ``unread``: another tenant may wait where
        nobody has looked yet."""
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
