"""The rules that every single write must obey, whatever went wrong before it."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import WAITING, Preview, Status
from lifoq.items.schema import Attribute as A
from tests.simulation.batches import check_mark
from tests.simulation.cancelling import (
    asks,
    check_asking,
    check_heeding,
    check_start,
)
from tests.simulation.history import History, Violation, Write, require
from tests.simulation.machine import Role
from tests.simulation.replacing import (
    check_claim,
    check_end,
    check_parking,
    check_replacement,
    parks,
    replaces,
)

YEAR: Final = 365 * 86_400

P, D, T = Status.PENDING, Status.DELAYED, Status.TAKEN
S, F, C = Status.SUCCESS, Status.FAILURE, Status.CANCELLED

WORKERS_AND_CLIENTS: Final = {Role.CLIENT, Role.WORKER}
WORKERS_AND_SWEEP: Final = {Role.WORKER, Role.SWEEP}

LEGAL: Final[dict[tuple[Status | None, Status | None], set[Role]]] = {
    (None, P): WORKERS_AND_CLIENTS,
    (None, D): WORKERS_AND_CLIENTS,
    (P, T): {Role.WORKER},
    (T, T): {Role.WORKER},
    (T, S): {Role.WORKER},
    (T, F): WORKERS_AND_SWEEP,
    (T, D): {Role.WORKER},
    (T, P): WORKERS_AND_SWEEP,
    (T, C): WORKERS_AND_SWEEP,
    (P, P): {Role.WORKER},
    (D, P): WORKERS_AND_SWEEP,
    (P, C): {Role.CLIENT},
    (D, C): {Role.CLIENT},
    (F, P): {Role.CLIENT},
    # By TTL, or by a put of its id that comes before TTL.
    **{(status, None): {Role.TTL, *WORKERS_AND_CLIENTS} for status in (S, F, C)},
    # Or by the sweep, at its deadline.
    **{(status, None): {Role.TTL, Role.SWEEP, *WORKERS_AND_CLIENTS} for status in (P, D)},
}
"""From, to, and who may. Nothing else happens to a task."""

REPLACING: Final[dict[tuple[Status | None, Status | None], set[Role]]] = {
    **{(was, becomes): {Role.CLIENT} for was in (P, D, S, F, C) for becomes in (P, D)},
    **{(T, becomes): WORKERS_AND_SWEEP for becomes in (P, D)},
}
"""Transitions by which a newer put takes a task's place, and who may make them."""

WAYS: Final = {
    *(f"{was} → {becomes}" for was, becomes in LEGAL if (was, becomes) != (T, C)),
    *(f"{was} → {becomes}, replaced" for was, becomes in REPLACING),
    *(f"{T} → {becomes}, cancelled" for becomes in (T, S, C)),
    f"{T} → {T}, parked",
}
"""All of them, with what made them special."""


def way(write: Write) -> str:
    how = ""
    if asks(write) or (write.was is T and A.CANCEL_ASKED in _item(write.before)):
        how = ", cancelled"
    if parks(write) or replaces(write):
        how = ", replaced" if replaces(write) else ", parked"
    return f"{write.was} → {write.becomes}{how}"


HAS: Final[dict[Status, set[A]]] = {
    P: {A.TASK_CREATED},
    D: {A.DUE_AT},
    T: {A.TASK_CREATED, A.CLAIM_ID, A.LEASE_EXPIRES, A.TAKEN_AT, A.FIRST_TAKEN_AT},
    S: {A.FINISHED_AT, A.RESULT},
    F: {A.FINISHED_AT, A.TASK_CREATED, A.ERROR},
    C: {A.FINISHED_AT},
}
HAS_NOT: Final[dict[Status, set[A]]] = {
    P: {A.LEASE_EXPIRES, A.FINISHED_AT, A.RESULT, A.CANCEL_ASKED},
    D: {A.TASK_CREATED, A.LEASE_EXPIRES, A.FINISHED_AT, A.RESULT, A.CANCEL_ASKED},
    T: {A.DUE_AT, A.FINISHED_AT, A.RESULT},
    S: {A.TASK_CREATED, A.DUE_AT, A.LEASE_EXPIRES, A.ERROR},
    F: {A.DUE_AT, A.LEASE_EXPIRES, A.RESULT, A.CANCEL_ASKED},
    C: {A.TASK_CREATED, A.DUE_AT, A.LEASE_EXPIRES, A.RESULT},
}
CONSTANT: Final = (A.TASK_ID, A.PAYLOAD, A.TASK_TYPE, A.ENQUEUED_AT)
LATEST: Final = MICROSECONDS * 20
"""The outcome may be written so much later than it was decided."""
UNCOUNTED: Final = {"Busy", "HandedBack"}
"""The errors of attempts that do not count."""
FINAL_ERRORS: Final = {"Fail", "InvalidInput", "ItemTooLarge", "UnknownTaskType"}
"""No retry can help."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    lifetimes: Lifetimes
    max_attempts: Mapping[str, int]
    """By task type."""
    lease: float
    shared_limits: bool
    passed_over: Collection[str]
    """Task types that nobody may claim."""

    def check(self, write: Write, history: History) -> None:
        """Violation, where a write breaks a rule. ``history`` does not hold the write yet."""
        if asks(write):
            check_asking(write, _item(write.before), _item(write.after))
            return
        if parks(write):
            check_parking(write, _item(write.before), _item(write.after))
            return
        legal = REPLACING if replaces(write) else LEGAL
        if write.role not in legal.get((write.was, write.becomes), set()):
            raise Violation(f"a {write.role} made it {way(write)}", write.task_id)
        if write.after is None:
            self._deletion(write, _item(write.before))
            return
        self._shape(write, write.after)
        if write.before is None:
            self._creation(write, write.after)
            return
        if replaces(write):
            self._replacement(write, write.before, write.after, history)
        else:
            self._step(write, write.before, write.after, history)
        check_heeding(write, write.before, write.after)

    def _step(self, write: Write, before: Item, after: Item, history: History) -> None:
        way = (write.was, write.becomes)
        if way == (P, P):
            self._fall(write, before, after)
            return
        check_end(write, before)
        self._constants(write, before, after)
        if way == (P, T):
            self._claim(write, before, after, history)
        elif way == (F, P):
            self._redrive(write, after)
        elif write.was is T and write.role is Role.WORKER:
            self._under_claim(write, before, after, history)
        elif write.was is T:
            self._lost_worker(write, before, after)
        elif way == (D, P):
            require(write, before[A.DUE_AT] <= write.clock, "promoted before it was due")
        if write.becomes is P and write.was is not F:
            self._place(write, after, history)

    def _replacement(self, write: Write, before: Item, after: Item, history: History) -> None:
        check_replacement(write, before, after)
        if write.was is T and write.role is Role.WORKER:
            holder = history.claims[str(before[A.CLAIM_ID])].machine
            require(write, write.machine == holder, f"ended by {write.machine}, held by {holder}")
        elif write.was is T:
            _taken_away(write, before, after)
        life = after[A.EXPIRES_AT] - after[A.ENQUEUED_AT]
        require(write, 0 < life <= microseconds(self.lifetimes.deadline), "lives too long")
        if write.becomes is P:
            place = after[A.TASK_CREATED]
            require(write, place == _due_place(after), "did not get the place of its put")

    def _shape(self, write: Write, item: Item) -> None:
        status = Status(item[A.TASK_STATUS])
        parked = {A.PARKED, A.PARKED_AT} & item.keys()
        require(write, status is T or not parked, f"{status} with {parked}")
        missing = {name.value for name in HAS[status] if name not in item}
        extra = {name.value for name in HAS_NOT[status] if name in item}
        require(write, not missing, f"{status} without {missing}")
        require(write, not extra, f"{status} with {extra}")
        if status is P:
            told = self.lifetimes.shed_at_deadline or A.TASK_TOKEN in item
            found = item[A.EXPIRES_AT] if told else None
            require(write, item.get(A.DUE_AT) == found, "the sweep cannot shed it at its deadline")
        ttl = item[A.TTL]
        if status in WAITING:
            rounded_up = -(-item[A.EXPIRES_AT] // MICROSECONDS)
            require(write, ttl == rounded_up, "waits, but its ttl is not its deadline")
        elif status is T:
            far = ttl > write.clock // MICROSECONDS + YEAR
            require(write, far, "TTL could delete it in flight")
        elif status is not write.was:
            kept = ttl * MICROSECONDS - item[A.FINISHED_AT]
            require(write, item[A.FINISHED_AT] <= write.clock, "finished in the future")
            spare = kept - self._retention(status)
            require(write, 0 <= spare < MICROSECONDS, "is not kept for its retention")
        most = self.max_attempts[item[A.TASK_TYPE]]
        require(write, item[A.ATTEMPTS] <= most, "was tried too often")

    def _creation(self, write: Write, item: Item) -> None:
        require(write, item[A.ATTEMPTS] == 0, "new, but tried before")
        require(write, A.CLAIM_ID not in item, "new, but claimed")
        life = item[A.EXPIRES_AT] - item[A.ENQUEUED_AT]
        longest = microseconds(self.lifetimes.deadline)
        require(write, 0 < life <= longest, "lives longer than the queue's deadline")
        require(write, _ahead(item) <= life, "goes ahead by more than its deadline")
        if write.becomes is P:
            place = item[A.TASK_CREATED]
            require(write, place == _due_place(item), "is new, and not in its place")

    def _deletion(self, write: Write, item: Item) -> None:
        if write.was in WAITING:
            over = item[A.EXPIRES_AT] <= write.clock
            require(write, over, "deleted before its deadline")
        else:
            kept = write.clock - item[A.FINISHED_AT]
            enough = kept >= self._retention(Status(item[A.TASK_STATUS]))
            require(write, enough, "deleted before its retention was over")

    def _retention(self, status: Status) -> int:
        lives = self.lifetimes
        return microseconds(lives.failure_retention if status is F else lives.success_retention)

    def _constants(self, write: Write, before: Item, after: Item) -> None:
        for name in CONSTANT:
            require(write, before[name] == after[name], f"{name} changed")
        require(write, before.get(A.TASK_KEY) == after.get(A.TASK_KEY), "its key changed")
        require(write, _ahead(before) == _ahead(after), "its head start changed")
        if A.FIRST_TAKEN_AT in before:
            same = before[A.FIRST_TAKEN_AT] == after.get(A.FIRST_TAKEN_AT)
            require(write, same, "firstTakenAt changed")
        if (write.was, write.becomes) != (T, T):
            same = before.get(A.CHECKPOINT) == after.get(A.CHECKPOINT)
            require(write, same, "its checkpoint changed")
        retried = write.was is T and write.becomes in (P, D) and write.role is Role.WORKER
        error_type = json.loads(after[A.ERROR])["type"] if retried else None
        check_mark(write, before, after, error_type=error_type)
        if (write.was, write.becomes) != (F, P):
            same = before[A.EXPIRES_AT] == after[A.EXPIRES_AT]
            require(write, same, "its deadline changed")
            tried = int((write.was, write.becomes) == (P, T))
            uncounted = int(_refused_for_lack_of_room(write, before, after))
            counted = after[A.ATTEMPTS] - before[A.ATTEMPTS]
            due = tried - uncounted
            require(write, counted == due, f"attempts rose by {counted}, not by {due}")

    def _fall(self, write: Write, before: Item, after: Item) -> None:
        """Check that an expired task loses its head start, and nothing else."""
        require(write, before[A.EXPIRES_AT] <= write.clock, "fell back before its deadline")
        require(write, after[A.TASK_UPDATED] == write.clock, "fell back at another time")
        since = before[A.TASK_CREATED] - before[A.PREVIEW][Preview.HEAD_START]
        fallen = {**before, A.TASK_CREATED: since, A.TASK_UPDATED: write.clock}
        fallen[A.PREVIEW] = {
            name: value for name, value in before[A.PREVIEW].items() if name != Preview.HEAD_START
        }
        if not fallen[A.PREVIEW]:
            del fallen[A.PREVIEW]
        require(write, after == fallen, "did not only fall back")

    def _claim(self, write: Write, before: Item, after: Item, history: History) -> None:
        live = before[A.EXPIRES_AT] > write.clock
        require(write, live, "claimed after its deadline")
        passed_over = before[A.TASK_TYPE] in self.passed_over
        require(write, not passed_over, "claimed by a worker that does not know its type")
        # A worker repeats a claim whose answer was lost, perhaps after the sweep has ended it.
        earlier = history.claims.get(str(after[A.CLAIM_ID]), write)
        repeated = (earlier.task_id, earlier.machine) == (write.task_id, write.machine)
        require(write, repeated, "claimed under another's claimId")
        require(write, after[A.TAKEN_AT] == write.clock, "takenAt is not when it was claimed")
        self._lease(write, after)
        check_start(write, history)
        check_claim(write, after, history)

    def _under_claim(self, write: Write, before: Item, after: Item, history: History) -> None:
        """Only the worker that holds the valid claim changes a task that is TAKEN."""
        claim = str(before[A.CLAIM_ID])
        holder = history.claims[claim].machine
        require(write, write.machine == holder, f"changed by {write.machine}, held by {holder}")
        if write.claim is not None:
            require(write, write.claim == claim, "changed by task code whose claim was over")
        if write.becomes is S:
            require(write, _said(after, A.RESULT) == claim, "holds the result of another claim")
        elif write.becomes is T:
            # Else it came late; or a quota of a limit over all workers allows a shorter lease only.
            if after[A.LEASE_EXPIRES] != before[A.LEASE_EXPIRES] and not self.shared_limits:
                self._lease(write, after)
            longer = after[A.LEASE_EXPIRES] >= before[A.LEASE_EXPIRES]
            require(write, longer, "is held for a shorter time than before")
            if A.CHECKPOINT in after and after.get(A.CHECKPOINT) != before.get(A.CHECKPOINT):
                said = _said(after, A.CHECKPOINT)
                require(write, said == claim, "holds the checkpoint of another claim")
        elif write.becomes is C:
            said = after.get(A.ERROR, "")
            own = said == before.get(A.ERROR, "") or "claim=" not in said
            require(write, own or f"claim={claim};" in said, "holds the error of another claim")
        else:
            self._error_under_claim(write, before, after, claim)

    def _lease(self, write: Write, after: Item) -> None:
        whole = after[A.LEASE_EXPIRES] == write.clock + microseconds(self.lease)
        require(write, whole, "is not held for a whole lease from now")

    def _error_under_claim(self, write: Write, before: Item, after: Item, claim: str) -> None:
        error = json.loads(after[A.ERROR])
        message = error["message"]
        if "claim=" in message:
            require(write, f"claim={claim};" in message, "holds the error of another claim")
        elif error["type"] == "TimeoutError":
            attempt = f"attempt {before[A.ATTEMPTS]} "
            require(write, attempt in message, "holds the timeout of another attempt")
        spent = before[A.ATTEMPTS] >= self.max_attempts[before[A.TASK_TYPE]]
        busy = error["type"] in UNCOUNTED
        if write.becomes is F:
            final = (
                spent
                or error["type"] in FINAL_ERRORS
                or "its deadline would have passed" in message
            )
            require(write, final, "failed with attempts left")
            require(write, not busy, "failed, though the downstream only had no room for it")
        else:
            require(write, busy or not spent, "is tried again without attempts left")
            final = error["type"] in FINAL_ERRORS
            require(write, not final, "is tried again, though no retry can help")
        if write.becomes is D:
            require(write, after[A.DUE_AT] > after[A.TASK_UPDATED], "delayed until now")
            in_time = busy or after[A.DUE_AT] < before[A.EXPIRES_AT] + LATEST
            require(write, in_time, "is to be tried again after its deadline")

    def _lost_worker(self, write: Write, before: Item, after: Item) -> None:
        _taken_away(write, before, after)
        spent = before[A.ATTEMPTS] >= self.max_attempts[before[A.TASK_TYPE]]
        right = write.becomes is C or (write.becomes is F) == spent
        require(write, right, f"{write.becomes}, attempts spent: {spent}")

    def _redrive(self, write: Write, after: Item) -> None:
        require(write, after[A.ATTEMPTS] == 0, "redriven without its attempts")
        since = after[A.TASK_CREATED] - _ahead(after)
        require(write, since >= write.clock, "redriven, but not as one that comes now")
        life = after[A.EXPIRES_AT] - write.clock
        require(write, life >= microseconds(self.lifetimes.deadline), "redriven for too short")

    def _place(self, write: Write, after: Item, history: History) -> None:
        """It comes back behind newer tasks, and where workers still poll."""
        place = after[A.TASK_CREATED]
        redrives = [w for w in history.of_task[write.task_id] if (w.was, w.becomes) == (F, P)]
        if redrives:
            # Who put it may have had a clock that was ahead of the one who redrove it.
            newest = max(_item(redrives[-1].after)[A.TASK_CREATED], _due_place(after))
            require(write, place <= newest, "came back as newer than its redrive made it")
        else:
            require(write, place == _due_place(after), "did not get its place back")


def _taken_away(write: Write, before: Item, after: Item) -> None:
    over = before[A.LEASE_EXPIRES] < write.clock
    require(write, over, "taken away from a worker whose lease holds")
    # Else the lost worker, back again, would take this for its own settle.
    require(write, A.CLAIM_ID not in after, "keeps the claim of a lost worker")


def _refused_for_lack_of_room(write: Write, before: Item, after: Item) -> bool:
    """Return True if a worker gives a task back for which the downstream had no room."""
    given_back = write.was is T and write.becomes in (P, D) and write.role is Role.WORKER
    return given_back and json.loads(after[A.ERROR])["type"] in UNCOUNTED


def _ahead(item: Item) -> int:
    return item.get(A.PREVIEW, {}).get(Preview.HEAD_START, 0)


def _due_place(item: Item) -> int:
    """Where a task is due that was not redriven."""
    return item[A.ENQUEUED_AT] + _ahead(item)


def _item(item: Item | None) -> Item:
    assert item is not None
    return item


def _said(item: Item, attribute: A) -> Any:
    """The claim that task code put into what it wrote."""
    found = json.loads(item[attribute])
    return found.get("claim") if isinstance(found, dict) else None
