"""The report's answers: counts that add up, rates and times, in total and by task type."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from analytics import percentiles, times
from analytics.peak import Peak
from analytics.percentiles import Measure, Percentiles
from analytics.tasks import Outcome
from analytics.times import MICROS

_TIMES: Final = ("wait", "service", "sojourn")
_WAIT_BY_TYPE: Final = "wait_by_type"
_ALL: Final = "all"

FRESH_SECONDS: Final = (1, 10, 60, 600, 3_600)
"""Ages below which a first claim may count as fresh."""

Counts = dict[str, Any]
"""What one pass over the tasks finds for a task type, or for several together: sums are numbers,
maxima and minima may be None. Times and durations are microseconds."""


def count(tasks: DataFrame, *, as_of: int) -> dict[str, Counts]:
    """One pass over the tasks, by task type."""
    columns = [column.alias(name) for name, column in _aggregates(as_of).items()]
    rows = tasks.groupBy("task_type").agg(*columns).orderBy("task_type").collect()
    return {row["task_type"]: row.asDict() for row in rows}


def total(counts: Iterable[Counts]) -> Counts:
    """The counts of several task types together."""
    several = list(counts)
    return {
        name: _fold(name)([one[name] for one in several if one[name] is not None])
        for name in _aggregates(0)
    }


def _aggregates(as_of: int) -> dict[str, Column]:
    """By the prefix of their names it is known how they add up: ``max_``, ``min_``, else sums."""
    outcome = sf.col("outcome")
    waits = _waits(as_of)
    is_waiting = outcome == Outcome.WAITING.value
    return {
        "created": sf.count("task_id"),
        **{value.value: sf.count_if(outcome == value.value) for value in Outcome},
        "first_claims": sf.count("first_taken_at"),
        "backlog": sf.count_if(waits),
        "not_due": sf.count_if(is_waiting & (sf.col("enqueued_at") > as_of)),
        "retrying": sf.count_if(is_waiting & sf.col("first_taken_at").isNotNull()),
        "claimed": sf.count_if(sf.col("attempts") > 0),
        "attempts": sf.coalesce(sf.sum("attempts"), sf.lit(0)),
        "retried": sf.count_if(sf.col("attempts") > 1),
        "max_attempts": sf.max("attempts"),
        "service": sf.coalesce(sf.sum("service_us"), sf.lit(0)),
        **{f"fresh_{age}": sf.count_if(sf.col("wait_us") < age * MICROS) for age in FRESH_SECONDS},
        **{f"max_{measure}": sf.max(f"{measure}_us") for measure in _TIMES},
        "min_enqueued_at": sf.min(sf.when(sf.col("enqueued_at") <= as_of, sf.col("enqueued_at"))),
        "min_waiting_at": sf.min(sf.when(waits, sf.col("enqueued_at"))),
        **{
            f"{name}_deadline": fold(sf.col("expires_at") - sf.col("enqueued_at"))
            for name, fold in (("min", sf.min), ("max", sf.max))
        },
        "min_shed_at": sf.min("shed_at"),
        "max_shed_at": sf.max("shed_at"),
        "max_waited": sf.max(
            sf.when(
                sf.col("enqueued_at") <= as_of,
                sf.coalesce("left_at", sf.lit(as_of)) - sf.col("enqueued_at"),
            )
        ),
    }


def measures() -> list[Measure]:
    """What ``build`` needs the percentiles of."""
    in_total = [
        Measure(name=name, value=sf.col(f"{name}_us"), group=sf.lit(_ALL)) for name in _TIMES
    ]
    by_type = Measure(name=_WAIT_BY_TYPE, value=sf.col("wait_us"), group=sf.col("task_type"))
    return [*in_total, by_type]


def _waits(as_of: int) -> Column:
    return (sf.col("enqueued_at") <= as_of) & (
        sf.col("left_at").isNull() | (sf.col("left_at") > as_of)
    )


def _fold(name: str) -> Callable[[list[int]], int | None]:
    if name.startswith("max_"):
        return lambda values: max(values, default=None)
    if name.startswith("min_"):
        return lambda values: min(values, default=None)
    return sum


def build(
    *,
    by_type: Mapping[str, Counts],
    found: Mapping[str, Mapping[str, Percentiles]],
    peak: Peak,
    window_from: int,
    as_of: int,
) -> dict[str, Any]:
    """The part of ``summary.json`` that is about the tasks."""
    everything = total(by_type.values())
    return {
        "as_of": times.to_iso(as_of),
        "window": {"from": times.to_iso(window_from), "to": times.to_iso(as_of)},
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
            f"{measure}_seconds": _spread(everything, measure, found[measure].get(_ALL))
            for measure in _TIMES
        },
        "attempts": {
            "mean": _ratio(everything["attempts"], everything["claimed"]),
            "max": everything["max_attempts"],
            "retried": everything["retried"],
            "retries": everything["attempts"] - everything["claimed"],
        },
        "fresh_claims": _freshness(everything),
        "by_type": {
            task_type: {
                **_tasks(counts),
                "shedding_rate": shedding_rate(counts),
                "oldest_waiting_seconds": _seconds(_age(counts["min_waiting_at"], as_of)),
                "wait_seconds": _spread(counts, "wait", found[_WAIT_BY_TYPE].get(task_type)),
                "retried": counts["retried"],
                "fresh_claims": _freshness(counts),
            }
            for task_type, counts in by_type.items()
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
    return None if micros is None else times.to_iso(micros)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / MICROS


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
