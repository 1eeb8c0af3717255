"""The errors that lifoq raises. All share one root, and carry their data as attributes.

Errors that tell more of a task or of a run stand beside that: ``items.task_error``,
``worker.run.report``.
"""

from datetime import timedelta
from typing import ClassVar


class LifoqError(Exception):
    """The root of all errors: ``except LifoqError`` catches whatever the queue has to say.

    Examples:
        >>> try:
        ...     queue.cancel("nobody")
        ... except LifoqError as error:
        ...     print(error)
        task 'nobody' is not in the queue: it was never put, was shed, or its retention is over
    """


class InvalidInput(LifoqError, ValueError):
    """Raised if the caller's input is refused; nothing was written.

    Attributes:
        field: The name of the argument.
        value: The value that was given.
        problem: The reason, and the remedy.

    Examples:
        >>> queue.peek(limit=0)
        Traceback (most recent call last):
        lifoq.errors.InvalidInput: limit=0: must be a whole number from 1 to 1,000,000
    """

    def __init__(self, field: str, value: object, problem: str) -> None:
        self.field = field
        self.value = value
        self.problem = problem
        super().__init__(f"{field}={_shorten(value)}: {problem}")


class QueueMisconfigured(LifoqError):
    """Raised for a mistake that does not pass by itself: no region, no credentials, an unknown
    profile, a missing permission, or a table or an index that is not a queue's. The message says
    which.

    Examples:
        >>> try:
        ...     queue.check()
        ... except QueueMisconfigured as error:
        ...     raise SystemExit(str(error))
    """


class BadEnvironment(QueueMisconfigured):
    """Raised if an environment variable that the deployment sets is missing, or makes no sense.

    Attributes:
        variable: The name of the variable.
        value: Its value; None if it is not set.

    Examples:
        >>> try:
        ...     queue = Queue.connect("prod")
        ... except BadEnvironment as error:
        ...     raise SystemExit(f"set {error.variable}")  # doctest: +SKIP
    """

    def __init__(self, variable: str, value: str | None, problem: str) -> None:
        self.variable = variable
        self.value = value
        shown = "" if value is None else f"={_shorten(value)}"
        super().__init__(
            f"environment variable {variable}{shown}: {problem}; the deployment sets it: deploy "
            "the queue anew, or set it by hand"
        )


class StoreUnavailable(LifoqError):
    """Raised if the database did not confirm a call: no connection, no whole answer, throttling,
    expired credentials. Nobody knows if the call was applied. To repeat it is safe; give each put a
    ``task_id``, so that the repetition cannot become a second task.

    Examples:
        >>> def put_safely(device):
        ...     while True:
        ...         try:
        ...             return queue.put("device.check", device, task_id=f"check-{device}")
        ...         except StoreUnavailable:
        ...             time.sleep(1)
        >>> put_safely("d-17").task_id
        'check-d-17'
    """


class TaskNotFound(LifoqError):
    """Raised if no task has the id: it was never put, was shed, or its retention is over.

    Attributes:
        task_id: The id.

    Examples:
        >>> try:
        ...     queue.redrive("nobody")
        ... except TaskNotFound as error:
        ...     print(error.task_id)
        nobody
    """

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"task {task_id!r} is not in the queue: it was never put, was shed, "
            "or its retention is over"
        )


class WrongStatus(LifoqError):
    """Raised if the task has moved on, so that the operation no longer applies to it.

    Attributes:
        task_id: The id of the task.
        status: The status that it has.

    Examples:
        >>> task = queue.put("device.check", task_id="d-17")
        >>> try:
        ...     queue.redrive("d-17")
        ... except WrongStatus as error:
        ...     print(error.status)
        PENDING
    """

    def __init__(self, task_id: str, status: str, needed: str) -> None:
        self.task_id = task_id
        self.status = status
        super().__init__(f"task {task_id!r} is {status}, but this needs it to be {needed}")


class NotClaimed(LifoqError):
    """Raised where somebody else has claimed the task, or it has expired, since the index showed
    it."""


class KeyBusy(NotClaimed):
    """Raised when no task of this type and key may start now: as many are TAKEN as may be at a
    time, or the last one has just started. The task keeps its place."""

    def __init__(self, task_type: str, key: str) -> None:
        self.task_type = task_type
        self.key = key
        super().__init__(f"no task of type {task_type!r} and key {key!r} may start now")


class LeaseLost(LifoqError):
    """Raised to task code, by ``Context.heartbeat`` and ``Context.checkpoint``: the lease ran out,
    and the task went on without this worker. Whatever the handler still returns or raises is
    refused.

    Attributes:
        task_id: The id of the task.

    Examples:
        >>> @task("invoice.send")
        ... def send(payload, context):
        ...     try:
        ...         context.heartbeat()
        ...     except LeaseLost:
        ...         return  # another worker has the task
    """

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"the lease on task {task_id!r} was lost: stop working on it, its result is refused"
        )


class Cancelled(LifoqError):
    """Raised to task code, by ``Context.heartbeat`` and ``Context.checkpoint``: somebody has
    cancelled the task. Clean up, and let it pass: the task ends as CANCELLED, whatever else the
    handler raises.

    Attributes:
        task_id: The id of the task.

    Examples:
        >>> @task("video.encode")
        ... def encode(payload, context):
        ...     if context.cancelled:
        ...         raise Cancelled(context.task_id)
    """

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"task {task_id!r} was cancelled while it ran: stop working on it")


class BlocksOthers(LifoqError):
    """Raised to an async handler that calls ``Context.heartbeat`` or ``Context.checkpoint``: they
    wait for the database, and would hold up all async handlers. Await ``aheartbeat`` and
    ``acheckpoint``.

    Examples:
        >>> @task("page.fetch")
        ... async def fetch(payload, context):
        ...     await context.aheartbeat()  # context.heartbeat() would raise BlocksOthers
    """

    def __init__(self) -> None:
        super().__init__(
            "heartbeat() and checkpoint() wait for the database, and all async handlers with them: "
            "await context.aheartbeat() and context.acheckpoint(value) instead"
        )


class DamagedTask(LifoqError):
    """Raised for an item of the table that is not a task: somebody wrote to the table past the
    library.

    Attributes:
        task_id: The id of the item.
        reason: The attribute that is wrong, and how.

    Examples:
        >>> for found in queue.search(Wanted(status=Status.FAILURE)).damaged:
        ...     print(found.task_id, found.reason)
    """

    def __init__(self, task_id: str, reason: str) -> None:
        self.task_id = task_id
        self.reason = reason
        super().__init__(f"task {task_id!r} is damaged: {reason}")


class ItemTooLarge(LifoqError):
    """Raised if a write would take the item beyond DynamoDB's 400 KB, or a transaction beyond its 4
    MB.

    Examples:
        >>> @task("report.render")
        ... def render(payload, context):
        ...     try:
        ...         context.checkpoint(payload["rows"])
        ...     except ItemTooLarge:
        ...         pass  # the next attempt begins anew
    """


class NoResult(LifoqError):
    """The root of what ``Queue.wait`` and ``Queue.call`` raise in place of a task's result:
    ``TaskShed``, ``TaskFailed``, ``TaskCancelled``, ``WaitTimeout``.

    Attributes:
        task_id: The id of the task.
        http_status: The status with which a web handler answers its own client.

    Examples:
        >>> try:
        ...     queue.call("device.check", {"device": "d-17"}, timeout=0.1)
        ... except NoResult as error:
        ...     print(error.http_status)  # nobody works here
        503
    """

    http_status: ClassVar[int]

    def __init__(self, task_id: str, message: str) -> None:
        self.task_id = task_id
        super().__init__(message)


class TaskCancelled(NoResult):
    """Raised by ``Queue.wait`` and ``Queue.call``: the task was cancelled.

    A web handler answers 409: somebody else has withdrawn what its client asks for.

    Attributes:
        task_id: The id of the task.
        http_status: 409.

    Examples:
        >>> task = queue.put("device.check", task_id="d-17")
        >>> task = queue.cancel("d-17")
        >>> queue.wait("d-17", timeout=1)
        Traceback (most recent call last):
        lifoq.errors.TaskCancelled: task 'd-17' was cancelled
    """

    http_status = 409

    def __init__(self, task_id: str) -> None:
        super().__init__(task_id, f"task {task_id!r} was cancelled")


class TaskShed(NoResult):
    """Raised by ``Queue.wait`` and ``Queue.call``: the task's deadline passed while it waited.

    A web handler answers 503, with a header ``Retry-After``: the queue has more to do than it can.

    Attributes:
        task_id: The id of the task.
        http_status: 503.

    Examples:
        >>> task = queue.put("device.check", task_id="d-17", deadline=0.01)
        >>> time.sleep(0.02)
        >>> queue.wait("d-17", timeout=1)
        Traceback (most recent call last):
        lifoq.errors.TaskShed: task 'd-17' was shed: its deadline passed before a worker was free
    """

    http_status = 503

    def __init__(self, task_id: str) -> None:
        super().__init__(
            task_id, f"task {task_id!r} was shed: its deadline passed before a worker was free"
        )


class WaitTimeout(NoResult, TimeoutError):
    """Raised by ``Queue.wait`` and ``Queue.call``: the task did not end in time; it may still.

    A web handler answers 504: the task had begun, and took too long.

    Attributes:
        task_id: The id of the task.
        http_status: 504.

    Examples:
        >>> task = queue.put("device.check", task_id="d-17")
        >>> try:
        ...     queue.wait("d-17", timeout=0.1)
        ... except WaitTimeout:
        ...     print("later")
        later
    """

    http_status = 504

    def __init__(self, task_id: str, seconds: float) -> None:
        super().__init__(
            task_id, f"task {task_id!r} has not ended within {seconds:g} s; it may still"
        )


class Retry(LifoqError):
    """Raised by task code: try again later. It counts as an attempt; after the last one the task
    goes to FAILURE.

    Attributes:
        after: Seconds until the next attempt; None if the backoff decides.

    Examples:
        >>> @task("price.refresh")
        ... def refresh(payload, context):
        ...     raise Retry("the shop says: come back in 30 seconds", after=30)
    """

    def __init__(
        self, reason: str = "the task asked for a retry", *, after: float | timedelta | None = None
    ) -> None:
        """Ask for another attempt.

        Args:
            reason: The message of the task's error.
            after: Seconds until the next attempt, or a timedelta; a year at the most. None leaves
                it to the task type's backoff.

        Raises:
            InvalidInput: ``after`` is no such time.
        """
        seconds = after.total_seconds() if isinstance(after, timedelta) else after
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if seconds is not None and not (is_number and 0 <= seconds <= 365 * 86_400):
            raise InvalidInput("after", after, "must be seconds from 0 to a year, or a timedelta")
        self.after = seconds
        super().__init__(reason)


class Busy(Retry):
    """Raised by task code: the downstream has no room at the moment, as after a 429 or a 503.

    A ``Retry`` that does not count as an attempt, so that only the deadline ends it. The processor
    also starts fewer tasks of this type at a time, as many as the downstream was seen to take.

    Attributes:
        after: Seconds until the next attempt; None if the backoff decides.

    Examples:
        >>> @task("price.refresh")
        ... def refresh(payload, context):
        ...     raise Busy("the shop is full", after=2)
    """


class Fail(LifoqError):
    """Raised by task code: no retry can help; the task goes to FAILURE at once.

    Examples:
        >>> @task("price.refresh")
        ... def refresh(payload, context):
        ...     raise Fail("no such article")
    """


def _shorten(value: object, limit: int = 80) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (a value without a text, such as an integer of 5,000 digits)
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 1] + "…"
