"""Ours beside the bare calls that it cannot do without: two contenders that take turns."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

Row = dict[str, Any]


def ratio(runs: Sequence[Row], *, ours: str, bare: str, goal: float) -> Row:
    """Of the two speeds in the same repeat, beside both contenders' medians."""
    own, other = ([run for run in runs if run["contender"] == who] for who in (ours, bare))
    ratios = [
        round(run["tasks_per_second"] / beside["tasks_per_second"], 3)
        for run, beside in zip(own, other, strict=True)
    ]
    return {
        "tasks_per_second": _median(own, "tasks_per_second"),
        "bare_tasks_per_second": _median(other, "tasks_per_second"),
        "ratio": median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "client_cpu_ms_per_task": _median(own, "client_cpu_ms_per_task"),
        "bare_client_cpu_ms_per_task": _median(other, "client_cpu_ms_per_task"),
        "goal_met": median(ratios) >= goal,
    }


def _median(runs: Iterable[Row], key: str) -> float:
    return float(median(run[key] for run in runs))
