"""The quotas of shared limits, as the command shows them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from lifoq.basics.times import iso
from lifoq.operating.shared_limit_usage import LimitUsage
from lifoq_cli import moments


def as_json(totals: LimitUsage) -> dict[str, Any]:
    """Return the totals of one limit for JSON, with the time in ISO form."""
    found = asdict(totals)
    if totals.cell is None:
        del found["cell"]
    return {**found, "free_at": None if totals.free_at is None else iso(totals.free_at)}


def table(limits: Sequence[LimitUsage], *, now: int) -> Table:
    """Return a table with a row for each limit; ``now``: epoch microseconds."""
    found = Table(box=None, pad_edge=False, header_style="bold")
    for title in (
        "SHARED LIMIT",
        "AT A TIME",
        "SHARDS",
        "WORKERS",
        "SHORT",
        "FREE, UNLESS RENEWED",
    ):
        found.add_column(title, no_wrap=True)
    for one in limits:
        free = "now" if one.free_at is None else moments.distance(one.free_at, now=now)
        short = "yes" if one.is_short else "no"
        found.add_row(one.title, one.at_a_time, one.of_rate, one.holders, short, free)
    return found
