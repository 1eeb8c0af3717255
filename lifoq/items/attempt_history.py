"""The attempts at a task that did not bring it to its end, as its item keeps them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lifoq.items.schema import IMPOSSIBLE

MOST: Final = 10
"""Attempts that an item keeps: the latest."""
MAX_ERROR_BYTES: Final = 200
"""Bytes that are kept of an error: type and message together."""


class Ended(StrEnum):
    """The way in which an attempt ended that did not end its task.

    Examples:
        >>> Ended("RETRIED")
        <Ended.RETRIED: 'RETRIED'>
    """

    RETRIED = "RETRIED"
    """The attempt failed, and the task is to be tried again."""
    FAILED = "FAILED"
    """The attempt failed, and the task was given up."""
    NOT_COUNTED = "NOT_COUNTED"
    """The downstream had no room, or the worker did not begin. Of several in a row, the last."""
    LEASE_EXPIRED = "LEASE_EXPIRED"
    """The attempt's worker was lost."""
    SUCCEEDED = "SUCCEEDED"
    """The attempt succeeded, but a newer put had replaced the task meanwhile."""
    CANCELLED = "CANCELLED"
    """The attempt stopped, or failed, after the task was cancelled."""


@dataclass(frozen=True, kw_only=True)
class PastAttempt:
    """An attempt that did not bring the task to its end, as ``Task.history`` tells it.

    Examples:
        >>> task = queue.put("device.check")
        >>> for past in task.history:
        ...     print(past.attempt, past.ended, past.error_type, past.message)
    """

    attempt: int
    """The number of the attempt; a redrive begins to count anew."""
    taken_at: int | None
    """When it was claimed, in epoch microseconds; None if it is not known."""
    ended_at: int
    """When it ended, in epoch microseconds."""
    ended: Ended
    """The way in which it ended."""
    error_type: str | None = None
    """The type of its error; None if it had none."""
    message: str | None = None
    """The beginning of its error's message."""

    def encode(self) -> dict[str, int | str]:
        """Return the attempt as the item holds it."""
        return {
            "attempt": self.attempt,
            **({} if self.taken_at is None else {"taken": self.taken_at}),
            "ended": self.ended_at,
            "how": self.ended.value,
            **self._encoded_error(),
        }

    def _encoded_error(self) -> dict[str, str]:
        if self.error_type is None:
            return {}
        kind = _beginning(self.error_type, MAX_ERROR_BYTES)
        room = MAX_ERROR_BYTES - len(kind.encode())
        return {"type": kind, "message": _beginning(self.message or "", room)}

    @classmethod
    def decode(cls, entry: Any) -> "PastAttempt":
        """Read an attempt of an item's history.

        Args:
            entry: A map as ``encode`` returns it.

        Raises:
            ValueError: The entry is no such map.
        """
        if not isinstance(entry, Mapping):
            raise ValueError(f"{type(entry).__name__} is no attempt")  # noqa: TRY004 - one for all
        return cls(
            attempt=_number(entry, "attempt"),
            taken_at=_number(entry, "taken") if "taken" in entry else None,
            ended_at=_number(entry, "ended"),
            ended=Ended(_text(entry, "how")),
            error_type=_text(entry, "type") if "type" in entry else None,
            message=_text(entry, "message") if "type" in entry else None,
        )


_WAYS: Final = frozenset(Ended)
History = tuple[PastAttempt, ...]
"""The newest last."""


def read(entries: Iterable[Any]) -> History:
    """Return the attempts of an item's history. One that ended in a way that only a later release
    knows is left out: what a newer worker wrote damages no task for an older one. Raises ValueError
    where an entry is no attempt."""
    return tuple(
        PastAttempt.decode(entry) for entry in entries if not _is_of_a_later_release(entry)
    )


def _is_of_a_later_release(entry: Any) -> bool:
    how = entry.get("how") if isinstance(entry, Mapping) else None
    return isinstance(how, str) and how not in _WAYS


def added(history: History, latest: PastAttempt) -> list[dict[str, int | str]]:
    """The history as the item holds it once ``latest`` has ended."""
    again = bool(history) and latest.ended is Ended.NOT_COUNTED is history[-1].ended
    kept: Sequence[PastAttempt] = history[:-1] if again else history
    return [past.encode() for past in (*kept, latest)[-MOST:]]


def _number(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < IMPOSSIBLE:
        raise ValueError(f"{name} is {value!r}, which is no such number")
    return value


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}, which is no text")  # noqa: TRY004
    return value


def _beginning(text: str, limit: int) -> str:
    """Return the first ``limit`` bytes of a text, in whole characters."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")
