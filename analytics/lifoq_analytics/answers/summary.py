"""The report's answers: counts that add up, rates and times, in total and by task type."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lifoq.basics.times import iso
from lifoq_analytics.answers import percentiles
from lifoq_analytics.answers.peak import Peak
from lifoq_analytics.answers.percentiles import Measure, Percentiles
from lifoq_analytics.columns import NEVER, Array, codes, column, fold, moments
from lifoq_analytics.judging.tasks import Outcome, is_at, outcomes
from lifoq_analytics.times import MICROS

_TIMES: Final = ("wait", "service", "sojourn")
_WAIT_BY_TYPE: Final = "wait_by_type"
_ALL: Final = "all"

FRESH_SECONDS: Final = (1, 10, 60, 600, 3_600)
"""Ages below which a first claim may count as fresh."""

Counts = dict[str, Any]
"""The counts of the tasks of a type, or of several types together. Sums are numbers; maxima and
minima may be None. Times and durations are microseconds."""


def count(tasks: pa.Table, *, as_of: int) -> pa.Table:
    """A row for each task type."""
    each = {name: _column(values) for name, values in _contributions(tasks, as_of).items()}
    return add_counts([pa.table({"task_type": tasks["task_type"].cast(pa.string()), **each})])


def add_counts(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, ["task_type"])


def by_type(counted: pa.Table) -> dict[str, Counts]:
    return {row["task_type"]: row for row in counted.sort_by("task_type").to_pylist()}


def total(counted: pa.Table) -> Counts:
    """The counts of all task types together."""
    together = counted.set_column(0, "task_type", pa.repeat("", counted.num_rows))
    rows = add_counts([together]).to_pylist()
    return (
        rows[0]
        if rows
        else {
            name: None if name.startswith(("max_", "min_")) else 0 for name in counted.column_names
        }
    )


def _contributions(tasks: pa.Table, as_of: int) -> dict[str, Array]:
    """Return what each task adds to the counts of its type, or stands for in a maximum or
    minimum."""
    outcome = outcomes(tasks)
    enqueued_at, first_taken_at, left_at, expires_at, shed_at = (
        moments(tasks[name])
        for name in ("enqueued_at", "first_taken_at", "left_at", "expires_at", "shed_at")
    )
    wait, service, sojourn = (moments(tasks[f"{name}_us"]) for name in _TIMES)
    attempts = moments(tasks["attempts"])
    replaced = moments(tasks["replaced"])
    tried = np.where(attempts == NEVER, 0, attempts)
    arrived = enqueued_at <= as_of
    waits = arrived & (left_at > as_of)
    is_waiting = is_at(outcome, Outcome.WAITING)
    claimed = first_taken_at != NEVER
    deadline = expires_at - enqueued_at
    return {
        "created": np.ones(len(outcome), bool),
        **{value.value: is_at(outcome, value) for value in Outcome},
        "first_claims": claimed,
        "backlog": waits,
        "not_due": is_waiting & ~arrived,
        "retrying": is_waiting & claimed,
        "claimed": tried > 0,
        "attempts": tried,
        "retried": tried > 1,
        "replaced": np.where(replaced == NEVER, 0, replaced),
        "max_attempts": attempts,
        "service": np.where(service == NEVER, 0, service),
        **{f"fresh_{age}": wait < age * MICROS for age in FRESH_SECONDS},
        "max_wait": wait,
        "max_service": service,
        "max_sojourn": sojourn,
        "min_waiting_at": np.where(waits, enqueued_at, NEVER),
        "min_deadline": deadline,
        "max_deadline": deadline,
        "min_shed_at": shed_at,
        "max_shed_at": shed_at,
        "max_waited": np.where(arrived, np.minimum(left_at, as_of) - enqueued_at, NEVER),
    }


def _column(values: Array) -> pa.Array:
    return column(values.astype(np.int64))


def measures(tasks: pa.Table) -> list[Measure]:
    """Return the measures of which ``build`` needs the percentiles."""
    kind, names = codes(tasks["task_type"])
    found = []
    for name in _TIMES:
        values = moments(tasks[f"{name}_us"])
        there = values != NEVER
        everybody = np.zeros(int(there.sum()), np.int64)
        found.append(
            Measure(name=name, values=values[there], group=everybody, groups=pa.array([_ALL]))
        )
        if name == "wait":
            found.append(
                Measure(name=_WAIT_BY_TYPE, values=values[there], group=kind[there], groups=names)
            )
    return found


def build(
    *,
    counted: pa.Table,
    found: Mapping[str, Mapping[str, Percentiles]],
    peak: Peak,
    window_from: int,
    as_of: int,
) -> dict[str, Any]:
    """The part of ``summary.json`` that is about the tasks."""
    everything = total(counted)
    return {
        "as_of": iso(as_of),
        "window": {"from": iso(window_from), "to": iso(as_of)},
        "tasks": _tasks(everything),
        "conservation": {
            "accounted": sum(everything[outcome.value] for outcome in Outcome),
            "difference": everything["created"]
            - sum(everything[outcome.value] for outcome in Outcome),
        },
        "waiting": {
            "for_first_claim": everything["backlog"],
            "not_due": everything["not_due"],
            "retrying": everything["retrying"],
        },
        "shedding_rate": shedding_rate(everything),
        "backlog": {
            "max": peak.backlog,
            "max_at": _moment(peak.at),
            "end": everything["backlog"],
        },
        "oldest_waiting_seconds": _seconds(_age(everything["min_waiting_at"], as_of)),
        "longest_wait_seconds": _seconds(everything["max_waited"]),
        "deadline_seconds": {
            name: _seconds(everything[f"{name}_deadline"]) for name in ("min", "max")
        },
        "shed_at": {
            "first": _moment(everything["min_shed_at"]),
            "last": _moment(everything["max_shed_at"]),
        },
        **{
            f"{measure}_seconds": _spread(everything, measure, found.get(measure, {}).get(_ALL))
            for measure in _TIMES
        },
        "attempts": {
            "mean": _ratio(everything["attempts"], everything["claimed"]),
            "max": everything["max_attempts"],
            "retried": everything["retried"],
            "retries": everything["attempts"] - everything["claimed"],
        },
        "replaced": everything["replaced"],
        "fresh_claims": _freshness(everything),
        "by_type": {
            task_type: {
                **_tasks(counts),
                "shedding_rate": shedding_rate(counts),
                "oldest_waiting_seconds": _seconds(_age(counts["min_waiting_at"], as_of)),
                "wait_seconds": _spread(
                    counts, "wait", found.get(_WAIT_BY_TYPE, {}).get(task_type)
                ),
                "retried": counts["retried"],
                "replaced": counts["replaced"],
                "fresh_claims": _freshness(counts),
            }
            for task_type, counts in by_type(counted).items()
        },
    }


def shedding_rate(counts: Mapping[str, int]) -> float | None:
    """Shed of those that left the queue; None if none left."""
    return _ratio(counts["shed"], counts["shed"] + counts["first_claims"])


def _tasks(counts: Counts) -> dict[str, int]:
    return {name: counts[name] for name in ("created", *(outcome.value for outcome in Outcome))}


def _spread(counts: Counts, measure: str, found: Percentiles | None) -> dict[str, float | None]:
    known = found or {}
    spread = {f"p{percent}": _seconds(known.get(percent)) for percent in percentiles.PERCENTS}
    return {**spread, "max": _seconds(counts[f"max_{measure}"])}


def _freshness(counts: Counts) -> dict[str, float | None]:
    """The share of first claims that came before the task was so many seconds old."""
    return {
        str(age): _ratio(counts[f"fresh_{age}"], counts["first_claims"]) for age in FRESH_SECONDS
    }


def _age(since: int | None, now: int) -> int | None:
    return None if since is None else now - since


def _moment(micros: int | None) -> str | None:
    return None if micros is None else iso(micros)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / MICROS


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
