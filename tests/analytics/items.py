"""Task items and moments for examples, and what is judged of them. Times are given in seconds after
``BASE``."""

import json
from typing import Any

import pyarrow as pa

from lifoq.items.change import Item
from lifoq_analytics.judging import tasks
from lifoq_analytics.reading.images import Observed, Origin, observe

SECOND = 1_000_000
BASE = 1_763_600_400 * SECOND
"""On the edge of a minute and of an hour."""


def at(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


def item(task_id: str, status: str, *, kind: str = "mail", **times: float) -> Item:
    """``times``: attributes that hold a time (``enqueuedAt`` 0 and ``expiresAt`` 600 unless
    given), and ``attempts``."""
    attempts = int(times.pop("attempts", 1 if "takenAt" in times or "firstTakenAt" in times else 0))
    times = {"enqueuedAt": 0, "expiresAt": 600, **times}
    return {
        "taskId": task_id,
        "taskStatus": status,
        "taskType": kind,
        "attempts": attempts,
        **{name: at(seconds) for name, seconds in times.items()},
    }


def observed(*lines: Any, full: float | None = None, since: float | None = None) -> Observed:
    """The items that lines of a full export, or of a window's, show. A line that is bytes is as it
    stands."""
    full_at, window_from = (None if one is None else at(one) for one in (full, since))
    texts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    block = b"".join(text + b"\n" for text in texts)
    return observe(block, Origin(file="f", full_at=full_at, window_from=window_from))


def judged(*exports: Observed, as_of: float = 60) -> pa.Table:
    """A row for each task."""
    together = pa.concat_tables([export.observations for export in exports])
    return tasks.judge(tasks.merge(together), as_of=at(as_of))
