"""The queues that are compared: all of them lifoq's own processor and store, set up differently."""

import math
from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 10.0
"""Mean service times within which a task must start to be of use to its client."""
ALMOST: Final = 0.99
"""The part of the patience after which the adaptive order turns to the newest."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Times in mean service times."""

    name: str
    threshold: float | None
    """Of the adaptive order. None: newest first, always; inf: oldest first, always."""
    deadline: float = math.inf
    """After which the queue drops what waits."""
    room: int | None = None
    """Of those that wait; further puts are refused. None: for all."""

    @property
    def deadline_or_none(self) -> float | None:
        """For JSON, which has no infinity."""
        return None if math.isinf(self.deadline) else self.deadline


LIFO: Final = Policy(name="lifo", threshold=None, deadline=PATIENCE)
ADAPTIVE: Final = Policy(name="adaptive", threshold=ALMOST * PATIENCE, deadline=PATIENCE)
LIFO_UNBOUNDED: Final = Policy(name="lifo, no deadline", threshold=None)
FIFO_DEADLINE: Final = Policy(name="fifo, deadline", threshold=math.inf, deadline=PATIENCE)
FIFO_BOUNDED: Final = Policy(name="fifo, bounded", threshold=math.inf, room=int(PATIENCE))
FIFO_UNBOUNDED: Final = Policy(name="fifo, no deadline", threshold=math.inf)
