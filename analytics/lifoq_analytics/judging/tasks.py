"""One row per task: the latest image wins, and what became of the task follows from it.

The definitions are the report's: a task **waits** from ``enqueued_at`` until the first of its first
claim, its shedding deadline and its cancellation; it is **shed** when it was never finished and
either was deleted or is still there, waiting, past its deadline. Times are epoch microseconds, a
moment of leaving is no longer one of waiting.
"""

from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lifoq.items.schema import TERMINAL, Status
from lifoq_analytics.columns import NEVER, Array, between, column, filled, moments
from lifoq_analytics.reading.attempts import PAST_ATTEMPTS, past_attempts
from lifoq_analytics.reading.images import OBSERVATION, ORDERS


class Outcome(StrEnum):
    """The place of a task at the report's moment; each task is at exactly one of these."""

    WAITING = "waiting"
    """PENDING or DELAYED: never claimed, not yet due, or between two attempts."""
    TAKEN = "taken"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SHED = "shed"


_FINISHED: Final = {
    Status.SUCCESS: Outcome.SUCCEEDED,
    Status.FAILURE: Outcome.FAILED,
    Status.CANCELLED: Outcome.CANCELLED,
}

NO_TYPE: Final = "(none)"
"""Stands for the type of a task that has none."""

_OUTCOMES: Final = [outcome.value for outcome in Outcome]
_STATUSES: Final = [status.value for status in Status]
_TERMINAL: Final = [_STATUSES.index(status) for status in TERMINAL]
_TAKEN: Final = _STATUSES.index(Status.TAKEN)
_BY_STATUS: Final = np.array(
    [
        _OUTCOMES.index(_FINISHED[status] if status in TERMINAL else Outcome.WAITING)
        for status in Status
    ]
)
"""The outcome of a task that was left in a status. KeyError where an end has none."""
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_WORD: Final = pa.dictionary(pa.int32(), pa.string())

SCHEMA: Final = pa.schema(
    [
        ("task_id", pa.string()),
        ("task_type", _WORD),
        ("outcome", _WORD),
        ("task_status", _WORD),
        ("enqueued_at", _TIMESTAMP),
        ("first_taken_at", _TIMESTAMP),
        ("taken_at", _TIMESTAMP),
        ("finished_at", _TIMESTAMP),
        ("expires_at", _TIMESTAMP),
        ("left_at", _TIMESTAMP),
        ("shed_at", _TIMESTAMP),
        ("deleted_at", _TIMESTAMP),
        ("attempts", pa.int32()),
        ("wait_us", pa.int64()),
        ("service_us", pa.int64()),
        ("sojourn_us", pa.int64()),
        ("error", pa.string()),
        ("replaced", pa.int32()),
        ("task_key", pa.string()),
        ("past_attempts", PAST_ATTEMPTS),
    ]
)
"""``tasks.parquet``. ``left_at`` is when the task stopped waiting for its first claim."""


def merge(observations: pa.Table) -> pa.Table:
    """The latest image of each task, with the last moments at which it was seen alive and deleted.

    Merging is associative and ignores repetition: merged rows can be merged again with new ones.
    """
    observations = observations.select(OBSERVATION.names)
    if not observations.num_rows:
        return observations
    task = pc.dictionary_encode(observations["task_id"].combine_chunks()).indices.to_numpy()
    by_task = np.lexsort((observations["image_order"].to_numpy(), task))
    begins = np.flatnonzero(np.diff(task[by_task], prepend=-1))
    latest = np.append(begins[1:], len(by_task)) - 1
    merged = observations.take(pa.array(by_task[latest]))
    for name in ("alive_at", "deleted_at"):
        last = np.maximum.reduceat(filled(observations[name], -1)[by_task], begins)
        moment = column(np.where(last < 0, NEVER, last))
        merged = merged.set_column(merged.column_names.index(name), name, moment)
    return merged


def judge(merged: pa.Table, *, as_of: int) -> pa.Table:
    """Return what became of each task by ``as_of``. Tasks that entered the queue later are left
    out."""
    merged = merged.filter(
        pa.array(_is_by_now(merged, as_of) | (moments(merged["enqueued_at"]) <= as_of))
    )
    # An image from after the report's moment still tells what had happened by then.
    by_now = _is_by_now(merged, as_of)
    enqueued_at, taken_at, expires_at = (
        moments(merged[name]) for name in ("enqueued_at", "taken_at", "expires_at")
    )
    first_taken_at, finished_at = (
        np.where(by_now | (at <= as_of), at, NEVER)
        for at in (moments(merged[name]) for name in ("first_taken_at", "finished_at"))
    )
    status = pc.index_in(merged["task_status"].cast(pa.string()), pa.array(_STATUSES)).to_numpy()
    deleted_at = moments(merged["deleted_at"])
    became = outcome(
        status=status,
        is_finished=np.isin(status, _TERMINAL) & (by_now | (finished_at <= as_of)),
        is_deleted=is_deleted(deleted_at, filled(merged["alive_at"], -1), now=as_of),
        is_taken=np.where(by_now, status == _TAKEN, first_taken_at <= as_of),
        is_expired=expires_at <= as_of,
    )
    finished_at = np.where(is_at(became, *_FINISHED.values()), finished_at, NEVER)
    shed = shed_at(became, expires_at, deleted_at, now=as_of)
    served = is_at(became, Outcome.SUCCEEDED, Outcome.FAILED)
    return pa.table(
        {
            "task_id": merged["task_id"],
            "task_type": merged["task_type"].cast(pa.string()).fill_null(NO_TYPE),
            "outcome": pa.DictionaryArray.from_arrays(pa.array(became, pa.int32()), _OUTCOMES),
            "task_status": merged["task_status"],
            "enqueued_at": column(enqueued_at),
            "first_taken_at": column(first_taken_at),
            "taken_at": column(taken_at),
            "finished_at": column(finished_at),
            "expires_at": column(expires_at),
            "left_at": column(left_at(enqueued_at, first_taken_at, finished_at, shed)),
            "shed_at": column(shed),
            "deleted_at": column(deleted_at),
            "attempts": merged["attempts"],
            "wait_us": column(between(enqueued_at, first_taken_at)),
            "service_us": column(np.where(served, between(taken_at, finished_at), NEVER)),
            "sojourn_us": column(np.where(served, between(enqueued_at, finished_at), NEVER)),
            "error": merged["error"],
            "replaced": merged["replaced"],
            "task_key": merged["task_key"],
            "past_attempts": past_attempts(merged["history"]),
        }
    ).cast(SCHEMA)


def outcome(
    *, status: Array, is_finished: Array, is_deleted: Array, is_taken: Array, is_expired: Array
) -> Array:
    """The number of each task's outcome: what is finished stays so, whatever comes after."""
    return np.select(
        [is_finished, is_deleted, is_taken, is_expired],
        [_BY_STATUS[status], _number(Outcome.SHED), _number(Outcome.TAKEN), _number(Outcome.SHED)],
        default=_number(Outcome.WAITING),
    )


def is_deleted(deleted_at: Array, alive_at: Array, *, now: int) -> Array:
    """Deleted by now, and not put again since."""
    return (deleted_at <= now) & (deleted_at >= alive_at)


def shed_at(outcome: Array, expires_at: Array, deleted_at: Array, *, now: int) -> Array:
    """A task is shed at its deadline, not when DynamoDB got round to it. Only one that an operator
    deleted early, and whose deadline is still to come, is shed at its deletion."""
    left = np.where(expires_at <= now, expires_at, deleted_at)
    return np.where(is_at(outcome, Outcome.SHED), left, NEVER)


def left_at(enqueued_at: Array, first_taken_at: Array, finished_at: Array, shed_at: Array) -> Array:
    """When a task stopped waiting for its first claim. A delayed one that is cancelled before it
    falls due leaves as it arrives."""
    left = np.minimum(np.minimum(first_taken_at, finished_at), shed_at)
    return np.maximum(left, enqueued_at)


def is_at(outcome: Array, *outcomes: Outcome) -> Array:
    """Return, for each task, True if it is at one of these outcomes."""
    return np.isin(outcome, [_number(one) for one in outcomes])


def outcomes(tasks: pa.Table) -> Array:
    """The number of each judged task's outcome."""
    return np.asarray(pc.index_in(tasks["outcome"].cast(pa.string()), pa.array(_OUTCOMES)))


def _number(outcome: Outcome) -> int:
    return _OUTCOMES.index(outcome)


def _is_by_now(merged: pa.Table, as_of: int) -> Array:
    """Return, for each task, True if its image is not from after the report's moment."""
    return np.asarray(merged["image_order"].to_numpy() < (as_of + 1) * ORDERS)
