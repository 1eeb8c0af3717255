"""The points of the page's charts: few enough to draw, however many tasks and buckets there are.

Each series is a list of JSON objects.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lifoq.basics.times import iso, spoken
from lifoq_analytics.answers.buckets import FLOWS, Buckets, Span
from lifoq_analytics.answers.percentiles import Measure, Percentiles
from lifoq_analytics.columns import NEVER, count, fold, moments
from lifoq_analytics.judging.tasks import Outcome, is_at, outcomes
from lifoq_analytics.times import MICROS

MOST_POINTS: Final = 300

RATES: Final = ("arrivals", "arrivals_shed", "first_claims", "shed")

Points = list[dict[str, Any]]

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
AGES: Final = (
    *(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
    *(_MINUTE, 3 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 12 * _HOUR, _DAY),
)
"""Seconds. The edges of the age distribution, about three to a decade."""


def width(number_of_buckets: int) -> int:
    """Return the number of buckets that one point stands for."""
    return -(-number_of_buckets // MOST_POINTS)


def over_time(buckets: Buckets, span: Span, *, width: int) -> Points:
    """Flows per second, and at the end of each point's time: how many tasks were in the queue, and
    the age of the oldest that waited.

    A point at either end that the report covers less than half of has no rates, which would be of
    a moment: they are None.
    """
    number = np.arange(span.first, span.first + span.number) // width
    firsts = np.flatnonzero(np.diff(number, prepend=-1))
    lasts = np.append(firsts[1:], span.number) - 1
    flows = {name: np.add.reduceat(buckets.flows[name], firsts) for name in FLOWS}
    gone = sum(flows[name] for name in ("succeeded", "failed", "cancelled", "shed"))
    present = np.cumsum(flows["arrivals"] - gone)
    length = span.size * width
    points = []
    for point, last in enumerate(lasts.tolist()):
        begin = int(number[last]) * length
        until = min(begin + length, span.as_of)
        covered = until - max(begin, span.start) if len(lasts) > 1 else length
        oldest, backlog = int(buckets.oldest[last]), int(buckets.backlog[last])
        points.append(
            {
                "time": iso(begin),
                "until": iso(until),
                **{
                    name: int(flows[name][point]) * MICROS / covered
                    if covered * 2 >= length
                    else None
                    for name in RATES
                },
                "waiting": backlog,
                "claimed": int(present[point]) - backlog,
                "oldest_waiting_seconds": None if oldest == NEVER else (until - oldest) / MICROS,
            }
        )
    return points


WAITS: Final = "wait_by_point"


def waits_measure(tasks: pa.Table, *, length: int) -> Measure:
    """The waits of those first claimed in each point's time, of ``length`` microseconds."""
    wait, claimed_at = moments(tasks["wait_us"]), moments(tasks["first_taken_at"])
    claimed = claimed_at != NEVER
    points, group = np.unique(claimed_at[claimed] // length, return_inverse=True)
    names = pa.array(points, pa.int64()).cast(pa.string())
    return Measure(name=WAITS, values=wait[claimed], group=group, groups=names)


def waits(found: Mapping[str, Mapping[str, Percentiles]], *, length: int) -> Points:
    """Percentiles of the wait over time."""
    by_point = sorted((int(point), values) for point, values in found.get(WAITS, {}).items())
    return [
        {
            "time": iso(point * length),
            **{f"p{percent}": value / MICROS for percent, value in sorted(values.items())},
        }
        for point, values in by_point
    ]


_CLAIMED, _SHED, _WAITING = "claimed", "shed", "waiting"


def count_ages(tasks: pa.Table, *, as_of: int) -> pa.Table:
    """``kind``, ``bin``, ``tasks``: how long tasks waited, by what then became of them."""
    enqueued_at, left_at = moments(tasks["enqueued_at"]), moments(tasks["left_at"])
    outcome, claimed = outcomes(tasks), moments(tasks["first_taken_at"]) != NEVER
    waited = np.where(left_at == NEVER, as_of, left_at) - enqueued_at
    reached = np.searchsorted(np.multiply(AGES, MICROS).astype(np.int64), waited, side="right")
    arrived = enqueued_at <= as_of
    tables = []
    for kind, is_kind in (
        (_CLAIMED, claimed),
        (_SHED, ~claimed & is_at(outcome, Outcome.SHED)),
        (_WAITING, ~claimed & is_at(outcome, Outcome.WAITING)),
    ):
        bins, number = count(reached[is_kind & arrived])
        kinds = pa.repeat(kind, len(bins))
        tables.append(pa.table({"kind": kinds, "bin": bins, "tasks": number}))
    return pa.concat_tables(tables)


def add_ages(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, ["kind", "bin"])


def ages(counted: pa.Table) -> Points:
    """Return how long tasks waited: the claimed, those shed before a first claim, those still
    waiting."""
    ordered = counted.sort_by([("bin", "ascending"), ("kind", "ascending")])
    return [{**row, "age": _label(row["bin"])} for row in ordered.to_pylist()]


def _label(reached: int) -> str:
    if reached == len(AGES):
        return f"≥ {spoken(AGES[-1])}"
    return f"< {spoken(AGES[reached])}"
