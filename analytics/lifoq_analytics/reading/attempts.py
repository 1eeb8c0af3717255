"""Past attempts, of the items' histories: how they ended, and why.

Of a task that was redriven, ``attempts`` is counted anew and ``error`` is the last one; its history
keeps what was before.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lifoq.items.attempt_history import Ended
from lifoq_analytics.columns import fold

LONGEST: Final = 10

_TEXT: Final = pa.struct([("S", pa.string())])
HISTORY: Final = pa.list_(pa.struct([("M", pa.struct([("how", _TEXT), ("type", _TEXT)]))]))
"""The type of ``history`` in DynamoDB's JSON."""
PAST_ATTEMPTS: Final = pa.list_(pa.struct([("how", pa.string()), ("type", pa.string())]))
"""``type`` is the error's; null where there was none."""

_WAYS: Final = pa.array([way.value for way in Ended])
_BY: Final = ["task_type", "how", "reason"]


def past_attempts(histories: pa.ChunkedArray) -> pa.Array:
    """Return each task's past attempts; null where it has none. An entry that is not lifoq's counts
    as none."""
    task, entries = _flattened(histories)
    how, kind = (pc.struct_field(entries, ["M", name, "S"]) for name in ("how", "type"))
    known = pc.is_in(how, _WAYS)
    lengths = np.bincount(task[known.to_numpy(zero_copy_only=False)], minlength=len(histories))
    offsets = pa.array(
        np.append(0, np.cumsum(lengths)), pa.int32(), mask=np.append(lengths == 0, [False])
    )
    found = pa.StructArray.from_arrays([how.filter(known), kind.filter(known)], ["how", "type"])
    return pa.ListArray.from_arrays(offsets, found)


def count(tasks: pa.Table) -> pa.Table:
    """``task_type``, ``how``, ``reason``, ``attempts``; ``tasks`` counts each task once, in the row
    of its first attempt."""
    task, entries = _flattened(tasks["past_attempts"])
    each = {
        "task_type": tasks["task_type"].cast(pa.string()).take(pa.array(task)),
        "how": pc.struct_field(entries, "how"),
        "reason": pc.struct_field(entries, "type").fill_null("(none)"),
        "attempts": np.ones(len(task), np.int64),
        "tasks": (np.diff(task, prepend=-1) > 0).astype(np.int64),
    }
    return add([pa.table(each)])


def add(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, _BY)


def build(counted: pa.Table) -> dict[str, Any]:
    """``past_attempts`` of ``summary.json``."""
    order = [("attempts", "descending"), *((name, "ascending") for name in _BY)]
    commonest = counted.select([*_BY, "attempts"]).sort_by(order).slice(0, LONGEST)
    return {
        "tasks": pc.sum(counted["tasks"], min_count=0).as_py(),
        "attempts": pc.sum(counted["attempts"], min_count=0).as_py(),
        "by_reason": commonest.to_pylist(),
    }


def _flattened(lists: pa.ChunkedArray) -> tuple[np.ndarray[Any, Any], pa.Array]:
    """The entries of all lists, and the row that each is from."""
    whole = lists.combine_chunks()
    lengths = pc.list_value_length(whole).fill_null(0).to_numpy()
    return np.repeat(np.arange(len(lengths)), lengths), pc.list_flatten(whole)
