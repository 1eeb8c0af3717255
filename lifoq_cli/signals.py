"""Signals that end a command which has something to undo first."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""SIGHUP comes when a terminal is closed, and is unknown to Windows."""
OF_SHELLS: Final = 128
"""The number that shells add to a signal's, for the exit status of a process that it ended."""


class Signalled(BaseException):
    """A signal asks the command to end."""

    def __init__(self, number: int) -> None:
        self.status = OF_SHELLS + number
        super().__init__(f"ended by {signal.Signals(number).name}")


@contextmanager
def raised() -> Iterator[None]:
    """Raise the first signal that asks for the end as Signalled, in the main thread. Whatever comes
    after it is ignored until the block has ended, lest it stop what is being undone."""
    heard = False

    def first(number: int, _frame: object) -> None:
        nonlocal heard
        if not heard:
            heard = True
            raise Signalled(number)

    # What is ignored stays so: a command under nohup outlives its terminal.
    heeded = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, first) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
