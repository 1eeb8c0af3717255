"""The largest backlog at any moment, not only at the ends of buckets.

Inside a cell of time the backlog is at most that at its start plus what arrives in it. So only
cells where that reaches the largest backlog known can hold the maximum: these are cut into smaller
cells, until a cell is a moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lifoq_analytics.answers.buckets import LEFT, Buckets, Span
from lifoq_analytics.columns import Array, count, fold, moments

_MOST_EVENTS: Final = 200_000
"""The most events that are looked at one by one."""
_MOST_CELLS: Final = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Peak:
    backlog: int
    at: int | None
    """The first moment of it, in epoch microseconds; None if nothing ever waited."""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Stretches of time of one width, in order, that may hold the maximum."""

    begins: Array
    width: int
    before: Array
    """The backlog at their starts."""
    ends: Array
    """The backlog at their ends."""
    parts: int
    """The number of smaller cells into which each cell is cut next."""

    @property
    def part_width(self) -> int:
        return -(-self.width // self.parts)

    @property
    def are_moments(self) -> bool:
        return self.width == 1 or not len(self.begins)


def cells(buckets: Buckets, span: Span) -> Cells:
    """Return the buckets that may hold the maximum."""
    flows = buckets.flows
    return _candidates(span.begins(), span.size, buckets.backlog, flows["arrivals"], flows[LEFT])


def count_events(tasks: pa.Table, cells: Cells, *, as_of: int) -> pa.Table:
    """``cell``, ``arrivals``, ``left``: what happens in the parts of the cells, where anything
    does."""
    arrivals, left = (
        count(_parts(moments(tasks[name]), cells, as_of)) for name in ("enqueued_at", "left_at")
    )
    cell = np.union1d(arrivals[0], left[0])
    counted = {"cell": cell}
    for name, (keys, number) in (("arrivals", arrivals), (LEFT, left)):
        counted[name] = np.zeros(len(cell), np.int64)
        counted[name][np.searchsorted(cell, keys)] = number
    return pa.table(counted)


def add_events(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, ["cell"])


def narrow(cells: Cells, events: pa.Table) -> Cells:
    """Return the parts of the cells that may hold the maximum."""
    events = events.sort_by("cell")
    cell, arrivals, left = (events[name].to_numpy() for name in ("cell", "arrivals", LEFT))
    whole, part = np.divmod(cell, cells.parts)
    change = np.append(0, np.cumsum(arrivals - left))
    # What changed in the cells before is in ``before`` already.
    ends = cells.before[whole] + change[1:] - change[np.searchsorted(whole, whole)]
    begins = cells.begins[whole] + part * cells.part_width
    return _candidates(begins, cells.part_width, ends, arrivals, left)


def highest(moments: Cells) -> Peak:
    """The peak over cells that are moments."""
    backlog = int(moments.ends.max(initial=0))
    if not backlog:
        return Peak(backlog=0, at=None)
    return Peak(backlog=backlog, at=int(moments.begins[moments.ends.argmax()]))


def _candidates(begins: Array, width: int, ends: Array, arrivals: Array, left: Array) -> Cells:
    before = ends - arrivals + left
    may = (before + arrivals >= ends.max(initial=1)) & (arrivals > 0)
    few = (arrivals + left)[may].sum() <= _MOST_EVENTS
    parts = width if few else min(width, max(2, _MOST_CELLS // int(may.sum())))
    return Cells(begins=begins[may], width=width, before=before[may], ends=ends[may], parts=parts)


def _parts(at: Array, cells: Cells, as_of: int) -> Array:
    """The numbers of the parts that these moments lie in; moments outside the cells have none."""
    at = at[at <= as_of]
    cell = np.searchsorted(cells.begins, at, side="right") - 1
    since = at - cells.begins[cell]
    inside = (cell >= 0) & (since < cells.width)
    return np.asarray(cell[inside] * cells.parts + since[inside] // cells.part_width)
