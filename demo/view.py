"""What one sees while it runs: a live frame in a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Final, Self

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from demo.ledger import Counts, Snapshot
from demo.load import Phase

PLAIN_SECONDS = 5.0
"""Between two lines where there is no terminal."""
BARS = " ▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉█"
WIDEST: Final = 110
"""Columns of the frame at the most; a longer line is hard to read."""
BESIDE: Final = 33
"""Columns of the frame that stand beside a sparkline or a bar: edges, name and number."""
PHASE_BAR: Final = 12

ARRIVALS: Final = "blue"
SERVED: Final = "green"
SHED: Final = "red"
WAITING: Final = "yellow"
"""The same meanings as on the report's page."""


class View:
    """Shows snapshots of the queue; a context manager, since a live frame must be closed."""

    def __init__(
        self, console: Console, *, phases: Sequence[Phase], deadline_seconds: float
    ) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._phases = phases
        self._deadline = deadline_seconds
        self._snapshots: list[Snapshot] = []
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

    def show(self, phase: Phase, seconds: float, snapshot: Snapshot, *, end: bool = False) -> None:
        """``seconds``: since the phase began. ``end``: it is over; without a terminal that is
        written down at once."""
        self._snapshots.append(snapshot)
        if self._live:
            self._live.update(self._frame(phase, seconds, end=end), refresh=True)
            return
        if end or time.monotonic() - self._last_line >= PLAIN_SECONDS:
            self._last_line = time.monotonic()
            self._console.print(line(phase, seconds, snapshot), highlight=False, soft_wrap=True)

    def _frame(self, phase: Phase, seconds: float, *, end: bool) -> RenderableType:
        width = min(self._console.width, WIDEST)
        now = self._snapshots[-1]
        return Panel(
            Group(
                _progress(self._phases, phase, seconds, end=end),
                "",
                self._flows(width - BESIDE),
                "",
                self._ages(now, width - BESIDE),
                "",
                _whereabouts(now),
            ),
            title="[bold]lifoq[/] newest first, under overload",
            title_align="left",
            box=box.ROUNDED,
            border_style="dim",
            width=width,
            padding=(1, 2),
        )

    def _flows(self, width: int) -> Table:
        """Rates over time, all on one scale."""
        recent = self._snapshots[-width:]
        flows = (
            ("came in", ARRIVALS, [snapshot.arrival_rate for snapshot in recent]),
            ("served", SERVED, [snapshot.service_rate for snapshot in recent]),
            ("shed", SHED, [snapshot.shed_rate for snapshot in recent]),
        )
        top = max(rate for _, _, rates in flows for rate in rates)
        return _grid(
            (name, f"{rates[-1]:.1f}/s", Text(sparkline(rates, top=top), style=color))
            for name, color, rates in flows
        )

    def _ages(self, now: Snapshot, width: int) -> Table:
        """The newest and the oldest task that wait, as far as the deadline."""
        ages = (("newest waits", now.newest_waiting), ("oldest waits", now.oldest_waiting))
        rows = [
            (name, age(seconds), Text(bar((seconds or 0) / self._deadline, width), style=WAITING))
            for name, seconds in ages
        ]
        edge = Text(f"{f'deadline {self._deadline:g} s ▏':>{width + 1}}", style=SHED)
        return _grid([*rows, ("", "", edge)])


def _grid(rows: Iterable[tuple[str, str, Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(min_width=13, style="dim")
    table.add_column(min_width=8, justify="right")
    table.add_column(no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _progress(phases: Sequence[Phase], current: Phase, seconds: float, *, end: bool) -> Text:
    """All phases in their order: past, present with its bar, and to come."""
    text = Text()
    place = phases.index(current) + end
    for n, phase in enumerate(phases):
        text.append("  " if n else "")
        if n < place:
            text.append(f"✓ {phase.name}", style="green")
        elif n > place:
            text.append(f"· {phase.name}", style="dim")
        else:
            text.append(f"{phase.name} ", style="bold")
            text.append(bar(seconds / phase.seconds, PHASE_BAR, ground="░"), style="cyan")
            text.append(f" {seconds:.0f} s")
    return text


def _whereabouts(now: Snapshot) -> Text:
    """Where every task is."""
    counts = now.counts
    parts = (
        (f"{counts.created} tasks", "bold"),
        (f"{counts.waiting} waiting", WAITING),
        (f"{counts.taken} in work", ""),
        (f"{counts.succeeded} succeeded", SERVED),
        (f"{counts.failed} failed", "" if counts.failed else "dim"),
        (f"{counts.shed} shed", SHED),
    )
    return Text("   ").join(Text(part, style=style) for part, style in parts)


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


def sparkline(values: Sequence[float], *, top: float) -> str:
    """A bar for each value, full at ``top``; what is not nought is seen."""
    steps = len(BARS) - 1
    return "".join(BARS[min(steps, -int(-value * steps // (top or 1)))] for value in values)


def bar(share: float, width: int, *, ground: str = " ") -> str:
    """So much of ``width`` columns, to an eighth of one; full at 1 and beyond."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    whole, rest = divmod(eighths, 8)
    drawn = "█" * whole + (EIGHTHS[rest] if rest else "")
    return drawn + ground * (width - len(drawn))


def age(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f} s"


def account(counts: Counts) -> str:
    """Where every task is."""
    return (
        f"created {counts.created:,} = waiting {counts.waiting:,} + taken {counts.taken:,}"
        f" + succeeded {counts.succeeded:,} + failed {counts.failed:,}"
        f" + cancelled {counts.cancelled:,} + shed {counts.shed:,}"
    )
