"""The error of an attempt, as its task keeps it and as it is raised to whoever waits."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from lifoq.basics import jsontext
from lifoq.errors import NoResult
from lifoq.items.schema import MAX_ERROR_BYTES, MAX_TYPE_BYTES

MAX_TRACEBACK: Final = 4_000
"""Characters of a traceback that are kept: its end, where the error is."""
MAX_MESSAGE: Final = 1_000
"""Characters of an error message that are kept. Both count the words that say how much was cut."""
_CUT_WORDS: Final = 40
"""Characters that those words have at the most."""
_MOST_BYTES: Final = 6
"""Bytes of one character in JSON, at the most."""


@dataclass(frozen=True, kw_only=True)
class TaskError:
    """The error of an attempt, bounded in size: 1,000 characters of the message, and the last 4,000
    of the traceback.

    Examples:
        >>> TaskError(type="TimeoutError", message="no answer within 10 s").message
        'no answer within 10 s'
    """

    type: str
    """The name of the exception's class, such as ``TimeoutError``."""
    message: str
    """The exception's message."""
    traceback: str | None = None
    """The end of the traceback in task code; None if there is none, or no room for it."""

    @classmethod
    def of(cls, error: BaseException) -> "TaskError":
        """Describe an exception. What is cut of a long one says how much.

        Args:
            error: The exception that task code raised.
        """
        message = _readable(_described(lambda: str(error)))
        lines = _described(lambda: "".join(traceback.format_exception(_from_task_code(error))))
        bare = cls(type=type(error).__name__, message=_beginning(message))
        room = MAX_ERROR_BYTES - jsontext.size(bare.to_json()) - _CUT_WORDS
        return replace(bare, traceback=_end(_readable(lines), room=room))

    def to_json(self) -> str:
        """Return the error as JSON of at most MAX_ERROR_BYTES; the traceback gives way first."""
        text = {"type": self.type[:MAX_TYPE_BYTES], "message": self.message[:MAX_MESSAGE]}
        bare = jsontext.encode(text, "error")
        if self.traceback is None:
            return bare
        whole = jsontext.encode({**text, "traceback": self.traceback}, "error")
        return whole if jsontext.size(whole) <= MAX_ERROR_BYTES else bare

    @classmethod
    def from_json(cls, text: str) -> "TaskError":
        """Read the text that ``to_json`` wrote.

        Args:
            text: A JSON object.
        """
        found = jsontext.decode(text)
        if not isinstance(found, dict):
            raise ValueError("error is not a JSON object")  # noqa: TRY004  (one error for callers)
        return cls(
            type=str(found.get("type", "")),
            message=str(found.get("message", "")),
            traceback=found.get("traceback"),
        )


def _from_task_code(error: BaseException) -> BaseException:
    """Return the error without the frames of lifoq's own that called the task code."""
    own = error.__traceback__
    while own is not None and own.tb_frame.f_globals.get("__name__", "").startswith("lifoq."):
        own = own.tb_next
    return error if own is None else error.with_traceback(own)


def _described(describe: Callable[[], str]) -> str:
    try:
        return describe()
    except BaseException as worse:  # noqa: BLE001  (task code can raise what cannot be described)
        return f"it cannot be described: {type(worse).__name__} was raised instead"


def _readable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _beginning(message: str) -> str:
    """Return a message in ``MAX_MESSAGE`` characters."""
    if len(message) <= MAX_MESSAGE:
        return message
    kept = MAX_MESSAGE - _CUT_WORDS
    return f"{message[:kept]}… ({len(message) - kept:,} more characters)"


def _end(lines: str, *, room: int) -> str:
    """Return a traceback in ``MAX_TRACEBACK`` characters, and ``room`` bytes of JSON."""
    kept = lines
    if len(lines) > MAX_TRACEBACK:
        kept = lines[_CUT_WORDS - MAX_TRACEBACK :]
    while (over := jsontext.size(jsontext.encode(kept, "error")) - room) > 0:
        kept = kept[over // _MOST_BYTES + 1 :]
    cut = len(lines) - len(kept)
    return f"({cut:,} characters before)\n{kept}" if cut else lines


class TaskFailed(NoResult):
    """Raised by ``Queue.wait`` and ``Queue.call``: the task ended in FAILURE.

    A web handler answers 502: the system behind the queue did not do what was asked.

    Attributes:
        task_id: The id of the task.
        error: The error of its last attempt.
        http_status: 502.

    Examples:
        >>> try:
        ...     firmware = queue.wait("d-17", timeout=60)  # doctest: +SKIP
        ... except TaskFailed as error:
        ...     print(error.error.type, error.error.message)
    """

    http_status = 502

    def __init__(self, task_id: str, error: TaskError) -> None:
        self.error = error
        super().__init__(task_id, f"task {task_id!r} failed: {error.type}: {error.message}")
