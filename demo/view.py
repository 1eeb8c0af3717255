"""What one sees while it runs: a live table in a terminal, a plain line now and then elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from demo.ledger import Counts, Snapshot
from demo.load import Phase

PLAIN_SECONDS = 5.0
"""Between two lines where there is no terminal."""
BARS = " ▁▂▃▄▅▆▇█"
HISTORY = 60
"""Backlogs shown in the sparkline, one for each look at the table."""


class View:
    """Shows snapshots of the queue; a context manager, since a live table must be closed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._backlogs: list[int] = []
        self._last_line = float("-inf")

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, phase: Phase, seconds: float, snapshot: Snapshot, *, keep: bool = False) -> None:
        """``seconds``: since the phase began. ``keep``: as a line to stay, live table or not."""
        self._backlogs = [*self._backlogs, snapshot.counts.waiting][-HISTORY:]
        if self._live:
            self._live.update(panel(phase, seconds, snapshot, self._backlogs), refresh=True)
        due = not self._live and time.monotonic() - self._last_line >= PLAIN_SECONDS
        if keep or due:
            self._last_line = time.monotonic()
            self._console.print(line(phase, seconds, snapshot), highlight=False, soft_wrap=True)


def line(phase: Phase, seconds: float, snapshot: Snapshot) -> str:
    """One moment, as text."""
    counts = snapshot.counts
    return (
        f"{phase.name:<14} {seconds:3.0f} s"
        f" | in {snapshot.arrival_rate:4.1f}/s, out {snapshot.service_rate:4.1f}/s"
        f" | waiting {counts.waiting:3} (newest {age(snapshot.newest_waiting)},"
        f" oldest {age(snapshot.oldest_waiting)})"
        f" | taken {counts.taken}, succeeded {counts.succeeded}, failed {counts.failed}"
        f" | shed {counts.shed}"
    )


def panel(phase: Phase, seconds: float, snapshot: Snapshot, backlogs: list[int]) -> RenderableType:
    """One moment, as a table."""
    counts = snapshot.counts
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(min_width=10, justify="right")
    table.add_column(style="dim")
    table.add_column(min_width=10, justify="right")
    rows = (
        ("arrivals", f"{snapshot.arrival_rate:.1f}/s", "served", f"{snapshot.service_rate:.1f}/s"),
        (
            *("newest waiting", age(snapshot.newest_waiting)),
            *("oldest waiting", age(snapshot.oldest_waiting)),
        ),
        ("PENDING", f"{counts.waiting - snapshot.delayed}", "DELAYED", f"{snapshot.delayed}"),
        ("TAKEN", f"{counts.taken}", "SUCCESS", f"[green]{counts.succeeded}"),
        ("FAILURE", f"{counts.failed}", "CANCELLED", f"{counts.cancelled}"),
        ("created", f"{counts.created}", "shed so far", f"[yellow]{counts.shed}"),
    )
    for row in rows:
        table.add_row(*row)
    title = Text.assemble(
        (phase.name, "bold"),
        f"  {seconds:.0f} s",
        (f"  {phase.tasks_per_second:g} tasks/s wanted", "dim"),
    )
    backlog = Text.assemble(("backlog ", "dim"), sparkline(backlogs), f" {counts.waiting}")
    return Group(title, table, backlog)


def sparkline(values: list[int]) -> str:
    """The values as bars; the highest is full."""
    top = max(values, default=0) or 1
    return "".join(BARS[-(-value * (len(BARS) - 1) // top)] for value in values)


def age(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f} s"


def account(counts: Counts) -> str:
    """Where every task is."""
    return (
        f"created {counts.created:,} = waiting {counts.waiting:,} + taken {counts.taken:,}"
        f" + succeeded {counts.succeeded:,} + failed {counts.failed:,}"
        f" + cancelled {counts.cancelled:,} + shed {counts.shed:,}"
    )
