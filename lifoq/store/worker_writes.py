"""The writes of a worker: claim a task, extend its lease, keep a checkpoint, settle the attempt."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.errors import Cancelled, DamagedTask, InvalidInput, LeaseLost, NotClaimed
from lifoq.items import replacing, transitions
from lifoq.items.change import (
    Change,
    Condition,
    ConditionFailed,
    Item,
    TransactionRefused,
    UnfitAttribute,
)
from lifoq.items.schema import MAX_PAYLOAD_AND_CHECKPOINT_BYTES, Attribute, Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.store.apply_end import apply_end, fits, settled_as, tells_of_cancellation
from lifoq.store.base import Write
from lifoq.store.candidate import Candidate, candidate_of, row_after
from lifoq.store.new_items import NewItems
from lifoq.store.table_protocol import MAX_TRANSACTION

MAX_FOLLOW_UPS = MAX_TRANSACTION - 1
"""Follow-up tasks that one success can put, since all go into one transaction."""


class AttemptWrites(NewItems):
    """The operations of a worker on a task that it claims or has claimed.

    All but ``claim`` need the claim: they raise LeaseLost where it is lost, and Cancelled where
    somebody asked to cancel the task. ``succeed``, ``fail``, ``retry`` and ``end_cancelled`` settle
    the attempt. They return the task's row if it waits in the index again: after a retry without
    delay, or where a newer put was parked behind the attempt and takes the task's place. Otherwise
    they return None.
    """

    def claim(
        self, task_id: str, *, claim_id: str, lease: float, when: tuple[Condition, ...] = ()
    ) -> Task:
        """Claim a task: PENDING → TAKEN for ``lease`` seconds, and return it. ``when``: conditions
        beyond those of every claim.

        Raises NotClaimed where somebody was faster or the task has expired, and DamagedTask.
        """
        change = transitions.claim(now=self.now(), claim_id=claim_id, lease=microseconds(lease))
        change = replace(change, when=(*change.when, *when)) if when else change
        try:
            with fits(task_id, "claimed"):
                return Task.from_item(self.table.update_and_get(task_id, change))
        except UnfitAttribute as unfit:
            raise DamagedTask(task_id, f"attempts cannot be raised ({unfit})") from unfit
        except ConditionFailed as refused:
            item = refused.item
            if item is None:
                raise NotClaimed(task_id) from refused
            if settled_as(item, Status.TAKEN, claim_id):  # our own, whose answer was lost
                return Task.from_item(item)
            if item.get(Attribute.TASK_STATUS) == Status.PENDING:
                Task.from_item(item)  # says what is damaged, if anything is
            raise NotClaimed(task_id) from refused

    def extend(self, task: Task, *, lease: float, cancelled: bool = False) -> None:
        """Send a heartbeat: the claim holds for another ``lease`` seconds from now, or as long as a
        later heartbeat said.

        Raises LeaseLost. Raises Cancelled where the task has been cancelled, unless ``cancelled``
        says that the caller knows; the lease is extended all the same.
        """

        now = self.now()
        until = now + microseconds(lease)
        change = transitions.extend(task=task, now=now, lease_expires=until, cancelled=cancelled)
        try:
            self.table.update(task.task_id, change)
        except ConditionFailed as refused:
            if not cancelled and self._cancels_for_caller(task, refused.item, now):
                self.extend(task, lease=lease, cancelled=True)
                raise Cancelled(task.task_id) from refused
            try:
                self._recognise(task, refused.item, Status.TAKEN, refused, change)
            except Cancelled:  # it may take time to stop
                self.extend(task, lease=lease, cancelled=True)
                raise

    def _cancels_for_caller(self, task: Task, item: Item | None, now: int) -> bool:
        """Cancel a task whose caller has gone without a word, as the item shows; True if that
        holds."""
        change = transitions.ask_for_caller(task=task, now=now)
        if item is None or not all(condition.holds(item) for condition in change.when):
            return False
        try:
            self.table.update(task.task_id, change)
        except ConditionFailed:
            return False  # the caller was late; the next heartbeat extends the lease
        return True

    def checkpoint(self, task: Task, value: Any, *, lease: float) -> None:
        """Keep ``value`` (JSON) for the next attempt, and extend the lease.

        Raises LeaseLost, InvalidInput where the value is too large, and Cancelled, since a
        cancelled task has no next attempt.
        """
        text = jsontext.encode(value, "checkpoint")
        change = transitions.checkpoint(task=task, now=self.now(), value=text)
        change = self._apart(change, Attribute.CHECKPOINT)
        room = MAX_PAYLOAD_AND_CHECKPOINT_BYTES - task.payload_bytes
        if room < jsontext.size(text) and not isinstance(change.set[Attribute.CHECKPOINT], dict):
            raise InvalidInput(
                "checkpoint",
                text,
                f"is {jsontext.size(text):,} bytes of JSON, beside this payload there is room for "
                f"{room:,}; put it in S3 and keep its key",
            )
        now = self.now()
        if not self._applied(
            task.task_id, transitions.and_extend(change, now + microseconds(lease))
        ):
            self._under_claim(task, change, Status.TAKEN)

    def succeed(
        self, task: Task, result: str, follow_ups: Sequence[NewTask] = ()
    ) -> Candidate | None:
        """Settle as SUCCESS with the result (JSON text), and put the follow-up tasks in the same
        transaction.

        Raises LeaseLost, and InvalidInput for a follow-up, before anything is written.
        """
        change = transitions.succeed(
            task=task, now=self.now(), result=result, lifetimes=self.lifetimes
        )
        items = self._follow_up_items(task, follow_ups)
        if task.task_token is None:  # else who answers with the result has to find it in the item
            change = self._apart(change, Attribute.RESULT)
        items = [
            self._with_large_apart(item) for item in items if not self._there_before_large(item)
        ]
        write = self.table.update
        if items:
            write = partial(self._write_with, items)
        return self._end(task, change, Status.SUCCESS, write)

    def fail(self, task: Task, error: TaskError) -> Candidate | None:
        """Settle as FAILURE with the error. Raises LeaseLost; Cancelled: call ``end_cancelled``."""
        change = transitions.fail(task=task, now=self.now(), error=error, lifetimes=self.lifetimes)
        return self._end(task, change, Status.FAILURE)

    def retry(
        self,
        task: Task,
        error: TaskError,
        *,
        delay: float,
        counts: bool = True,
        alone: bool = False,
    ) -> Candidate | None:
        """Return the task to the queue: DELAYED for ``delay`` seconds, or PENDING at once where it
        is 0. ``counts=False`` takes the attempt back from ``attempts``. ``alone``: True if the task
        shares no call of a handler with others from now on.

        Raises LeaseLost; Cancelled: call ``end_cancelled``.
        """
        now = self.now()
        if delay > 0:
            becomes = Status.DELAYED
            due_at = now + microseconds(delay)
            change = transitions.delay(task=task, now=now, due_at=due_at, error=error)
        else:
            becomes = Status.PENDING
            change = transitions.hand_back(
                task=task, now=now, error=error, lifetimes=self.lifetimes
            )
        if not counts:
            change = transitions.uncounted(change, task, now=now, error=error)
        if alone and not task.alone:
            change = transitions.alone(change, task)
        return self._end(task, change, becomes)

    def end_cancelled(self, task: Task, error: TaskError | None = None) -> Candidate | None:
        """Settle a task as CANCELLED that somebody asked to cancel. ``error``: what its handler
        raised, if that was anything but Cancelled. Raises LeaseLost."""
        change = transitions.end_cancelled(
            task=task, now=self.now(), error=error, lifetimes=self.lifetimes
        )
        return self._end(task, change, Status.CANCELLED)

    def _under_claim(self, task: Task, change: Change, becomes: Status) -> None:
        try:
            self.table.update(task.task_id, change)
        except ConditionFailed as refused:
            self._recognise(task, refused.item, becomes, refused, change)

    def _end(
        self, task: Task, change: Change, becomes: Status, write: Write | None = None
    ) -> Candidate | None:
        """Write the end of an attempt; a repeat after a lost answer finds it written, and succeeds.
        Return the row as which the task waits again, if it does. Raises LeaseLost, Cancelled."""
        try:
            retries, write = self._write_retries(task.task_id), write or self.table.update
            item = row_after(task, apply_end(task, change, write, retries))
        except ConditionFailed as refused:
            self._recognise(task, refused.item, becomes, refused, change)
            item = refused.item or {}
        except DamagedTask as damage:  # what is parked is; the sweep puts it aside
            raise LeaseLost(task.task_id) from damage
        return candidate_of(item) if item.get(Attribute.TASK_STATUS) == Status.PENDING else None

    def _follow_up_items(self, task: Task, follow_ups: Sequence[NewTask]) -> list[Item]:
        """Return the items of follow-up tasks, in the trace of ``task`` unless they name another.

        A put is idempotent: of several with one id the first counts, and one with the id of
        ``task`` itself is dropped. A transaction that names an item twice would be refused.
        """
        items: dict[str, Item] = {}
        for index, new in enumerate(follow_ups):
            accepted = self.accept_nth("follow_ups", index, new.within(task.traceparent))
            if accepted.replaces:
                problem = "is for puts of their own, a follow-up is kept where its id is in use"
                raise InvalidInput(f"follow_ups[{index}].if_exists", new.if_exists, problem)
            item = self._item(accepted)
            items.setdefault(str(item[Attribute.TASK_ID]), item)
        items.pop(task.task_id, None)
        return list(items.values())

    def _write_with(self, items: Sequence[Item], task_id: str, change: Change) -> None:
        """Apply the change and put the items in one transaction. Raises ConditionFailed where the
        change is refused; an item whose id is in use is left out, and the rest written."""
        retries = self._write_retries(task_id)
        while True:
            over = transitions.gone(self.now())
            try:
                self.table.update_and_put(task_id, change, items, over=over)
            except TransactionRefused as refused:
                if refused.update_refused:
                    raise ConditionFailed(refused.current) from refused
                # Follow-ups with ids that are in use have been put before: put is idempotent.
                items = [i for i in items if i[Attribute.TASK_ID] not in refused.taken_ids]
                retries.after_refusal()
            else:
                return

    @staticmethod
    def _recognise(
        task: Task, item: Item | None, becomes: Status, refused: Exception, change: Change
    ) -> None:
        if item is not None and tells_of_cancellation(task, change, item):
            raise Cancelled(task.task_id) from refused
        # A short delay may be over by now, and the task be promoted: that keeps the claim's id.
        delayed = (Status.DELAYED, Status.PENDING)
        statuses = delayed if becomes is Status.DELAYED else (becomes,)
        claim_id = transitions.claim_of(task)
        if item is not None and any(settled_as(item, status, claim_id) for status in statuses):
            return
        if item is None or not replacing.is_with_parked(item, task):
            raise LeaseLost(task.task_id) from refused
