"""Hosts whose clock the test moves."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from lifoq.basics.host import MICROSECONDS, Stamps, SteadyClock, SystemHost, microseconds

START = 1_800_000_000 * MICROSECONDS
"""The time at which the clock of a ``ManualHost`` begins, in epoch microseconds: a whole second."""


class ManualHost:
    """A host of one thread, on which time passes only by ``sleep``, ``advance`` and ``freeze``. For
    tests of producers: it starts no threads, so no task runs on it.

    Attributes:
        time: The time of day in epoch microseconds.
        slept: The seconds of each ``sleep`` so far.
        on_sleep: Called after each ``sleep``.

    Examples:
        >>> from lifoq.testing import ManualHost
        >>> host = ManualHost()
        >>> queue = Queue.in_memory(host=host)
        >>> task = queue.put("device.check", task_id="d-17", deadline=30)
        >>> host.advance(31)
        >>> queue.wait("d-17", timeout=1)
        Traceback (most recent call last):
        lifoq.errors.TaskShed: task 'd-17' was shed: its deadline passed before a worker was free
    """

    def __init__(self, start: int = START) -> None:
        """Begin at a time.

        Args:
            start: The time of day in epoch microseconds.
        """
        self.time = start
        self._frozen = 0
        self._steady = SteadyClock(monotonic=lambda: self.time - self._frozen, now=self.now)
        self._ids = 0
        self._stamps = Stamps()
        self.slept: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None

    def now(self) -> int:
        """Return the time of day in epoch microseconds."""
        return self.time

    def monotonic(self) -> int:
        """Return the microseconds since some moment, those of ``freeze`` left out but between
        invocations."""
        return self._steady.read()

    def invocation(self) -> AbstractContextManager[None]:
        """Return a context manager for the work of one invocation."""
        return self._steady.invocation()

    def stamp(self, now: int) -> int:
        """Return a stamp that is greater than every one before it.

        Args:
            now: The time in epoch microseconds.
        """
        return self._stamps.next(now)

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Args:
            seconds: The time in seconds.

        Examples:
            >>> host = ManualHost()
            >>> host.advance(60)
            >>> (host.time - START) / 1e6
            60.0
        """
        self.time += microseconds(seconds)

    def freeze(self, seconds: float) -> None:
        """Let time pass while the monotonic clock stands still, like Lambda between two
        invocations.

        Args:
            seconds: The time in seconds.

        Examples:
            >>> host = ManualHost()
            >>> before = host.monotonic()
            >>> host.freeze(60)
            >>> host.monotonic() == before, (host.time - START) / 1e6
            (True, 60.0)
        """
        self.advance(seconds)
        self._frozen += microseconds(seconds)

    def sleep(self, seconds: float) -> None:
        """Let time pass, and call ``on_sleep``.

        Args:
            seconds: The time in seconds.
        """
        self.slept.append(seconds)
        self.advance(seconds)
        self.on_sleep()

    def new_id(self) -> str:
        """Return the next of the ids ``id-000001``, ``id-000002`` and so on."""
        self._ids += 1
        return f"id-{self._ids:06}"

    def spawn(self, work: Callable[[], None], name: str) -> None:
        """Refuse to start a thread.

        Args:
            work: The function that would run beside the test.
            name: The name of the thread.

        Raises:
            AssertionError: Always.
        """
        raise AssertionError(f"nothing runs beside this test, but {name} wants to: {work}")

    def mailbox(self) -> Any:
        """Refuse to make a mailbox, as there are no other threads.

        Raises:
            AssertionError: Always.
        """
        raise AssertionError("nothing runs beside this test")


class TurnableHost(SystemHost):
    """A host for tests: this process with its threads, and a time of day that goes on by itself and
    by ``advance``. The fixture ``lifoq_host`` is one.

    Examples:
        >>> from lifoq.testing import TurnableHost
        >>> host = TurnableHost()
        >>> queue = Queue.in_memory(host=host)
        >>> task = queue.put("device.check", task_id="d-17", delay=3600)
        >>> host.advance(3600)
        >>> Sweeper(queue.store, REGISTRY, max_attempts=5, host=host).run().promoted
        1
    """

    def __init__(self) -> None:
        """Begin at the present time."""
        self._ahead = 0
        super().__init__()

    def now(self) -> int:
        """Return the time of day in epoch microseconds, turned ahead."""
        return super().now() + self._ahead

    def advance(self, seconds: float) -> None:
        """Turn the clock ahead.

        Args:
            seconds: The time in seconds.

        Examples:
            >>> host = TurnableHost()
            >>> host.advance(60)
            >>> host.now() / 1e6 > time.time() + 50
            True
        """
        self._ahead += microseconds(seconds)
