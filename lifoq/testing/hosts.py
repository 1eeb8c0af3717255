"""Hosts whose clock the test moves."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from lifoq.basics.host import MICROSECONDS, Stamps, SteadyClock, SystemHost, microseconds

START = 1_800_000_000 * MICROSECONDS
"""Epoch microseconds; a whole second."""


class ManualHost:
    """One thread; time passes only by ``sleep``, ``advance`` and ``freeze``."""

    def __init__(self, start: int = START) -> None:
        self.time = start
        self._frozen = 0
        self._steady = SteadyClock(monotonic=lambda: self.time - self._frozen, now=self.now)
        self._ids = 0
        self._stamps = Stamps()
        self.slept: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None

    def now(self) -> int:
        return self.time

    def monotonic(self) -> int:
        return self._steady.read()

    def invocation(self) -> AbstractContextManager[None]:
        return self._steady.invocation()

    def stamp(self, now: int) -> int:
        return self._stamps.next(now)

    def advance(self, seconds: float) -> None:
        self.time += microseconds(seconds)

    def freeze(self, seconds: float) -> None:
        """Stop the monotonic clock for a while, like Lambda between two invocations."""
        self.advance(seconds)
        self._frozen += microseconds(seconds)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        self.on_sleep()

    def new_id(self) -> str:
        self._ids += 1
        return f"id-{self._ids:06}"

    def spawn(self, work: Callable[[], None], name: str) -> None:
        raise AssertionError(f"nothing runs beside this test, but {name} wants to: {work}")

    def mailbox(self) -> Any:
        raise AssertionError("nothing runs beside this test")


class TurnableHost(SystemHost):
    """This process, with its threads; its time of day goes on by itself, and by ``advance``."""

    def __init__(self) -> None:
        self._ahead = 0
        super().__init__()

    def now(self) -> int:
        return super().now() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += microseconds(seconds)
