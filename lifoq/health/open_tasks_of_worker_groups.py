"""The open tasks of some task types: those of a group of long workers."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.health.statistics import CAP
from lifoq.items.change import AtMost, Not, OneOf
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.store.reads import Reads
from lifoq.store.table_protocol import Span

DIMENSION: Final = "workers"
"""The dimension that tells the metrics of one group from another's, beside the queue's own."""


def encode(groups: Mapping[str, Collection[str]]) -> str:
    """Return the task types by the name of their group, as JSON."""
    return json.dumps({name: sorted(types) for name, types in groups.items()})


def decode(text: str) -> dict[str, frozenset[str]]:
    """Return the task types of each group of workers, of the text that the deployment wrote."""
    return {name: frozenset(types) for name, types in json.loads(text).items()}


@dataclass(frozen=True, kw_only=True)
class OpenTasks:
    """The open tasks of a group of workers, by which their number is scaled."""

    number: int
    """Tasks that could be claimed, or that a worker holds. Counting stops at a cap."""
    oldest_waiting_seconds: float
    """The age of the oldest task that waits, in seconds; 0 where none waits."""


def measure(store: Reads, types: frozenset[str], *, cap: int = CAP) -> OpenTasks:
    """Count the open tasks of these types, past tasks of other types: ``cap`` of them, from either
    end of the line."""
    now = store.now()
    own = (OneOf(Attribute.TASK_TYPE, types),)
    waiting = Span(
        index=STATUS_CREATED_INDEX,
        status=Status.PENDING,
        first=store.lifetimes.oldest_alive(now),
        where=(Not(AtMost(Attribute.EXPIRES_AT, now)), *own),
    )
    taken = Span(index=STATUS_CREATED_INDEX, status=Status.TAKEN, where=own)
    oldest = store.waits_since(newest=False, where=own, cap=cap, reach=cap)
    number = store.table.count(waiting, cap=cap).value
    if oldest is not None:
        number = max(1, number)  # perhaps too many others are newer
    return OpenTasks(
        number=number + store.table.count(taken, cap=cap).value,
        oldest_waiting_seconds=0.0 if oldest is None else max(0, now - oldest) / MICROSECONDS,
    )
