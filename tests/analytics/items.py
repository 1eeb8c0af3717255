"""Task items and moments for examples. Times are given in seconds after ``BASE``."""

from tests.analytics.exportfiles import Item

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
