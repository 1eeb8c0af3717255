"""The errors that lifoq raises. All share one root, and carry their data as attributes. What tells
more of a task or of a run stands beside that: ``items.task_error``, ``worker.report``."""

from datetime import timedelta


class LifoqError(Exception):
    """The root: ``except LifoqError`` catches whatever the queue has to say."""


class InvalidInput(LifoqError, ValueError):
    """The caller's input was refused at the door; nothing was written."""

    def __init__(self, field: str, value: object, problem: str) -> None:
        self.field = field
        self.value = value
        self.problem = problem
        super().__init__(f"{field}={_shorten(value)}: {problem}")


class QueueMisconfigured(LifoqError):
    """The table, its indexes, the region or the permissions are not what a queue needs."""


class BadEnvironment(QueueMisconfigured):
    """An environment variable that the deployment sets is missing, or makes no sense."""

    def __init__(self, variable: str, value: str | None, problem: str) -> None:
        self.variable = variable
        self.value = value
        shown = "" if value is None else f"={_shorten(value)}"
        super().__init__(
            f"environment variable {variable}{shown}: {problem}; the deployment sets it: deploy "
            "the queue anew, or set it by hand"
        )


class StoreUnavailable(LifoqError):
    """The database did not confirm a call. Whether it was applied is unknown;
    to repeat the same call is safe."""


class TaskNotFound(LifoqError):
    """There is no such task: it was never put, was shed, or its retention is over."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"task {task_id!r} is not in the queue: it was never put, was shed, "
            "or its retention is over"
        )


class WrongStatus(LifoqError):
    """The task has moved on, so that this operation no longer applies to it."""

    def __init__(self, task_id: str, status: str, needed: str) -> None:
        self.task_id = task_id
        self.status = status
        super().__init__(f"task {task_id!r} is {status}, but this needs it to be {needed}")


class NotClaimed(LifoqError):
    """Somebody else has claimed the task, or it has expired, since the index showed it."""


class KeyBusy(NotClaimed):
    """Raised when as many tasks of this type and key are TAKEN as may be at a time; the task keeps
    its place."""

    def __init__(self, task_type: str, key: str, per_key: int) -> None:
        self.task_type = task_type
        self.key = key
        super().__init__(
            f"of task type {task_type!r} and key {key!r}, {per_key} are taken, as many as may be"
        )


class LeaseLost(LifoqError):
    """The claim is no longer valid: the lease ran out, and the task went on without this worker.
    Whatever this worker still reports about it is refused."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"the lease on task {task_id!r} was lost: stop working on it, its result is refused"
        )


class Cancelled(LifoqError):
    """Raised to task code, by ``heartbeat`` and ``checkpoint``: somebody has cancelled the task.
    Clean up, and let it pass: the task ends as CANCELLED, whatever else the handler raises."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"task {task_id!r} was cancelled while it ran: stop working on it")


class BlocksOthers(LifoqError):
    """An async handler has called what is for other handlers."""

    def __init__(self) -> None:
        super().__init__(
            "heartbeat() and checkpoint() wait for the database, and all async handlers with them: "
            "await context.aheartbeat() and context.acheckpoint(value) instead"
        )


class DamagedTask(LifoqError):
    """An item in the table is not a task: somebody wrote to the table past the library."""

    def __init__(self, task_id: str, reason: str) -> None:
        self.task_id = task_id
        self.reason = reason
        super().__init__(f"task {task_id!r} is damaged: {reason}")


class ItemTooLarge(LifoqError):
    """A write would take the item beyond DynamoDB's 400 KB, or a transaction beyond its 4 MB."""


class TaskCancelled(LifoqError):
    """Raised by ``Queue.wait``: the task was cancelled."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"task {task_id!r} was cancelled")


class TaskShed(LifoqError):
    """Raised by ``Queue.wait``: the task's deadline passed while it waited."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"task {task_id!r} was shed: its deadline passed before a worker was free")


class WaitTimeout(LifoqError, TimeoutError):
    """Raised by ``Queue.wait``: the task did not end in time; it may still."""

    def __init__(self, task_id: str, seconds: float) -> None:
        self.task_id = task_id
        super().__init__(f"task {task_id!r} has not ended within {seconds:g} s; it may still")


class Retry(LifoqError):
    """Raised by task code: try again, ``after`` so many seconds where given, else by the task
    type's backoff. It counts as an attempt."""

    def __init__(
        self, reason: str = "the task asked for a retry", *, after: float | timedelta | None = None
    ) -> None:
        """``after`` in seconds, or a timedelta; a year at the most."""
        seconds = after.total_seconds() if isinstance(after, timedelta) else after
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if seconds is not None and not (is_number and 0 <= seconds <= 365 * 86_400):
            raise InvalidInput("after", after, "must be seconds from 0 to a year, or a timedelta")
        self.after = seconds
        super().__init__(reason)


class Busy(Retry):
    """Raised by task code: the downstream has no room at the moment. A Retry that does not count as
    an attempt, so that only the deadline ends it; and the processor starts fewer tasks of this type
    at a time, as many as the downstream was seen to take."""


class Fail(LifoqError):
    """Raised by task code: no retry can help; the task goes to FAILURE at once."""


def _shorten(value: object, limit: int = 80) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (a value without a text, such as an integer of 5,000 digits)
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 1] + "…"
