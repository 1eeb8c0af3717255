"""Numbers and names as the page shows them."""

import math
from collections.abc import Sequence
from typing import Any, Final

DIGITS: Final = 3
"""Significant ones: more would say more than was measured."""
SMALLEST_SHARE: Final = 0.001
"""The smallest share that is told apart from nothing, and from all."""


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
    """Return a share as a percentage with one decimal. A share that is not quite nothing or all
    does not look like it."""
    if 0 < share < SMALLEST_SHARE:
        return f"< {number(100 * SMALLEST_SHARE)} %"
    if 1 - SMALLEST_SHARE < share < 1:
        return f"> {number(100 - 100 * SMALLEST_SHARE)} %"
    return f"{round(100 * share, 1):,.10g} %"


def span(values: Sequence[float]) -> str:
    """Return the least and the greatest of the values as text."""
    values = list(values)
    least, greatest = number(min(values)), number(max(values))
    return least if least == greatest else f"{least} to {greatest}"
