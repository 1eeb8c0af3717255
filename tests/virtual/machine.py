"""A virtual machine: the library's host, with a clock of its own that may be wrong, that can crash
or stand still."""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from lifoq.basics.host import OutOfThreads, Stamps, SteadyClock, microseconds
from tests.virtual.scheduler import Crashed, Scheduler, Strand


class Machine:
    def __init__(self, name: str, scheduler: Scheduler, *, skew: float = 0.0) -> None:
        """``skew``: seconds by which its clock is ahead."""
        self.name = name
        self.scheduler = scheduler
        self.pauses = 0
        """Number of times that the machine stood still."""
        self.resumed_at = 0
        """When it last went on, after it stood still; by the true clock."""
        self.skew = microseconds(skew)
        self._frozen = 0
        """Microseconds for which its monotonic clock has stood still."""
        self._frozen_since: int | None = None
        self._steady = SteadyClock(
            monotonic=lambda: self.scheduler.time - self._frozen,
            now=lambda: self.scheduler.time + self.skew,
        )
        self._power = scheduler.power()
        self._stamps = Stamps()
        self._ids = 0

    @property
    def alive(self) -> bool:
        return self._power.on

    @property
    def suspended(self) -> bool:
        return self._power.suspended

    def now(self) -> int:
        self.assert_alive()
        return self.scheduler.time + self.skew

    def monotonic(self) -> int:
        self.assert_alive()
        return self._steady.read()

    def invocation(self) -> AbstractContextManager[None]:
        return self._steady.invocation()

    def true_time(self) -> int:
        """Return the true time, which the machine's own clocks should tell."""
        self.assert_alive()
        return self.scheduler.time

    def stamp(self, now: int) -> int:
        return self._stamps.next(now)

    def sleep(self, seconds: float) -> None:
        self.assert_alive()
        self.scheduler.sleep(seconds)
        self.assert_alive()

    def new_id(self) -> str:
        self.assert_alive()
        self._ids += 1
        return f"{self.name}.{self._ids}"

    def spawn(self, work: Callable[[], None], name: str) -> None:
        self.assert_alive()
        self.scheduler.spawn(self._power, f"{self.name}: {name}", work)

    def mailbox(self) -> "Mailbox":
        return Mailbox(self)

    def crash(self) -> None:
        self.scheduler.cut(self._power)

    def kill(self) -> NoReturn:
        """Crash, from code that runs on it."""
        self.crash()
        raise Crashed

    def suspend(self) -> None:
        """Nothing on it moves until ``resume``, but time passes."""
        self.pauses += 1
        self.scheduler.suspend(self._power)

    def freeze(self) -> None:
        """Stand still, as Lambda does between invocations: the monotonic clock stands still as
        well, and what sleeps there sleeps for as much longer."""
        self.suspend()
        self._frozen_since = self.scheduler.time

    def resume(self) -> None:
        now = self.resumed_at = self.scheduler.time
        frozen = 0 if self._frozen_since is None else now - self._frozen_since
        self._frozen, self._frozen_since = self._frozen + frozen, None
        self.scheduler.resume(self._power, later=frozen)

    def assert_alive(self) -> None:
        """Crashed, where it is not."""
        if not self._power.on:
            raise Crashed


class Threadless(Machine):
    """Gives so many threads, and no more."""

    def __init__(self, name: str, scheduler: Scheduler, *, threads: int) -> None:
        super().__init__(name, scheduler)
        self._threads = threads

    def spawn(self, work: Callable[[], None], name: str) -> None:
        if self._threads == 0:
            raise OutOfThreads("can't start new thread")
        self._threads -= 1
        super().spawn(work, name)


class Mailbox:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._messages: deque[Any] = deque()
        self._waiting: Strand | None = None

    def put(self, message: Any) -> None:
        self._machine.assert_alive()
        self._messages.append(message)
        if self._waiting is not None:
            self._machine.scheduler.wake(self._waiting)

    def take(self, timeout: float) -> Any:
        if not self._messages:
            self._waiting = self._machine.scheduler.current
            try:
                self._machine.sleep(timeout)
            finally:
                self._waiting = None
        return self._messages.popleft() if self._messages else None
