"""Fair shares, told once more: how long each key's tasks held slots of one worker, by what it sent
and what was answered. Judged only where there is no doubt."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from lifoq.basics.host import MICROSECONDS
from tests.simulation.keys import KEYS

MEMORY: Final = 30.0
"""Seconds after which what was used counts for a third."""
CLEARLY: Final = 2.0
"""Factor above or below the share that leaves no doubt."""
MOST_TENANTS: Final = len(set(KEYS)) + 1
"""Number of keys, and one tenant more: it may wait where the worker has not read yet."""

JUDGED: Final = "a key below its share is served before one beyond it"

Key = str | None


class Used:
    def __init__(self) -> None:
        self._spans: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        self._open: dict[str, tuple[Key, int]] = {}

    def begins(self, claim: str, key: Key, now: int) -> None:
        self._open[claim] = key, now

    def renames(self, claim: str, other: str) -> None:
        if claim in self._open:
            self._open[other] = self._open.pop(claim)

    def ends(self, claim: str, now: int) -> None:
        if claim in self._open:
            key, since = self._open.pop(claim)
            self._spans[key].append((since, now))

    def end_all(self, now: int) -> None:
        for claim in list(self._open):
            self.ends(claim, now)

    def now(self, now: int) -> Mapping[Key, float] | None:
        """Seconds of each key; None while any holds a slot."""
        if self._open:
            return None

        def left(moment: int) -> float:
            return MEMORY * math.exp(-(now - moment) / MICROSECONDS / MEMORY)

        return {
            key: sum(left(ended) - left(since) for since, ended in spans)
            for key, spans in self._spans.items()
        }


def clearly_first(used: Mapping[Key, float], key: Key, other: Key) -> bool:
    """Return True if a task of the key must come before one of the other, however many tenants
    there are: the one is far below its share, the other far beyond it."""
    total = sum(used.values())
    fewest = len({*used, key})
    below = used.get(key, 0.0) * CLEARLY < total / MOST_TENANTS
    return below and used.get(other, 0.0) > CLEARLY * total / fewest
