"""The outlook, and the cost: answers that rest on an assumption, which they state."""

from collections.abc import Mapping
from typing import Any, Final

from lifoq.basics.times import iso
from lifoq_analytics.answers.buckets import Buckets, Span
from lifoq_analytics.times import MICROS

_HOUR: Final = 3_600
_RECENT_SHARE: Final = 20
_MOST_RECENT: Final = 10

WRITE_UNITS: Final = {
    "put": 2,
    "claim": 3,
    "success": 2,
    "failure": 3,
    "cancellation": 2,
    "retry": 6,
}
"""Write units of an item of at most 1 KB: one for the table, one for each index entry written or
removed. A retry is two writes: back off, and fall due again."""

USD_PER_MILLION_WRITE_UNITS: Final = 0.625
"""The price on demand in us-east-1 (https://aws.amazon.com/dynamodb/pricing/on-demand/)."""


def forecast(buckets: Buckets, span: Span, *, backlog: int) -> dict[str, Any]:
    """When the backlog clears, or how much is going to be shed, if the rates stay as they are now:
    as they were in its last buckets."""
    begin, end = recent(span)
    arriving, served = (
        _rate(int(buckets.flows[name][begin:end].sum()), _covered(span, begin, end)) or 0.0
        for name in ("arrivals", "first_claims")
    )
    # Without a backlog every arrival is claimed; what differs is chance.
    surplus = arriving - served if backlog else 0.0
    return {
        "from": iso(max(span.start, int(span.begins()[begin]))),
        "to": iso(int(span.ends()[end - 1])),
        "arrivals_per_second": arriving,
        "first_claims_per_second": served,
        "clears_in_seconds": backlog / -surplus if surplus < 0 else (None if backlog else 0.0),
        "shed_per_hour": max(surplus, 0.0) * _HOUR,
        "assumption": "Arrivals and first claims go on at their mean rates of the time given; "
        "what arrives beyond what is claimed is shed one deadline later.",
    }


def recent(span: Span) -> tuple[int, int]:
    """Return the first and the last of the buckets that tell the rates of now: one in twenty, and
    no more than ten. The last bucket is among them once half of it is over."""
    last_is_known = 2 * _covered(span, span.number - 1, span.number) >= span.size
    end = span.number if last_is_known else max(1, span.number - 1)
    return end - min(max(1, end // _RECENT_SHARE), _MOST_RECENT), end


def _covered(span: Span, begin: int, end: int) -> int:
    return int(span.ends()[end - 1]) - max(span.start, int(span.begins()[begin]))


def cost(everything: Mapping[str, int]) -> dict[str, Any]:
    """DynamoDB's write units of these tasks' lives, from their counts."""
    operations = {
        "put": everything["created"],
        "claim": everything["attempts"],
        "success": everything["succeeded"],
        "failure": everything["failed"],
        "cancellation": everything["cancelled"],
        "retry": everything["attempts"] - everything["claimed"],
    }
    units = sum(WRITE_UNITS[name] * number for name, number in operations.items())
    return {
        "operations": operations,
        "write_units": units,
        "usd": units * USD_PER_MILLION_WRITE_UNITS / 1_000_000,
        "usd_per_million_write_units": USD_PER_MILLION_WRITE_UNITS,
        "assumption": "Items of at most 1 KB, on-demand prices of us-east-1; without heartbeats, "
        "checkpoints, failed conditions, reads, stream and functions. TTL deletes cost nothing.",
    }


def utilisation(everything: Mapping[str, Any], *, window: int, slots: int | None) -> dict[str, Any]:
    """``window`` in microseconds. ``busy_slots`` is the mean number of tasks in service at a time,
    counting each task's last attempt; with the number of worker slots known, their share."""
    busy = everything["service"] / window if window else None
    return {
        "busy_slots": busy,
        "slots": slots,
        "share": None if slots is None or busy is None else busy / slots,
        "arrivals_per_second": _rate(everything["created"] - everything["not_due"], window),
        "first_claims_per_second": _rate(everything["first_claims"], window),
    }


def _rate(number: int, window: int) -> float | None:
    return number * MICROS / window if window else None
