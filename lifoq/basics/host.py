"""The machine under the queue: its clock, its threads, its random ids.

Library code asks the host instead of ``time``, ``threading`` and ``uuid``, so that a simulation can
run the same code under a virtual clock and a seeded scheduler.
"""

import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, Protocol, TypeVar

Message = TypeVar("Message")
Sent_contra = TypeVar("Sent_contra", contravariant=True)

MICROSECONDS = 1_000_000
"""The microseconds of one second."""


def microseconds(seconds: float) -> int:
    """Turn a duration in seconds into whole microseconds."""
    return round(seconds * MICROSECONDS)


class Outbox(Protocol[Sent_contra]):
    """A mailbox, as those see it who report to it."""

    def put(self, message: Sent_contra) -> None:
        """Report a message."""
        ...


class Mailbox(Protocol[Message]):
    """A queue between threads of one host."""

    def put(self, message: Message) -> None:
        """Add a message."""
        ...

    def take(self, timeout: float) -> Message | None:
        """The next message; None when ``timeout`` seconds pass without one."""
        ...


class Host(Protocol):
    """The machine under the queue: time, sleep, threads, random ids."""

    def now(self) -> int:
        """Epoch microseconds: the time of day, which may be corrected in between."""
        ...

    def monotonic(self) -> int:
        """Microseconds since some moment; it never steps back. Durations are measured with it,
        those among them that reach over several invocations (see ``SteadyClock``)."""
        ...

    def invocation(self) -> AbstractContextManager[None]:
        """Around what one invocation does: before it, this process may have been frozen."""
        ...

    def stamp(self, now: int) -> int:
        """``now``, in epoch microseconds, or as little more as makes it strictly greater than every
        stamp before it on this host; but for those of a clock that was far ahead."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let the caller wait for so many seconds."""
        ...

    def new_id(self) -> str:
        """A random id that nobody else has."""
        ...

    def spawn(self, work: Callable[[], None], name: str) -> None:
        """Run ``work`` beside the caller. OutOfThreads where this process cannot start another."""
        ...

    def mailbox(self) -> Mailbox[Any]:
        """Return a new mailbox, for threads of this host."""
        ...


class OutOfThreads(Exception):
    """The operating system gives this process no other thread."""


LARGEST_STEP = 5 * MICROSECONDS
"""Microseconds by which a clock may step back, and stamps still increase. Beyond it, it was wrong
before, and stamps that went on from there would be wrong for as long."""


class Stamps:
    """Turns a clock that may stand still or step back a little into strictly increasing stamps."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def next(self, now: int) -> int:
        """Return the stamp for a time, both in microseconds: greater than every stamp before it."""
        with self._lock:
            self._last = now if now < self._last - LARGEST_STEP else max(now, self._last + 1)
            return self._last


class SteadyClock:
    """A monotonic clock that does not lose the time for which its process was frozen.

    Lambda freezes a process between two invocations, and the machine's monotonic clock stands still
    meanwhile. So within an invocation this one goes on as that does, and between two as the time of
    day does: not where that was set back, nor where it was set in an invocation. Set ahead between
    two, it cannot be told from time that has passed.
    """

    def __init__(self, *, monotonic: Callable[[], int], now: Callable[[], int]) -> None:
        """Begin at a moment of the machine's monotonic clock and of its time of day, both in
        microseconds."""
        self._monotonic = monotonic
        self._now = now
        self._frozen = 0
        """Microseconds for which this process has been frozen so far."""
        self._apart = self._of_day()

    def read(self) -> int:
        """Return the time in microseconds since some moment."""
        return self._monotonic() + self._frozen

    @contextmanager
    def invocation(self) -> Iterator[None]:
        """Count the time that has passed since the invocation before this one."""
        before, self._apart = self._apart, self._of_day()
        self._frozen += max(0, self._apart - before)
        try:
            yield
        finally:
            self._apart = self._of_day()

    def _of_day(self) -> int:
        """Return how far the time of day is ahead of the monotonic clock."""
        return self._now() - self._monotonic()


def _monotonic() -> int:
    return time.monotonic_ns() // 1_000


class SystemHost:
    """The host of this process: its real clock and threads."""

    def __init__(self) -> None:
        self._stamps = Stamps()
        self._steady = SteadyClock(monotonic=_monotonic, now=self.now)
        self._idle: list[queue.SimpleQueue[Callable[[], None]]] = []
        """The mailboxes of threads that wait for work; to start another thread costs more."""

    def now(self) -> int:
        """Return the time of day in epoch microseconds."""
        return time.time_ns() // 1_000

    def monotonic(self) -> int:
        """Return the microseconds since some moment, those of a frozen process among them."""
        return self._steady.read()

    def invocation(self) -> AbstractContextManager[None]:
        """Return a context manager for the work of one invocation."""
        return self._steady.invocation()

    def stamp(self, now: int) -> int:
        """Return a stamp that is greater than every one before it."""
        return self._stamps.next(now)

    def sleep(self, seconds: float) -> None:
        """Let this thread wait for so many seconds."""
        time.sleep(seconds)

    def new_id(self) -> str:
        """Return a random id of 32 hexadecimal digits."""
        return uuid.uuid4().hex

    def spawn(self, work: Callable[[], None], name: str) -> None:
        """Run ``work`` in a thread that has nothing to do, or in a new one."""

        def named() -> None:
            threading.current_thread().name = name
            work()

        try:
            self._idle.pop().put(named)
        except IndexError:
            self._start(named)

    def _start(self, work: Callable[[], None]) -> None:
        # A daemon, so that task code that hangs cannot keep the process from ending.
        thread = threading.Thread(target=self._serve, args=(work,), daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise OutOfThreads(str(error)) from error

    def _serve(self, work: Callable[[], None]) -> None:
        """Do what is asked for, the latest thread to have come back first."""
        inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        while True:
            work()
            self._idle.append(inbox)
            work = inbox.get()

    def mailbox(self) -> "ThreadMailbox[Any]":
        """Return a new mailbox for threads."""
        return ThreadMailbox()


class ThreadMailbox(Generic[Message]):
    """A mailbox between threads of this process."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def put(self, message: Message) -> None:
        """Add a message."""
        self._messages.put(message)

    def take(self, timeout: float) -> Message | None:
        """Return the next message; None if ``timeout`` seconds pass without one."""
        try:
            return (
                self._messages.get(timeout=timeout) if timeout > 0 else self._messages.get_nowait()
            )
        except queue.Empty:
            return None


SYSTEM = SystemHost()
"""One for the process, since stamps increase per process."""
