"""A virtual machine: the library's host, with a clock of its own that may be wrong, that can crash
or stand still."""

from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

from lifoq.basics.host import Stamps, microseconds
from tests.virtual.scheduler import Crashed, Scheduler, Strand


class Machine:
    def __init__(self, name: str, scheduler: Scheduler, *, skew: float = 0.0) -> None:
        """``skew``: seconds by which its clock is ahead."""
        self.name = name
        self.scheduler = scheduler
        self.pauses = 0
        """How often it stood still."""
        self.resumed_at = 0
        """When it last went on, after it stood still; monotonic."""
        self.skew = microseconds(skew)
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

    def resume(self) -> None:
        self.resumed_at = self.scheduler.time
        self.scheduler.resume(self._power)

    def assert_alive(self) -> None:
        """Crashed, where it is not."""
        if not self._power.on:
            raise Crashed


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
