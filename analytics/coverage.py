"""What the exports cover, and what they cannot tell: gaps, and windows that are too long.

An incremental export has one row per task and window. What was put and deleted within one window
leaves none, so a window longer than the shortest shedding deadline may hide tasks.
"""

from collections.abc import Iterable
from typing import Any

from analytics import times
from analytics.intake import Stretch


def of(stretches: Iterable[Stretch], *, shortest_deadline: int | None) -> dict[str, Any]:
    """``shortest_deadline``: microseconds that the least patient task may wait; None without
    tasks. ``from``: before it, only what was still in the table is known."""
    ordered = sorted(set(stretches))
    start = reached = ordered[0].start
    gaps = []
    for stretch in ordered:
        if stretch.start > reached:
            gaps.append(_json(reached, stretch.start))
        reached = max(reached, stretch.end)
    return {
        **_json(start, reached),
        "starts_with_full_export": any(each.full and each.start == start for each in ordered),
        "gaps": gaps,
        "long_windows": [
            _json(each.start, each.end)
            for each in ordered
            if shortest_deadline is not None and each.end - each.start > shortest_deadline
        ],
    }


def _json(start: int, end: int) -> dict[str, str]:
    return {"from": times.to_iso(start), "to": times.to_iso(end)}
