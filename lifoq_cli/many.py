"""One change of many tasks: several calls at a time, with a bar on a terminal, and a word about
what was done where somebody ends it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lifoq_cli import statuses
from lifoq_cli.session import Session

AT_ONCE: Final = 10
"""Calls at a time: as many connections as a boto3 client keeps by default."""
SILENT: Final = 2.0
"""Seconds for which nothing is drawn."""


@dataclass(kw_only=True)
class Many:
    """Makes one change of each task, as long as nobody ends it."""

    session: Session
    done_word: str
    """The word for a task that was changed, such as ``redriven``."""
    change: Callable[[str], bool]
    """Changes the task of an id; False if it was no longer what it had been."""
    per_second: float | None = None
    """Changes that may begin in a second; None: as many as there can be."""
    changed: int = field(default=0, init=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(self, ids: Sequence[str]) -> int:
        """Change the tasks, in about this order; return how many were changed. Whatever ends it
        before, an interrupt or an error, ends once the calls under way are over, and the person is
        told how far it came. Exits with status 130 at an interrupt."""
        try:
            with bar(self.done_word, total=len(ids)) as advance:
                self._run(ids, advance)
        except KeyboardInterrupt:
            self._tell(len(ids), "interrupted")
            raise click.exceptions.Exit(statuses.INTERRUPTED) from None
        except Exception:
            self._tell(len(ids), "not all of it was done")
            raise
        return self.changed

    def _tell(self, total: int, why: str) -> None:
        self.session.tell(f"{why}: {self.changed:,} of {total:,} were {self.done_word}")

    def _run(self, ids: Sequence[str], advance: Callable[[int], None]) -> None:
        waiting = iter(ids)
        began, begun = time.monotonic(), 0
        under_way: set[Future[None]] = set()
        with ThreadPoolExecutor(AT_ONCE) as pool:  # in its end it waits for calls under way
            while True:
                for task_id in islice(waiting, AT_ONCE - len(under_way)):
                    if self.per_second is not None:
                        # The first begins at once, the next when its time has come.
                        time.sleep(max(0, began + begun / self.per_second - time.monotonic()))
                    under_way.add(pool.submit(self._one, task_id))
                    begun += 1
                if not under_way:
                    return
                over, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                advance(begun - len(under_way))
                for one in over:
                    one.result()

    def _one(self, task_id: str) -> None:
        """Counted where it is done: an interrupt may come anywhere in the main thread."""
        if self.change(task_id):
            with self._counting:
                self.changed += 1


@contextmanager
def bar(done_word: str, *, total: int) -> Iterator[Callable[[int], None]]:
    """Yield what is told how many of ``total`` are over. On a terminal a bar shows it, once that
    takes longer than ``SILENT`` seconds."""
    console = Console(stderr=True)
    columns = (
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    shown = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = shown.add_task(done_word, total=total)

    def advance(over: int) -> None:
        shown.update(task, completed=over)
        if not shown.live.is_started and time.monotonic() - began > SILENT:
            shown.start()

    try:
        yield advance
    finally:
        shown.stop()
