"""Quantities times prices. The prices are data: ``prices.json``, each with its date and source."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.cost.transitions import Row

_DATA: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("prices.json").read_text())
PRICES: Final[tuple[Row, ...]] = tuple(_DATA["prices"])
_BY_NAME: Final = {price["name"]: price for price in PRICES}

MILLION: Final = 1_000_000
GIGABYTE: Final = 10**9
MONTH_SECONDS: Final = 730 * 3600
RETENTION_MONTHS: Final = 7 * 86_400 / MONTH_SECONDS
"""For which a success is kept, by default."""


def usd(name: str, quantity: float) -> float:
    """Dollars of a quantity, in the unit of its price."""
    price = _BY_NAME[name]
    return float(price["usd"] / price["per"] * quantity)


def lines(quantities: Mapping[str, float]) -> list[Row]:
    """A line for each quantity, by the name of its price."""
    return [
        {
            "what": name,
            "quantity": quantity,
            "unit": _BY_NAME[name]["unit"],
            "usd": usd(name, quantity),
        }
        for name, quantity in quantities.items()
    ]


def stream_reads(seconds: float) -> float:
    """Lambda's, of a stream with one shard: four a second, whether there is something or not
    (https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html)."""
    return 4 * seconds


def traces(runs: float, seconds: float) -> float:
    """That X-Ray records of so many runs, evenly spread, under its default rule: the first of each
    second, and 5 % of the others
    (https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html)."""
    first = min(runs, seconds)
    return first + 0.05 * (runs - first)
