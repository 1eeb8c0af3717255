"""The queue over time, as a sweep over events: what happened in each bucket, and what waited at its
end. No task is compared with a bucket that nothing happened to it in.

A bucket holds the moments from its start up to, not including, its end; an event on an edge
belongs to the bucket that starts there. "At the bucket's end" is after all events of the bucket and
before any of the next, so that every row follows from the row before: backlog = previous backlog +
arrivals − those that left. The bucket that holds the report's moment ends there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from lifoq_analytics.columns import NEVER, Array, codes, column, count, fold, groups, moments
from lifoq_analytics.judging.tasks import Outcome, is_at, outcomes
from lifoq_analytics.times import MICROS

FLOWS: Final = (
    "arrivals",
    "arrivals_shed",
    "first_claims",
    "succeeded",
    "failed",
    "cancelled",
    "shed",
)
"""``arrivals_shed``: those of the arrivals that were shed, whenever that was. They tell when more
came in than could be served; ``shed`` tells it a deadline later."""
LEFT: Final = "left"
"""Tasks that stopped waiting: by a first claim, or shed or cancelled before one."""

_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")

BY_TYPE: Final = pa.schema(
    [
        ("bucket_start", _TIMESTAMP),
        ("task_type", pa.dictionary(pa.int32(), pa.string())),
        *((name, pa.int64()) for name in FLOWS),
        ("backlog", pa.int64()),
        ("oldest_waiting_seconds", pa.float64()),
    ]
)
"""``buckets_by_type.parquet``; without the type, ``buckets.parquet``."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """The report's time, cut into buckets. Epoch microseconds; a bucket's number counts from the
    one that holds ``start``, the last holds ``as_of``."""

    size: int
    start: int
    as_of: int

    @property
    def first(self) -> int:
        """The first bucket's number, counted from the epoch."""
        return self.start // self.size

    @property
    def number(self) -> int:
        return self.as_of // self.size - self.first + 1

    def bucket(self, at: Array) -> Array:
        return np.asarray(at // self.size - self.first)

    def begins(self) -> Array:
        return np.arange(self.first, self.first + self.number) * self.size

    def ends(self) -> Array:
        return np.asarray(np.minimum(self.begins() + self.size, self.as_of))


@dataclass(frozen=True, kw_only=True)
class Buckets:
    """A row for each bucket of a span, quiet ones included."""

    flows: Mapping[str, Array]
    """The counts of ``FLOWS`` and ``LEFT``, by name."""
    oldest: Array
    """When the oldest task that waits at the bucket's end was enqueued; else ``NEVER``."""
    backlog: Array = field(init=False)

    def __post_init__(self) -> None:
        change = self.flows["arrivals"] - self.flows[LEFT]
        object.__setattr__(self, "backlog", np.cumsum(change))

    def table(self, span: Span, *, task_type: str | None = None) -> pa.Table:
        """Return the buckets as users read them: timestamps, and ages in seconds."""
        age = np.where(self.oldest == NEVER, NEVER, span.ends() - self.oldest)
        seconds = pa.array(age / MICROS, mask=age == NEVER)
        return pa.table(
            {
                "bucket_start": column(span.begins(), _TIMESTAMP),
                **({} if task_type is None else {"task_type": [task_type] * span.number}),
                **{name: self.flows[name] for name in FLOWS},
                "backlog": self.backlog,
                "oldest_waiting_seconds": seconds,
            }
        )


def count_flows(tasks: pa.Table, span: Span) -> pa.Table:
    """``task_type``, ``flow``, ``bucket``, ``tasks``: how often each happened in each bucket."""
    kind, names = codes(tasks["task_type"])
    counted = []
    for flow, at in _happened(tasks).items():
        seen = (at <= span.as_of) & (at >= span.start)
        keys, number = count(kind[seen] * span.number + span.bucket(at[seen]))
        counted.append(
            pa.table(
                {
                    "task_type": names.take(pa.array(keys // span.number)),
                    "flow": pa.repeat(flow, len(keys)),
                    "bucket": keys % span.number,
                    "tasks": number,
                }
            )
        )
    return pa.concat_tables(counted)


def add_flows(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, ["task_type", "flow", "bucket"])


def _happened(tasks: pa.Table) -> dict[str, Array]:
    """Return, by flow, the time at which it happened to each task."""
    enqueued_at, finished_at = moments(tasks["enqueued_at"]), moments(tasks["finished_at"])
    outcome = outcomes(tasks)

    def of(one: Outcome, at: Array) -> Array:
        return np.where(is_at(outcome, one), at, NEVER)

    return {
        "arrivals": enqueued_at,
        "arrivals_shed": of(Outcome.SHED, enqueued_at),
        "first_claims": moments(tasks["first_taken_at"]),
        "succeeded": of(Outcome.SUCCEEDED, finished_at),
        "failed": of(Outcome.FAILED, finished_at),
        "cancelled": of(Outcome.CANCELLED, finished_at),
        "shed": moments(tasks["shed_at"]),
        LEFT: moments(tasks["left_at"]),
    }


def count_stays(tasks: pa.Table, span: Span) -> pa.Table:
    """``task_type``, ``first``, ``beyond``, ``oldest``: from which bucket's end up to which a task
    is the oldest of its type that waits, and when it was enqueued."""
    kind, names = codes(tasks["task_type"])
    enqueued_at, left_at = moments(tasks["enqueued_at"]), moments(tasks["left_at"])
    arrived = (enqueued_at <= span.as_of) & (enqueued_at >= span.start)
    kind, enqueued_at, left_at = kind[arrived], enqueued_at[arrived], left_at[arrived]
    beyond = np.where(left_at <= span.as_of, span.bucket(left_at), span.number)
    return _table_of(_oldest(kind, span.bucket(enqueued_at), beyond, enqueued_at, span), names)


def add_stays(tables: Sequence[pa.Table], span: Span) -> pa.Table:
    whole = pa.concat_tables(tables)
    kind, names = codes(whole["task_type"])
    first, beyond, oldest = (whole[name].to_numpy() for name in ("first", "beyond", "oldest"))
    return _table_of(_oldest(kind, first, beyond, oldest, span), names)


def _oldest(
    kind: Array, first: Array, beyond: Array, enqueued_at: Array, span: Span
) -> tuple[Array, Array, Array, Array]:
    """The parts of stays in which nobody older of the same type waits.

    In the order of their enqueuing, each is the oldest only where all before it have left. So the
    parts do not overlap, and there are no more of them than buckets.
    """
    stays = first < beyond
    kind, first, beyond, enqueued_at = (
        values[stays] for values in (kind, first, beyond, enqueued_at)
    )
    order = np.lexsort((enqueued_at, kind))
    kind, enqueued_at = kind[order], enqueued_at[order]
    # Each type has buckets of its own, numbered on from those of the type before.
    begin, until = (kind * span.number + edge[order] for edge in (first, beyond))
    begin = np.maximum(begin, np.append(0, np.maximum.accumulate(until)[:-1])[: len(until)])
    oldest = begin < until
    kind, begin, until = kind[oldest], begin[oldest], until[oldest]
    return kind, begin - kind * span.number, until - kind * span.number, enqueued_at[oldest]


def _table_of(stays: tuple[Array, Array, Array, Array], names: pa.Array) -> pa.Table:
    kind, first, beyond, oldest = stays
    types = names.take(pa.array(kind, pa.int64()))
    return pa.table({"task_type": types, "first": first, "beyond": beyond, "oldest": oldest})


def by_type(flows: pa.Table, stays: pa.Table, span: Span) -> Iterator[tuple[str, Buckets]]:
    """The buckets of each task type, one type after the other: all together may be many."""
    its_stays = groups(stays, "task_type")
    for name, its_flows in groups(flows, "task_type").items():
        yield name, total(its_flows, its_stays.get(name, stays.slice(0, 0)), span)


def total(flows: pa.Table, stays: pa.Table, span: Span) -> Buckets:
    """The buckets of all these together; there are rows even where there is no task."""
    counted = {name: np.zeros(span.number, np.int64) for name in (*FLOWS, LEFT)}
    flow, names = codes(flows["flow"])
    bucket, tasks = (flows[name].to_numpy() for name in ("bucket", "tasks"))
    for number, name in enumerate(names.to_pylist()):
        here = flow == number
        np.add.at(counted[name], bucket[here], tasks[here])
    first, beyond, enqueued_at = (stays[name].to_numpy() for name in ("first", "beyond", "oldest"))
    everybody = np.zeros(len(first), np.int64)
    _, first, beyond, enqueued_at = _oldest(everybody, first, beyond, enqueued_at, span)
    oldest = np.full(span.number, NEVER)
    lengths = beyond - first
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    oldest[np.repeat(first, lengths) + within] = np.repeat(enqueued_at, lengths)
    return Buckets(flows=counted, oldest=oldest)
