"""Ctrl-C, or a terminal that closes: an orderly end that leaves no process behind."""

import signal
from contextlib import suppress
from types import FrameType
from typing import Final

import psutil

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END_SECONDS: Final = 5.0


class Interruption:
    """Turns the first of these signals into KeyboardInterrupt, and remembers what ran then."""

    def __init__(self) -> None:
        self._running: list[psutil.Process] = []
        for number in SIGNALS:
            signal.signal(number, self._interrupt)

    def end_survivors(self) -> None:
        """Kill whatever ran at the interruption and still does."""
        for process in self._running:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(self._running, timeout=END_SECONDS)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        # Once is enough: a second signal must not disturb the orderly end.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        # Now, while they can be found: a process whose parent was killed first is nobody's child.
        self._running = psutil.Process().children(recursive=True)
        raise KeyboardInterrupt
