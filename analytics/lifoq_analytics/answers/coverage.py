"""Gaps in the exports, and windows that are too long to tell everything.

An incremental export has one row per task and window. A task that was put and deleted within one
window leaves no row, so a window longer than the shortest shedding deadline may hide tasks.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from lifoq.basics.times import iso
from lifoq_analytics.reading.intake import Stretch, by_cell


def of(stretches: Iterable[Stretch], *, shortest_deadline: int | None) -> dict[str, Any]:
    """``shortest_deadline``: microseconds that the least patient task may wait; None without
    tasks. ``from``: before it, only what was still in the table is known."""
    cells = [_of_one(ordered, shortest_deadline) for ordered in by_cell(stretches)]
    return {
        # What is known of all: of cells, the least.
        "from": max(cell["from"] for cell in cells),
        "to": min(cell["to"] for cell in cells),
        "starts_with_full_export": all(cell["starts_with_full_export"] for cell in cells),
        **{
            name: sorted((one for cell in cells for one in cell[name]), key=itemgetter("from"))
            for name in ("gaps", "long_windows")
        },
    }


def _of_one(ordered: Sequence[Stretch], shortest_deadline: int | None) -> dict[str, Any]:
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
    return {"from": iso(start), "to": iso(end)}
