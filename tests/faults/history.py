"""The invariants that every history of applied writes must show, whoever wrote: the writes that
were really made are legal."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lifoq.items.schema import TERMINAL, WAITING, Attribute, Status
from tests.simulation.keys import is_slot
from tests.simulation.rules import CONSTANT, LEGAL, UNCOUNTED

Image = Mapping[str, Any]

IN_THE_INDEX = frozenset({Status.PENDING, Status.TAKEN, Status.FAILURE})


@dataclass(frozen=True)
class Write:
    """One applied write: the item before and after it; None where there was none."""

    before: Image | None
    after: Image

    @property
    def step(self) -> tuple[str | None, str]:
        before = None if self.before is None else self.before[Attribute.TASK_STATUS]
        return before, self.after[Attribute.TASK_STATUS]


def audit(writes: Iterable[Write], *, damaged: Collection[str] = ()) -> Counter[Any]:
    """Assert that every task's history is legal and ends, and count the transitions. ``damaged``
    names items that were not written by the library."""
    steps: Counter[Any] = Counter()
    histories: dict[str, list[Write]] = defaultdict(list)
    for write in writes:
        if is_slot(write.after):
            continue
        steps[write.step] += 1
        histories[write.after[Attribute.TASK_ID]].append(write)
    for task_id, history in histories.items():
        if task_id not in damaged:
            _audit_task(history)
        ended = history[-1].after["taskStatus"] in TERMINAL
        assert ended, f"not at rest: {history[-1].after}"
    return steps


def _audit_task(history: list[Write]) -> None:
    last: Image | None = None
    claims: set[str] = set()
    for write in history:
        assert write.before == last, f"a write is missing: {last} became {write.before}"
        last = write.after
        if write.before is None or _is_a_newer_put(write.before, write.after):
            assert Status(write.after["taskStatus"]) in WAITING, f"illegal: {write}"
            assert write.after["attempts"] == 0, write
            continue
        assert write.step in LEGAL, f"illegal: {write}"
        _audit_change(write.before, write.after, claims)


def _is_a_newer_put(before: Image, after: Image) -> bool:
    """Return True if a newer put took the task's place. While the task runs, the put that is parked
    beside it does."""
    newer = "putAt" in after and after["putAt"] != before.get("putAt")
    if newer and before["taskStatus"] == Status.TAKEN:
        assert after["payload"] == before["parked"]["payload"], after
    assert newer or "parked" not in before or after["taskStatus"] == Status.TAKEN, after
    return newer


def _audit_change(before: Image, after: Image, claims: set[str]) -> None:
    was, became = before["taskStatus"], after["taskStatus"]
    for name in CONSTANT:
        assert before[name] == after[name], f"{name} changed: {before} became {after}"
    assert ("taskCreated" in after) == (became in IN_THE_INDEX), after
    assert ("leaseExpires" in after) == (became == Status.TAKEN), after
    assert ("finishedAt" in after) == (became in TERMINAL), after
    if became == Status.TAKEN and was == Status.PENDING:
        assert after["attempts"] == before["attempts"] + 1, after
        assert after["expiresAt"] > after["takenAt"], f"claimed expired: {after}"
        assert after["ttl"] > after["leaseExpires"] // 1_000_000, after
        assert after["claimId"] not in claims, f"a claim came twice: {after}"
        claims.add(after["claimId"])
        assert "cancelAsked" not in after, f"claimed after it was cancelled: {after}"
    elif was == Status.TAKEN and became == Status.TAKEN:
        assert after["claimId"] == before["claimId"], f"two holders: {before} became {after}"
        assert after["attempts"] == before["attempts"], after
        assert after["leaseExpires"] >= before["leaseExpires"], f"lease shortened: {after}"
    elif was == Status.TAKEN:
        _audit_settle(before, after)
    elif was == Status.FAILURE:
        assert after["attempts"] == 0, after


def _audit_settle(before: Image, after: Image) -> None:
    waits = after["taskStatus"] in (Status.PENDING, Status.DELAYED)
    uncounted = waits and json.loads(after["error"])["type"] in UNCOUNTED
    assert after["attempts"] == before["attempts"] - uncounted, after
    if "claimId" not in after:  # the sweep took it from a worker
        assert before["leaseExpires"] < after["taskUpdated"], f"taken from the living: {before}"
    if after["taskStatus"] == Status.SUCCESS:
        result = json.loads(after["result"])
        assert result["attempt"] == after["attempts"], f"settled by a stale holder: {after}"
    else:
        heeded = (after["taskStatus"] == Status.CANCELLED) == ("cancelAsked" in before)
        assert heeded, f"{before} became {after}"
        assert "history" in after, after
