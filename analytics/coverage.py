"""What the exports cover, and what they cannot tell: gaps, and windows that are too long.

An incremental export has one row per task and window. What was put and deleted within one window
leaves none, so a window longer than the shortest shedding deadline may hide tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analytics import times
from analytics.exports import Export, Kind


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A stretch of time in epoch microseconds, its end not included."""

    start: int
    end: int

    def to_json(self) -> dict[str, Any]:
        return {"from": times.to_iso(self.start), "to": times.to_iso(self.end)}


@dataclass(frozen=True, kw_only=True)
class Coverage:
    covered: Stretch
    """From the first export to the last; before its start only what was still there is known."""
    starts_with_full_export: bool
    """Without one, tasks that nothing happened to since are unknown."""
    gaps: tuple[Stretch, ...]
    long_windows: tuple[Stretch, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.covered.to_json(),
            "starts_with_full_export": self.starts_with_full_export,
            "gaps": [gap.to_json() for gap in self.gaps],
            "long_windows": [window.to_json() for window in self.long_windows],
        }


def of(exports: Sequence[Export], *, shortest_deadline: int | None) -> Coverage:
    """``shortest_deadline``: microseconds that the least patient task may wait; None without
    tasks."""
    stretches = sorted((export.start, export.end, export.kind is Kind.FULL) for export in exports)
    start, reached, _ = stretches[0]
    gaps = []
    for begin, end, _ in stretches:
        if begin > reached:
            gaps.append(Stretch(start=reached, end=begin))
        reached = max(reached, end)
    long_windows = {
        Stretch(start=begin, end=end)
        for begin, end, _ in stretches
        if shortest_deadline is not None and end - begin > shortest_deadline
    }
    return Coverage(
        covered=Stretch(start=start, end=reached),
        starts_with_full_export=any(full for begin, _, full in stretches if begin == start),
        gaps=tuple(gaps),
        long_windows=tuple(sorted(long_windows, key=lambda window: window.start)),
    )
