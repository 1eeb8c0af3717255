"""Hosts whose clock the test moves."""

from collections.abc import Callable
from typing import Any

from lifoq.basics.host import MICROSECONDS, Stamps, SystemHost, microseconds

START = 1_800_000_000 * MICROSECONDS
"""Epoch microseconds; a whole second."""


class ManualHost:
    """One thread; time passes only by ``sleep`` and ``advance``."""

    def __init__(self, start: int = START) -> None:
        self.time = start
        self._ids = 0
        self._stamps = Stamps()
        self.slept: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None

    def now(self) -> int:
        return self.time

    def monotonic(self) -> int:
        return self.time

    def stamp(self, now: int) -> int:
        return self._stamps.next(now)

    def advance(self, seconds: float) -> None:
        self.time += microseconds(seconds)

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
        super().__init__()
        self._ahead = 0

    def now(self) -> int:
        return super().now() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += microseconds(seconds)
