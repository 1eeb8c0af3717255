"""A bar, or a count and a clock, on the terminal of a person whose command takes long."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

SILENT: Final = 2.0
"""Seconds for which nothing is drawn."""


@contextmanager
def progress(words: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show on a terminal that something is under way, once it takes longer than ``SILENT`` seconds.

    Yields what is told how much is over by now. With a ``total`` a bar is drawn, such as
    ``redriven ━━━━ 312 of 1,500 0:00:12``; without, a clock runs beside ``words``, and beside the
    count, if one is told. Nothing is drawn where the standard error is no terminal.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _over: None
        return
    shown = Progress(*_columns(total), console=console, transient=True)
    task = shown.add_task(words, total=total)

    def advance(over: int) -> None:
        if total is None:
            shown.update(task, description=f"{over:,} {words}")
        else:
            shown.update(task, completed=over)

    late = threading.Timer(SILENT, shown.start)
    late.daemon = True
    late.start()
    try:
        yield advance
    finally:
        late.cancel()
        late.join()  # it may be about to start what is stopped here
        shown.stop()


def _columns(total: int | None) -> tuple[ProgressColumn, ...]:
    words = TextColumn("{task.description}", markup=False)
    if total is None:
        return SpinnerColumn(), words, TimeElapsedColumn()
    count = TextColumn("{task.completed:,.0f} of {task.total:,.0f}")
    return words, BarColumn(), count, TimeRemainingColumn()
