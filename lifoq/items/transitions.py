"""Every way from one status to another, each a conditional write.

Read this file to know what can happen to a task. One thing more can: ``replacing`` has the writes
of a put with ``if_exists="replace"``, by which a newer put takes the task's place. ``now`` and the
times derived from it are epoch microseconds.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import (
    Alternatives,
    AtMost,
    Change,
    Condition,
    Equals,
    Exists,
    GreaterThan,
    Not,
    StatusIn,
    StatusIs,
    Value,
)
from lifoq.items.lifetimes import Lifetimes, seconds_up
from lifoq.items.packed import pack
from lifoq.items.schema import TERMINAL, WAITING, Preview, Status
from lifoq.items.schema import Attribute as A
from lifoq.items.task import Accepted, Task
from lifoq.items.task_error import TaskError

IN_FLIGHT_TTL: Final = 10 * 365 * 86_400
"""Seconds until TTL may delete a TAKEN item: never, however long the sweep is down."""


def new_item(task: Accepted, *, task_id: str, stamp: int, lifetimes: Lifetimes) -> dict[str, Value]:
    """– → PENDING or DELAYED. ``stamp`` is when it was put."""
    enqueued = task.due_at or stamp
    deadline = microseconds(lifetimes.deadline) if task.deadline is None else task.deadline
    expires = enqueued + deadline
    item: dict[A, Value] = {
        A.TASK_ID: task_id,
        A.ENQUEUED_AT: enqueued,
        A.TASK_UPDATED: stamp,
        A.EXPIRES_AT: expires,
        A.TTL: seconds_up(expires),
        A.TASK_TYPE: task.task_type,
        A.PAYLOAD: pack(task.payload),
        A.ATTEMPTS: 0,
        **task.carried,
    }
    if task.due_at is None:
        item |= {A.TASK_STATUS: Status.PENDING.value, A.TASK_CREATED: stamp + task.head_start}
        item |= lifetimes.shed_at(expires, waited_for=A.TASK_TOKEN in task.carried)
    else:
        item |= {A.TASK_STATUS: Status.DELAYED.value, A.DUE_AT: task.due_at}
    if task.replaces:
        item |= {A.PUT_AT: stamp, A.REPLACED: 0}
    return {str(name): value for name, value in item.items()}


def gone(now: int) -> Alternatives:
    """Return the condition that DynamoDB's TTL could have deleted the item by now, so that a put of
    its id begins anew: TTL comes late, by days perhaps."""
    was_shed = (StatusIn(WAITING), AtMost(A.EXPIRES_AT, now))
    was_retained = (StatusIn(TERMINAL), AtMost(A.TTL, now // MICROSECONDS))
    return was_shed, was_retained


def claim(*, now: int, claim_id: str, lease: int) -> Change:
    """PENDING → TAKEN."""
    still_pending = StatusIs(Status.PENDING)  # another worker may be faster; the index lags
    not_expired = GreaterThan(A.EXPIRES_AT, now)  # TTL deletes late
    return Change(
        when=(still_pending, not_expired),
        set={
            A.TASK_STATUS: Status.TAKEN.value,
            A.TASK_UPDATED: now,
            A.TAKEN_AT: now,
            A.CLAIM_ID: claim_id,
            A.LEASE_EXPIRES: now + lease,
            A.TTL: now // MICROSECONDS + IN_FLIGHT_TTL,
        },
        set_once={A.FIRST_TAKEN_AT: now},
        increment=A.ATTEMPTS,
        remove=(A.DUE_AT,),
    )


def claim_of(task: Task) -> str:
    """Return the id of the task's claim. Raises ValueError where nobody has claimed it."""
    if task.claim_id is None:
        raise ValueError(f"task {task.task_id!r} was not claimed")
    return task.claim_id


def _mine(task: Task) -> tuple[StatusIs, Equals]:
    """The fence: a worker whose lease was lost, and the task perhaps claimed again, changes
    nothing."""
    return StatusIs(Status.TAKEN), Equals(A.CLAIM_ID, claim_of(task))


NOTHING_PARKED: Final = Not(Exists(A.PARKED_AT))
"""A newer put comes first, where there is one: see ``replacing``."""


NOT_CANCELLED: Final = Not(Exists(A.CANCEL_ASKED))
"""The condition that nobody has cancelled the task since it was claimed. A refusal for it tells the
worker, so that nobody has to ask."""
_IS_CANCELLED: Final = Exists(A.CANCEL_ASKED)


def _ends(task: Task) -> tuple[Condition, ...]:
    return (*_mine(task), NOTHING_PARKED)


def extend(*, task: Task, now: int, lease_expires: int, cancelled: bool = False) -> Change:
    """TAKEN stays TAKEN: a heartbeat. ``cancelled``: its worker knows that the task is."""
    not_longer = AtMost(A.LEASE_EXPIRES, lease_expires)  # this one may arrive after a later one
    news = () if cancelled else (NOT_CANCELLED, Not(_has_no_caller(now)))
    return Change(
        when=(*_mine(task), not_longer, *news),
        set={A.LEASE_EXPIRES: lease_expires},
    )


def _has_no_caller(now: int) -> AtMost:
    """Holds where a caller has said until when it waits at the least, and has not been heard of
    since. Most tasks have none that says so."""
    return AtMost(A.WANTED_UNTIL, now)


def want(*, until: int) -> Change:
    """Any status but an end stays: the caller still waits."""
    return Change(when=(StatusIn(WAITING | {Status.TAKEN}),), set={A.WANTED_UNTIL: until})


def ask_for_caller(*, task: Task, now: int) -> Change:
    """TAKEN stays TAKEN: its worker cancels it in place of a caller who has gone without a word.
    Not where that caller, or a newer put of the id, has come in between."""
    return Change(
        when=(*_mine(task), NOTHING_PARKED, _has_no_caller(now)),
        set={A.TASK_UPDATED: now},
        set_once={A.CANCEL_ASKED: now},
    )


def checkpoint(*, task: Task, now: int, value: str) -> Change:
    """TAKEN stays TAKEN: a step is done."""
    return Change(
        when=(*_mine(task), NOT_CANCELLED),
        set={A.CHECKPOINT: pack(value), A.TASK_UPDATED: now},
    )


def and_extend(checkpointed: Change, lease_expires: int) -> Change:
    """A checkpoint that is a heartbeat, too."""
    not_longer = AtMost(A.LEASE_EXPIRES, lease_expires)  # a heartbeat may have been faster
    return replace(
        checkpointed,
        when=(*checkpointed.when, not_longer),
        set={**checkpointed.set, A.LEASE_EXPIRES: lease_expires},
    )


def succeed(*, task: Task, now: int, result: str, lifetimes: Lifetimes) -> Change:
    """TAKEN → SUCCESS, cancelled or not: the work is done. The task leaves the index; the claim's
    id stays, to recognise the settle."""
    return Change(
        when=_ends(task),
        set={
            A.TASK_STATUS: Status.SUCCESS.value,
            A.TASK_UPDATED: now,
            A.FINISHED_AT: now,
            A.TTL: lifetimes.retained_until(Status.SUCCESS, now),
            A.RESULT: pack(result),
        },
        remove=(A.TASK_CREATED, A.LEASE_EXPIRES, A.LEASES_LOST, A.ERROR),
    )


def fail(*, task: Task, now: int, error: TaskError, lifetimes: Lifetimes) -> Change:
    """TAKEN → FAILURE. The task stays in the index, for the operator."""
    return Change(
        when=(*_ends(task), NOT_CANCELLED),
        set={
            **_failure(now=now, error=error, lifetimes=lifetimes),
            **_in_line(task, lifetimes),
            **_history(task, "FAILED", now=now, error=error),
        },
        remove=(A.LEASE_EXPIRES, A.LEASES_LOST),
    )


def delay(*, task: Task, now: int, due_at: int, error: TaskError) -> Change:
    """TAKEN → DELAYED: a retry backs off, outside the way of the others."""
    return Change(
        when=(*_ends(task), NOT_CANCELLED),
        set={
            A.TASK_STATUS: Status.DELAYED.value,
            A.TASK_UPDATED: now,
            A.DUE_AT: due_at,
            A.TTL: seconds_up(task.expires_at),
            A.ERROR: error.to_json(),
            **_history(task, "RETRIED", now=now, error=error),
        },
        remove=(A.TASK_CREATED, A.LEASE_EXPIRES, A.LEASES_LOST),
    )


def hand_back(*, task: Task, now: int, error: TaskError, lifetimes: Lifetimes) -> Change:
    """TAKEN → PENDING: an immediate retry."""
    return Change(
        when=(*_ends(task), NOT_CANCELLED),
        set={
            **_pending(task, now=now, lifetimes=lifetimes),
            A.ERROR: error.to_json(),
            **_history(task, "RETRIED", now=now, error=error),
        },
        remove=(A.LEASE_EXPIRES, A.LEASES_LOST),
    )


def uncounted(retry: Change, task: Task, *, now: int, error: TaskError) -> Change:
    """A retry after an attempt that is not to count: the downstream had no room for it."""
    history = _history(task, "NOT_COUNTED", now=now, error=error)
    return replace(retry, set={**retry.set, **history, A.ATTEMPTS: task.attempts - 1})


def alone(retry: Change, task: Task) -> Change:
    """A retry of a task that shares no call of a handler with others from now on."""
    return replace(retry, set={**retry.set, A.PREVIEW: {**task.preview, Preview.ALONE: 1}})


def end_cancelled(*, task: Task, now: int, error: TaskError | None, lifetimes: Lifetimes) -> Change:
    """TAKEN → CANCELLED: its handler has stopped, or failed with ``error``."""
    return Change(
        when=(*_ends(task), _IS_CANCELLED),
        set={
            **_cancelled(now=now, lifetimes=lifetimes),
            **({} if error is None else {A.ERROR: error.to_json()}),
            **_history(task, "CANCELLED", now=now, error=error),
        },
        remove=(A.TASK_CREATED, A.LEASE_EXPIRES, A.LEASES_LOST),
    )


def reclaim(*, task: Task, now: int, error: TaskError, lifetimes: Lifetimes) -> Change:
    """TAKEN → PENDING: the worker is lost. Without its ``claimId`` it can settle no more."""
    return Change(
        when=(*_abandoned(task, now), NOT_CANCELLED),
        set={
            **_pending(task, now=now, lifetimes=lifetimes),
            A.ERROR: error.to_json(),
            A.LEASES_LOST: task.leases_lost + 1,
            **_history(task, "LEASE_EXPIRED", now=now, error=error),
        },
        remove=(A.CLAIM_ID, A.LEASE_EXPIRES),
    )


def bury(*, task: Task, now: int, error: TaskError, lifetimes: Lifetimes) -> Change:
    """TAKEN → FAILURE: the worker is lost, and it was the last attempt."""
    return Change(
        when=(*_abandoned(task, now), NOT_CANCELLED),
        set={
            **_failure(now=now, error=error, lifetimes=lifetimes),
            **_in_line(task, lifetimes),
            A.LEASES_LOST: task.leases_lost + 1,
            **_history(task, "LEASE_EXPIRED", now=now, error=error),
        },
        remove=(A.CLAIM_ID, A.LEASE_EXPIRES),
    )


def bury_cancelled(*, task: Task, now: int, error: TaskError, lifetimes: Lifetimes) -> Change:
    """TAKEN → CANCELLED: the worker is lost, and the task was cancelled."""
    return Change(
        when=(*_abandoned(task, now), _IS_CANCELLED),
        set={
            **_cancelled(now=now, lifetimes=lifetimes),
            A.LEASES_LOST: task.leases_lost + 1,
            **_history(task, "LEASE_EXPIRED", now=now, error=error),
        },
        remove=(A.TASK_CREATED, A.CLAIM_ID, A.LEASE_EXPIRES),
    )


def _abandoned(task: Task, now: int) -> tuple[Condition, ...]:
    lease_is_over = AtMost(A.LEASE_EXPIRES, now - 1)  # a heartbeat may have come in between
    same_claim = Equals(A.CLAIM_ID, task.claim_id or "")  # so may another claim
    return StatusIs(Status.TAKEN), lease_is_over, same_claim, NOTHING_PARKED


def promote(*, task: Task, now: int, lifetimes: Lifetimes) -> Change:
    """DELAYED → PENDING: the task is due."""
    is_due = AtMost(A.DUE_AT, now)
    as_seen = Equals(A.DUE_AT, task.due_at or 0)  # a newer put may have replaced it meanwhile
    return _entering(
        Change(
            when=(StatusIs(Status.DELAYED), is_due, as_seen),
            set=_pending(task, now=now, lifetimes=lifetimes),
        )
    )


def hurry(*, task: Task, stamp: int, lifetimes: Lifetimes) -> Change:
    """DELAYED → PENDING before the task is due. A delayed put enters the queue at this moment, with
    as long to its deadline as it would have had; a retry gets its old place back."""
    early = max(0, task.enqueued_at - stamp)
    task = replace(task, enqueued_at=task.enqueued_at - early, expires_at=task.expires_at - early)
    entered = {A.ENQUEUED_AT: task.enqueued_at, A.EXPIRES_AT: task.expires_at} if early else {}
    return _entering(
        Change(
            # The very delay that was seen: it may have run, and been delayed again, meanwhile.
            when=(StatusIs(Status.DELAYED), Equals(A.TASK_UPDATED, task.task_updated)),
            set={**_pending(task, now=stamp, lifetimes=lifetimes), **entered},
        )
    )


def _entering(change: Change) -> Change:
    """Return the change with which a task enters the queue: it is due no more, unless it has to be
    found at its deadline."""
    return change if A.DUE_AT in change.set else replace(change, remove=(A.DUE_AT,))


def fall(*, created: int, preview: Mapping[str, Value], now: int) -> Change:
    """PENDING stays PENDING: past its deadline, a task falls back to where it would stand without
    its head start. Else each poll would read it before those that live. ``created`` and ``preview``
    are as the index shows them."""
    since = created - int(str(preview[Preview.HEAD_START]))
    left = {name: value for name, value in preview.items() if name != Preview.HEAD_START}
    has_expired = AtMost(A.EXPIRES_AT, now)
    # A put of its id may have begun anew, or an attempt since may have written into its preview.
    as_seen = Equals(A.TASK_CREATED, created), Equals(A.PREVIEW, dict(preview))
    return Change(
        when=(StatusIs(Status.PENDING), has_expired, *as_seen),
        set={A.TASK_CREATED: since, A.TASK_UPDATED: now, **({A.PREVIEW: left} if left else {})},
        remove=() if left else (A.PREVIEW,),
    )


def shed(now: int) -> tuple[Condition, ...]:
    """PENDING or DELAYED → –: what the deletion of a task at its deadline asks for."""
    still_waits = StatusIn(WAITING)  # a worker may have claimed it just in time
    has_expired = AtMost(A.EXPIRES_AT, now)  # a put of its id may have begun anew
    return still_waits, has_expired


def erase() -> tuple[Condition, ...]:
    """SUCCESS, FAILURE or CANCELLED → –: what the deletion of a task by an operator asks for. One
    that waits would be taken for shed, and one that is TAKEN has a worker."""
    return (StatusIn(TERMINAL),)


def cancel(*, seen: Status, now: int, lifetimes: Lifetimes) -> Change:
    """PENDING or DELAYED (as ``seen``) → CANCELLED."""
    return Change(
        when=(StatusIs(seen),),
        set=_cancelled(now=now, lifetimes=lifetimes),
        remove=(A.TASK_CREATED, A.DUE_AT),
    )


def ask_to_cancel(*, now: int) -> Change:
    """TAKEN stays TAKEN: its worker learns from its next write that it is to stop. A newer put that
    is parked goes: cancelled is the id, and not one of its puts. One that comes later is parked
    again, and runs once this attempt has ended."""
    return Change(
        when=(StatusIs(Status.TAKEN),),
        set={A.TASK_UPDATED: now},
        set_once={A.CANCEL_ASKED: now},
        remove=(A.PARKED, A.PARKED_AT),
    )


def redrive(*, task: Task, stamp: int, lifetimes: Lifetimes) -> Change:
    """FAILURE → PENDING, as if it came now, with all its attempts and a new deadline. The error
    stays until the next end, so that one sees why it was redriven. Who waited for the first end was
    told of it: the token goes."""
    expires = stamp + microseconds(lifetimes.deadline)
    preview = {name: value for name, value in task.preview.items() if name != Preview.ALONE}
    return Change(
        when=(StatusIs(Status.FAILURE),),
        set={
            A.TASK_STATUS: Status.PENDING.value,
            A.TASK_UPDATED: stamp,
            A.TASK_CREATED: stamp + task.head_start,
            A.ATTEMPTS: 0,
            A.EXPIRES_AT: expires,
            A.TTL: seconds_up(expires),
            **lifetimes.shed_at(expires, waited_for=False),
            **({A.PREVIEW: preview} if preview else {}),
        },
        remove=(
            *(A.CLAIM_ID, A.FINISHED_AT, A.LEASES_LOST, A.TASK_TOKEN, A.CANCEL_ASKED),
            A.WANTED_UNTIL,
            *(() if preview else (A.PREVIEW,)),
        ),
    )


def dead_letter(*, seen: Status, now: int, error: TaskError, lifetimes: Lifetimes) -> Change:
    """A damaged item, whatever it was ``seen`` as → FAILURE, so that it stands in nobody's way.

    Who comes across one:

    - PENDING: a run, as a row of the index (``Poller._startable``); the sweep, among the types that
      the processor passes over, and where no poll can reach it (``Sweeper._find_out_of_reach``).
    - PENDING or TAKEN: a run, by a claim (``_not_started`` of its loop).
    - DELAYED: a run or the sweep, by promoting it.
    - TAKEN: the sweep, as it looks for expired leases.

    A task that is whole, but whose large payload is gone, fails by its attempt.
    """
    return Change(
        when=(StatusIs(seen),),
        set={**_failure(now=now, error=error, lifetimes=lifetimes), A.TASK_CREATED: now},
        remove=(A.CLAIM_ID, A.LEASE_EXPIRES, A.DUE_AT),
    )


def tombstone(
    task_id: str, *, task_type: str, now: int, error: TaskError, lifetimes: Lifetimes
) -> dict[str, Value]:
    """Return the item that replaces a damaged one so large that the reason finds no room in it."""
    item: dict[A, Value] = {
        A.TASK_ID: task_id,
        A.TASK_TYPE: task_type,
        A.TASK_CREATED: now,
        A.ENQUEUED_AT: now,
        A.EXPIRES_AT: now,
        A.ATTEMPTS: 0,
        **_failure(now=now, error=error, lifetimes=lifetimes),
    }
    return {str(name): value for name, value in item.items()}


def _pending(task: Task, *, now: int, lifetimes: Lifetimes) -> dict[A, Value]:
    return {
        A.TASK_STATUS: Status.PENDING.value,
        A.TASK_CREATED: lifetimes.position(task),
        A.TASK_UPDATED: now,
        A.TTL: seconds_up(task.expires_at),
        **lifetimes.shed_at(task.expires_at, waited_for=task.task_token is not None),
    }


def _failure(*, now: int, error: TaskError, lifetimes: Lifetimes) -> dict[A, Value]:
    return {
        A.TASK_STATUS: Status.FAILURE.value,
        A.TASK_UPDATED: now,
        A.FINISHED_AT: now,
        A.TTL: lifetimes.retained_until(Status.FAILURE, now),
        A.ERROR: error.to_json(),
    }


def _in_line(task: Task, lifetimes: Lifetimes) -> dict[A, Value]:
    """A failed task goes before nobody: operators look through them by their age."""
    return {A.TASK_CREATED: lifetimes.since(task)} if task.head_start else {}


def _cancelled(*, now: int, lifetimes: Lifetimes) -> dict[A, Value]:
    return {
        A.TASK_STATUS: Status.CANCELLED.value,
        A.TASK_UPDATED: now,
        A.FINISHED_AT: now,
        A.TTL: lifetimes.retained_until(Status.CANCELLED, now),
    }


def _history(task: Task, ended: str, *, now: int, error: TaskError | None) -> dict[A, Value]:
    """A claimed task's history: nobody but its holder writes one, so it is as the claim found it.
    ``ended``: one of ``Ended``."""
    from lifoq.items.attempt_history import Ended, PastAttempt, added  # noqa: PLC0415 - a cold start less to import

    latest = PastAttempt(
        attempt=task.attempts,
        taken_at=task.taken_at,
        ended_at=now,
        ended=Ended(ended),
        error_type=None if error is None else error.type,
        message=None if error is None else error.message,
    )
    return {A.HISTORY: added(task.history, latest)}
