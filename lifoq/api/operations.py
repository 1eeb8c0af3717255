"""The operations that the HTTP API has."""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["put", "read", "operate"]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of the HTTP API."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    kind: Kind
    """The people who may call it: producers, readers or operators, as the grants of a queue tell
    them apart."""
    summary: str


OPERATIONS: Final = (
    Operation(
        name="putTask", method="POST", path="/tasks", kind="put", summary="Put a task: the newest"
    ),
    Operation(
        name="putTasks",
        method="POST",
        path="/tasks/batch",
        kind="put",
        summary="Put up to 100 tasks, the last of them the newest",
    ),
    Operation(
        name="getTask",
        method="GET",
        path="/tasks/{id}",
        kind="read",
        summary="A task, or a wait of at most 20 s for its end",
    ),
    Operation(
        name="listTasks",
        method="GET",
        path="/tasks",
        kind="read",
        summary="Tasks of a status, newest first, page by page",
    ),
    Operation(
        name="cancelTask",
        method="POST",
        path="/tasks/{id}/cancel",
        kind="operate",
        summary="Withdraw a task that waits, or have one stop that runs",
    ),
    Operation(
        name="redriveTask",
        method="POST",
        path="/tasks/{id}/redrive",
        kind="operate",
        summary="Bring a failed task back, as the newest",
    ),
    Operation(
        name="getStats",
        method="GET",
        path="/stats",
        kind="read",
        summary="Counts by status, and how long tasks wait",
    ),
)
