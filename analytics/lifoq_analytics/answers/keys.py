"""The keys that the tasks were for: the busiest ones, and how evenly they waited.

A report tells of keys where they are few, as customers are; devices by the million it does not.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lifoq_analytics.columns import NEVER, column, fold, moments
from lifoq_analytics.judging.tasks import Outcome, is_at, outcomes
from lifoq_analytics.times import MICROS

MOST: Final = 1_000
"""Different keys, from which on a report tells of none."""
LONGEST: Final = 10

_TOO_MANY: Final = ""
"""Stands for all keys together, where they are more; no task has it."""
_SCHEMA: Final = pa.schema(
    [
        ("key", pa.string()),
        ("tasks", pa.int64()),
        ("shed", pa.int64()),
        ("claims", pa.int64()),
        ("waited", pa.int64()),
        ("max_wait", pa.int64()),
    ]
)
"""Times in microseconds."""

ByKey = dict[str, Any]


def count(tasks: pa.Table) -> pa.Table:
    """A row for each key."""
    keyed = tasks.filter(tasks["task_key"].is_valid())
    wait = moments(keyed["wait_us"])
    claimed = wait != NEVER
    each = {
        "key": keyed["task_key"].cast(pa.string()),
        "tasks": np.ones(keyed.num_rows, np.int64),
        "shed": is_at(outcomes(keyed), Outcome.SHED).astype(np.int64),
        "claims": claimed.astype(np.int64),
        "waited": np.where(claimed, wait, 0),
        "max_wait": column(wait),
    }
    return add([pa.table(each).cast(_SCHEMA)])


def add(tables: Sequence[pa.Table]) -> pa.Table:
    counted = fold(tables, ["key"])
    if counted.num_rows <= MOST:
        return counted
    return counted.slice(0, 1).set_column(0, "key", pa.array([_TOO_MANY]))


def build(counted: pa.Table) -> ByKey | None:
    """``by_key`` of ``summary.json``; None where no task has a key, or they are too many."""
    rows = counted.to_pylist()
    if not rows or any(row["key"] == _TOO_MANY for row in rows):
        return None
    keys = [
        {
            "key": row["key"],
            "tasks": row["tasks"],
            "shed": row["shed"],
            "mean_wait_seconds": row["waited"] / row["claims"] / MICROS if row["claims"] else None,
            "max_wait_seconds": row["max_wait"] / MICROS if row["claims"] else None,
        }
        for row in rows
    ]
    waits = sorted(key["mean_wait_seconds"] for key in keys if key["mean_wait_seconds"] is not None)
    return {
        "keys": len(keys),
        "most_tasks": _most(keys, "tasks"),
        "most_shed": _most([key for key in keys if key["shed"]], "shed"),
        "longest_waits": _most(
            [key for key in keys if key["mean_wait_seconds"] is not None], "mean_wait_seconds"
        ),
        "mean_wait_seconds": {
            "min": waits[0] if waits else None,
            "median": waits[(len(waits) - 1) // 2] if waits else None,
            "max": waits[-1] if waits else None,
        },
    }


def _most(keys: Sequence[ByKey], by: str) -> list[ByKey]:
    return sorted(keys, key=lambda key: (-key[by], key["key"]))[:LONGEST]
