"""The parts of an answer that an attempt emits: kept in its checkpoint, a few at a time."""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import Cancelled, LeaseLost, LifoqError, StoreUnavailable
from lifoq.items.answer_parts_in_checkpoint import checkpoint_of, parts_of

log = logging.getLogger("lifoq.parts")

EMIT_APART: Final = 0.25
"""Seconds between two writes of the parts that one attempt emits: each writes all of the item."""


class EmittedParts:
    """The parts of one task, those of its earlier attempts first.

    A thread beside the handler writes them, so that the last of them does not wait for the next,
    and an async handler does not wait at all.
    """

    def __init__(self, checkpoint: Any, *, write: Callable[[Any], None], host: Host) -> None:
        """Begin with what an earlier attempt has kept. ``write`` keeps a checkpoint."""
        self.parts = list(parts_of(checkpoint))
        self._write = write
        self._host = host
        self._kept = len(self.parts)
        self._next_at = host.monotonic()
        self._writer_is_on = False
        self._refused: LifoqError | None = None
        """The error of a write that no repeat will mend, such as of too many parts."""
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()

    def add(self, part: Any) -> None:
        """Add a part, and see that it is written soon. Raises what has refused an earlier one."""
        if self._refused is not None:
            raise self._refused
        jsontext.encode(part, "part")
        with self._lock:
            self.parts.append(part)
            if self._writer_is_on:
                return
            self._writer_is_on = True
        self._host.spawn(self._write_soon, "lifoq-parts")

    def flush(self) -> None:
        """Write what is not written yet. Raises what a checkpoint raises."""
        with self._one_at_a_time:
            with self._lock:
                parts = list(self.parts)
            if len(parts) > self._kept:
                self._write(checkpoint_of(parts))
                self._kept = len(parts)
                self._next_at = self._host.monotonic() + microseconds(EMIT_APART)

    def _write_soon(self) -> None:
        if (pause := self._next_at - self._host.monotonic()) > 0:
            self._host.sleep(pause / MICROSECONDS)
        with self._lock:
            self._writer_is_on = False
        try:
            self.flush()
        except (LeaseLost, Cancelled):
            return  # the context knows, and tells the handler
        except StoreUnavailable as error:
            log.info("parts are written with the next: %s", error)
        except LifoqError as error:
            self._refused = error
