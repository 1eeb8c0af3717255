"""Batches: which tasks share a call of task code, and that one which has failed shares none."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from lifoq.basics.host import microseconds
from lifoq.items.change import Item
from lifoq.items.schema import Attribute as A
from lifoq.items.schema import Preview, Status
from lifoq.worker.handlers.context import Context
from tests.simulation.history import History, Violation, Write, require
from tests.simulation.scenario import Scenario

BATCHES: Final = {"bulk": 4, "single-bulk": 3}
"""Types with batches, and the tasks of one call at the most."""
WAITS: Final = {"bulk": 0.4, "single-bulk": 0.0}
"""Seconds for which they wait for others."""
SEEN_AGAIN: Final = 3.0
"""Seconds for which a worker may rely on a row that it has read."""
NO_FAULTS: Final = {"Busy", "Retry", "HandedBack"}
"""The errors after which a task goes in a batch again."""

ONE_CALL: Final = "several tasks share a call"


def is_alone(item: Item | None) -> bool:
    return bool(item) and bool((item or {}).get(A.PREVIEW, {}).get(Preview.ALONE))


def check_batch(contexts: Sequence[Context], history: History, scenario: Scenario) -> None:
    """Violation, where these tasks are too many for one call, of several types, out of order, or
    must not share it."""
    first = contexts[0]
    if len(contexts) > BATCHES[first.task_type]:
        raise Violation(f"shares a call of {len(contexts)}", first.task_id)
    if {context.task_type for context in contexts} != {first.task_type}:
        raise Violation("shares a call with another type", first.task_id)
    if len(contexts) == 1:
        return
    claims = [history.claims[str(context._task.claim_id)] for context in contexts]
    _check_order(claims, history, scenario)
    lag = microseconds(scenario.faults.index_lag + SEEN_AGAIN)
    for claim in claims:
        before = claim.before or {}
        apart = is_alone(before) or before.get(A.LEASES_LOST)
        earlier = [write for write in history.of_task[claim.task_id] if write.time < claim.time]
        seen = earlier[-1].time + lag < claim.time
        if apart and seen:
            raise Violation("is to run alone, and shares a call", claim.task_id)


def _check_order(claims: Sequence[Write], history: History, scenario: Scenario) -> None:
    """The newest first, or the oldest; but for tasks whose place has changed, as an index may not
    have shown yet."""
    if scenario.worker.fair_share:
        return
    places = [
        int((claim.before or {})[A.TASK_CREATED])
        for claim in claims
        if len(_places(history.of_task[claim.task_id])) == 1
    ]
    steps = {later > one for one, later in pairwise(places) if later != one}
    oldest_too = scenario.worker.adaptive_threshold is not None
    if len(steps) > 1 or (steps == {True} and not oldest_too):
        raise Violation("is out of order in its batch", claims[0].task_id)


def _places(writes: Sequence[Write]) -> set[object]:
    return {(write.after or {}).get(A.TASK_CREATED) for write in writes} - {None}


def check_mark(write: Write, before: Item, after: Item, *, error_type: str | None) -> None:
    """Violation, where a task is marked to run alone that is not to, or the mark is lost.
    ``error_type``: that of the error of the attempt that the write ends with a retry."""
    redriven = write.was is Status.FAILURE
    failed = error_type is not None and error_type not in NO_FAULTS
    batched = after[A.TASK_TYPE] in BATCHES
    wanted = not redriven and (is_alone(before) or (batched and failed))
    require(write, is_alone(after) == wanted, f"is to run alone: {wanted}, and is not marked so")
