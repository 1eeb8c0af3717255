"""Numbers and names as the page shows them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

DIGITS: Final = 3
"""Significant ones: more would say more than was measured."""
SMALLEST_SHARE: Final = 0.001
"""That is told apart from nothing, and from all."""
POLICIES: Final = {
    "lifo": "newest first (default)",
    "lifo, no deadline": "newest first, no deadline",
    "adaptive": "adaptive",
    "fifo, deadline": "oldest first, deadline",
    "fifo, bounded": "oldest first, bounded",
    "fifo, no deadline": "oldest first, no deadline",
}
"""Of goodput, in the order of a legend."""


def shown(value: Any) -> Any:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return number(value)
        case _:
            return value


def number(value: float) -> str:
    """Three significant digits, and every digit before the point."""
    if value == 0:
        return "0"
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    rounded = f"{value:,.{decimals}f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def percent(share: float) -> str:
    """With one decimal; what is not quite nothing or all does not look like it."""
    if 0 < share < SMALLEST_SHARE:
        return f"< {number(100 * SMALLEST_SHARE)} %"
    if 1 - SMALLEST_SHARE < share < 1:
        return f"> {number(100 - 100 * SMALLEST_SHARE)} %"
    return f"{round(100 * share, 1):,.10g} %"


def points(value: float) -> str:
    """Of a difference between two shares in per cent."""
    rounded = round(value, 2) + 0.0  # no negative nothing
    return f"{rounded:g} points"


def seconds(value: float) -> str:
    """In the unit that is read most easily."""
    if 0 < value < 1e-3:  # noqa: PLR2004  (a thousandth)
        return f"{number(value * 1e6)} µs"
    if 0 < value < 1:
        return f"{number(value * 1e3)} ms"
    return f"{number(value)} s"


def span(values: Sequence[float]) -> str:
    """From the least to the greatest."""
    values = list(values)
    least, greatest = number(min(values)), number(max(values))
    return least if least == greatest else f"{least} to {greatest}"


def policy(row: Mapping[str, Any]) -> str:
    """Of goodput: its order, and the queue's deadline in mean service times."""
    deadline = row["deadline_services"]
    name = POLICIES[row["policy"]].removesuffix(" (default)")
    if deadline is None or math.isinf(deadline):
        return name
    return f"{name.removesuffix(', deadline')}, deadline {number(deadline)}"


def deadline(row: Mapping[str, Any], patience: float) -> str:
    """Of goodput: the queue's, beside its clients' patience; both in mean service times."""
    times = row["deadline_services"] / patience
    return "deadline = patience" if times == 1 else f"deadline = {number(times)} × patience"


def kind(row: Mapping[str, Any]) -> str:
    """Of a queue in the benchmark of backlogs."""
    expired = f", {row['expired']:,} expired" if row["expired"] else ""
    return f"{row['end']} first{expired}"
