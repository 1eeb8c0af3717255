"""The worst of each kind: what an operator looks at first."""

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lifoq.basics.times import iso
from lifoq_analytics.answers.buckets import Span
from lifoq_analytics.columns import codes, fold, moments
from lifoq_analytics.judging.tasks import Outcome, is_at, outcomes
from lifoq_analytics.times import MICROS

LONGEST: Final = 10

_BEGINNING: Final = 80
"""Characters of an error that stand for it where it has no type."""

Ranking = list[dict[str, Any]]


def count_failures(tasks: pa.Table) -> pa.Table:
    """``task_type``, ``reason``, ``tasks``."""
    failed = tasks.filter(pa.array(is_at(outcomes(tasks), Outcome.FAILED)))
    which, errors = codes(failed["error"].fill_null(""))
    reasons = pa.array([reason(error) for error in errors.to_pylist()], pa.string())
    counted = {
        "task_type": failed["task_type"].cast(pa.string()),
        "reason": reasons.take(pa.array(which)),
        "tasks": np.ones(failed.num_rows, np.int64),
    }
    return add_failures([pa.table(counted)])


def add_failures(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, ["task_type", "reason"])


def reason(error: str) -> str:
    """The type of the error, else the beginning of its text, which other writers leave."""
    try:
        described = json.loads(error)
    except (ValueError, RecursionError):
        described = None
    kind = described.get("type") if isinstance(described, dict) else None
    return str(kind or error[:_BEGINNING] or "(none)")


def failure_reasons(counted: pa.Table) -> Ranking:
    """The commonest reasons of failures."""
    order = [("tasks", "descending"), ("task_type", "ascending"), ("reason", "ascending")]
    return list(counted.sort_by(order).slice(0, LONGEST).to_pylist())


def find_oldest(tasks: pa.Table, *, as_of: int) -> pa.Table:
    """``task_id``, ``task_type``, ``enqueued_at``, ``attempts`` of the tasks at the far end of the
    line; those between two attempts stand in it too."""
    waits = is_at(outcomes(tasks), Outcome.WAITING) & (moments(tasks["enqueued_at"]) <= as_of)
    waiting = tasks.filter(pa.array(waits))
    return oldest_of(
        [
            pa.table(
                {
                    "task_id": waiting["task_id"],
                    "task_type": waiting["task_type"].cast(pa.string()),
                    "enqueued_at": waiting["enqueued_at"].cast(pa.int64()),
                    "attempts": waiting["attempts"],
                }
            )
        ]
    )


def oldest_of(tables: Sequence[pa.Table]) -> pa.Table:
    order = [("enqueued_at", "ascending"), ("task_id", "ascending")]
    return pa.concat_tables(tables).sort_by(order).slice(0, LONGEST)


def oldest_waiting(found: pa.Table, *, as_of: int) -> Ranking:
    return [
        {
            "task_id": row["task_id"],
            "task_type": row["task_type"],
            "enqueued_at": iso(row["enqueued_at"]),
            "age_seconds": (as_of - row["enqueued_at"]) / MICROS,
            "attempts": row["attempts"],
        }
        for row in found.to_pylist()
    ]


def largest_sheddings(flows: pa.Table, span: Span) -> Ranking:
    """The buckets in which most tasks of a type were shed."""
    shed = flows.filter(pa.compute.equal(flows["flow"], "shed"))
    order = [("tasks", "descending"), ("bucket", "ascending"), ("task_type", "ascending")]
    return [
        {
            "task_type": row["task_type"],
            "bucket_start": iso((row["bucket"] + span.first) * span.size),
            "shed": row["tasks"],
        }
        for row in shed.sort_by(order).slice(0, LONGEST).to_pylist()
    ]
