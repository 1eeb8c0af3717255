"""The true answers about histories, told from what happened, one task after the other, with
nothing of what the report computes with."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lifoq.items.schema import Status
from tests.analytics.histories import SECOND, Life

FINISHED = {
    Status.SUCCESS: "succeeded",
    Status.FAILURE: "failed",
    Status.CANCELLED: "cancelled",
}


@dataclass(frozen=True, kw_only=True)
class Fate:
    """The fate of one task by a moment. Times are epoch microseconds."""

    task_type: str
    outcome: str
    enqueued_at: int
    first_claim: int | None
    last_claim: int | None
    finished_at: int | None
    shed_at: int | None
    past: tuple[tuple[str, str], ...]
    """The way in which each past attempt ended, and why."""

    @property
    def left_at(self) -> float:
        """When it stopped waiting for its first claim."""
        moments = (self.first_claim, self.finished_at, self.shed_at)
        return min((moment for moment in moments if moment is not None), default=math.inf)


def fate(life: Life, as_of: int) -> Fate:
    last = life.steps[-1]
    standing = last if last.item is not None else life.steps[-2]
    item = standing.item or {}
    deadline = int(item["expiresAt"])
    claims = [
        after.now
        for before, after in pairwise(life.steps)
        if after.status is Status.TAKEN and before.status is not Status.TAKEN
    ]
    shed_at = None
    if standing.status in FINISHED:
        outcome = FINISHED[standing.status]
    elif last.status is None:
        outcome, shed_at = "shed", deadline if deadline <= as_of else last.at
    elif last.status is Status.TAKEN:
        outcome = "taken"
    elif deadline <= as_of:
        outcome, shed_at = "shed", deadline
    else:
        outcome = "waiting"
    return Fate(
        task_type=life.task_type,
        outcome=outcome,
        enqueued_at=life.enqueued_at,
        first_claim=claims[0] if claims else None,
        last_claim=claims[-1] if claims else None,
        finished_at=standing.now if standing.status in FINISHED else None,
        shed_at=shed_at,
        past=tuple((one["how"], one.get("type", "(none)")) for one in item.get("history", ())),
    )


def counts(fates: Sequence[Fate]) -> dict[str, int]:
    names = ("waiting", "taken", "succeeded", "failed", "cancelled", "shed")
    by_outcome = {name: sum(fate.outcome == name for fate in fates) for name in names}
    return {"created": len(fates), **by_outcome}


def past_attempts(fates: Sequence[Fate]) -> dict[str, Any]:
    counted = Counter((one.task_type, *why) for one in fates for why in one.past)
    commonest = sorted((-number, *by) for by, number in counted.items())[:10]
    return {
        "tasks": sum(bool(one.past) for one in fates),
        "attempts": counted.total(),
        "by_reason": [
            {"task_type": kind, "how": how, "reason": reason, "attempts": -number}
            for number, kind, how, reason in commonest
        ],
    }


def shedding_rate(fates: Sequence[Fate]) -> float | None:
    shed = sum(fate.shed_at is not None for fate in fates)
    claimed = sum(fate.first_claim is not None for fate in fates)
    return shed / (shed + claimed) if shed + claimed else None


def spread(values: list[int]) -> dict[str, float | None]:
    """Nearest-rank percentiles, in seconds."""
    values = sorted(values)
    if not values:
        return {"p50": None, "p95": None, "p99": None, "max": None}
    ranks = {f"p{percent}": -(-percent * len(values) // 100) for percent in (50, 95, 99)}
    found = {name: values[rank - 1] / SECOND for name, rank in ranks.items()}
    return {**found, "max": values[-1] / SECOND}


def waits(fates: Sequence[Fate]) -> list[int]:
    return [fate.first_claim - fate.enqueued_at for fate in fates if fate.first_claim is not None]


def services(fates: Sequence[Fate]) -> list[int]:
    return [
        fate.finished_at - fate.last_claim
        for fate in fates
        if fate.outcome in ("succeeded", "failed")
        and fate.finished_at is not None
        and fate.last_claim is not None
    ]


def sojourns(fates: Sequence[Fate]) -> list[int]:
    """Return the time that each task took that succeeded or failed: a cancelled one never came
    out."""
    return [
        fate.finished_at - fate.enqueued_at
        for fate in fates
        if fate.outcome in ("succeeded", "failed") and fate.finished_at is not None
    ]


def backlog(fates: Sequence[Fate], moment: int) -> int:
    return sum(fate.enqueued_at <= moment < fate.left_at for fate in fates)


def peak(fates: Sequence[Fate], as_of: int) -> tuple[int, int | None]:
    """The largest backlog up to ``as_of`` and its first moment."""
    steps: dict[int, int] = {}
    for one in (one for one in fates if one.left_at > one.enqueued_at):
        for moment, step in ((one.enqueued_at, 1), (one.left_at, -1)):
            if moment <= as_of:
                steps[int(moment)] = steps.get(int(moment), 0) + step
    level, best, best_at = 0, 0, None
    for moment in sorted(steps):
        level += steps[moment]
        if level > best:
            best, best_at = level, moment
    return best, best_at


def oldest(fates: Sequence[Fate], moment: int) -> int | None:
    """Microseconds that the oldest waiting task has waited."""
    waiting = [one.enqueued_at for one in fates if one.enqueued_at <= moment < one.left_at]
    return moment - min(waiting) if waiting else None


def longest_wait(fates: Sequence[Fate], as_of: int) -> int | None:
    """Microseconds that the most patient task waited, or has waited so far."""
    return max(
        (
            int(max(0, min(one.left_at, as_of) - one.enqueued_at))
            for one in fates
            if one.enqueued_at <= as_of
        ),
        default=None,
    )


def bucket_rows(
    fates: Sequence[Fate], *, start: int, as_of: int, size: int
) -> list[dict[str, Any]]:
    rows = []
    for begin in range(start // size * size, as_of + 1, size):
        end = begin + size
        moments = {
            "arrivals": [one.enqueued_at for one in fates],
            "arrivals_shed": [one.enqueued_at for one in fates if one.outcome == "shed"],
            "first_claims": [one.first_claim for one in fates],
            "shed": [one.shed_at for one in fates],
            **{
                name: [one.finished_at for one in fates if one.outcome == name]
                for name in FINISHED.values()
            },
        }
        # The end of a bucket is before the events of its edge; the report's moment is after.
        seen = min(end - 1, as_of)
        aged = oldest(fates, seen)
        rows.append(
            {
                "bucket_start": begin,
                **{
                    name: sum(
                        at is not None and begin <= at < end and at <= as_of for at in happened
                    )
                    for name, happened in moments.items()
                },
                "backlog": backlog(fates, seen),
                "oldest_waiting_seconds": None
                if aged is None
                else (aged + min(end, as_of) - seen) / SECOND,
            }
        )
    return rows
