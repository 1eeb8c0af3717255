"""The reasons why tasks wait, as a run tells them in its process's note (``health.worker_notes``).

They are asked for when the note is written, a few times a minute: no task costs anything more. Of
each scheduling class the first row is asked, and the first rows of some of its keys.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Final

from lifoq.health.worker_notes import MOST_HOLDS, Hold, cut
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import About, Gate
from lifoq.worker.gates.gates import RunGates

KEYS_ASKED: Final = 3
"""Keys of a scheduling class that are asked. What keeps a key busy, its slots tell of each key."""

Heads = Iterable[tuple[Candidate, Iterator[Candidate]]]
"""The first row of each scheduling class, and the first row of each of its keys."""
Whom = tuple[str, str, str | None]
"""A gate's name, with the task type and the key that it holds back."""


class HeldBack:
    """Remembers from one note to the next which gates were closed, so that each reason has its
    beginning. Used by the thread of the run only."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """``clock``: the queue's time, in epoch microseconds."""
        self._clock = clock
        self._since: dict[Whom, int] = {}
        """When each gate was first seen closed, of those that were closed at the last look."""

    def look(self, gates: RunGates, heads: Heads, now: int, *, ended: bool) -> tuple[Hold, ...]:
        """Return what holds tasks back. ``now`` in monotonic microseconds. ``ended``: True if the
        run is over, which then is no reason that lasts."""
        found: dict[Whom, str] = {}
        for row in (None, *_first_rows(heads)):
            for gate, says in gates.closed(row, now):
                if gate.about is not About.TASK and not (ended and gate.name == "run_over"):
                    found.setdefault(_whom(gate, row), cut(says))
            if len(found) >= MOST_HOLDS:
                break
        at = self._clock()
        self._since = {whom: self._since.get(whom, at) for whom in islice(found, MOST_HOLDS)}
        return tuple(
            Hold(gate=name, task_type=task_type, key=key, says=found[name, task_type, key], since=s)
            for (name, task_type, key), s in self._since.items()
        )


def _first_rows(heads: Heads) -> Iterator[Candidate]:
    """Yield the first row of each class, then those of some keys of each."""
    some = [(first, list(islice(keys, KEYS_ASKED))) for first, keys in islice(heads, MOST_HOLDS)]
    yield from (first for first, _ in some)
    yield from chain.from_iterable(keys for _, keys in some)


def _whom(gate: Gate, row: Candidate | None) -> Whom:
    if row is None or gate.about is About.WORKER:
        return gate.name, "", None
    key = row.key if gate.about is About.KEY else None
    return gate.name, cut(row.task_type), None if key is None else cut(key)
