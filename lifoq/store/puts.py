"""Put new tasks: one or many, kept or replaced where their ids are in use."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from lifoq.basics import jsontext
from lifoq.basics.clock import CLOCK_TOLERANCE
from lifoq.basics.host import microseconds
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    ItemTooLarge,
    QueueMisconfigured,
    StoreUnavailable,
)
from lifoq.items import replacing, transitions
from lifoq.items.change import Change, ConditionFailed, Equals, Item, Put, StatusIs, UnfitAttribute
from lifoq.items.packed import Large, unpack
from lifoq.items.schema import Attribute
from lifoq.items.task import Accepted, NewTask, Task
from lifoq.store.new_items import NewItems
from lifoq.store.table_protocol import MAX_BATCH

log = logging.getLogger("lifoq.puts")


@dataclass(frozen=True, kw_only=True)
class PutOutcome:
    """The outcome for one task of a ``Queue.put_many``: the task, or the error.

    Examples:
        >>> new = NewTask(task_type="device.check", task_id="d-17")
        >>> first, again = queue.put_many([new, new])
        >>> first.created, again.created, again.task.task_id
        (True, False, 'd-17')
    """

    task: Task | None
    """The task, with its present status; None if there was an error."""
    created: bool = False
    """True if this put made the task, False if its id was in use already."""
    error: Exception | None = None
    """The error; None if there was none. After StoreUnavailable nobody knows if the task was
    stored. After DamagedTask an item that is no task has its id. Any other error ended the call:
    this task and those after it are not confirmed."""


@dataclass(frozen=True, kw_only=True)
class _Step:
    """Items that are written together."""

    items: Sequence[tuple[int, Item]]
    """The items, each with its index among the tasks of the call."""
    idempotent: bool
    """True for one task with an id of the caller's: it needs a condition, which a batch cannot
    have."""


class Puts(NewItems):
    """The operations of producers."""

    _has_heard = False
    """True once the table has answered, and so told its time."""

    def put(self, new: NewTask) -> Task:
        """Put one task. A second put of a caller's id returns the first task, until that is shed or
        its retention is over; or replaces it, as it says.

        Raises InvalidInput, and StoreUnavailable: then nobody knows whether it was stored.
        """
        return self.put_new(new)[0]

    def put_new(self, new: NewTask) -> tuple[Task, bool]:
        """Put one task as ``put`` does, and return it, and True if this put made it."""
        accepted = self._accept(new)
        if accepted.replaces and self._hears_the_time(accepted):
            accepted = self._accept(new)
        ahead = self.table.clock_ahead()
        task, created = self.put_item(self._item(accepted))
        if created and self._clock_was_off(ahead):
            task = self._timed_anew(new, task)
        return task, created

    def new_item(self, new: NewTask) -> Item:
        """The item of a new task, as ``put_item`` takes it. InvalidInput."""
        return self._item(self._accept(new))

    def put_item(self, item: Item) -> tuple[Task, bool]:
        """Put the item of a new task, perhaps once more: the task, and whether it is new."""
        replaces = Attribute.PUT_AT in item
        there = None if replaces else self._there_before_large(item)
        if there is not None:
            task, created = self._kept(there, item)
        else:
            put = self._replace if replaces else self._keep
            task, created = put(self._with_large_apart(item))
        return self._as_put(task, item), created

    def new_write(self, new: NewTask) -> Put | tuple[str, Change]:
        """Return the write that puts a task as things are, for a transaction of the caller's own: a
        put, or an id and a change. Raises InvalidInput."""
        accepted = self._accept(new)
        if not accepted.replaces:
            item = self._with_large_apart(self.new_item(new))
            return Put(item=item, over=transitions.gone(self.now()))
        seen = self._seen(accepted)
        item, now = self._with_large_apart(self._item(self._accept(new))), self.now()
        write = None if seen is None else replacing.over(seen, item, now=now)
        # Over a put from a clock that is ahead, this is refused.
        write = write or replacing.first_try(item, now=now)
        return write if isinstance(write, Put) else (str(item[Attribute.TASK_ID]), write)

    def put_many(
        self,
        tasks: Sequence[NewTask],
        on_progress: Callable[[int], None] = lambda _: None,
        *,
        new_id: Callable[[], str] | None = None,
    ) -> list[PutOutcome]:
        """Put many tasks, outcome by outcome in their order; the last of them is the newest.

        All are checked before the first is written. ``on_progress`` hears how many are done.
        Raises only what it says before anything is written: InvalidInput, QueueMisconfigured. Later
        errors are outcomes, so that what was put is never unknown to the caller.

        ``new_id`` draws an id that nobody else has, for each task that brings none, in their order.
        """
        accepted = self._accept_all(tasks)
        ahead = self.table.clock_ahead()
        outcomes: dict[int, PutOutcome] = {}
        for step in self._steps(accepted, new_id or self._host.new_id):
            try:
                self._put_step(step, outcomes)
            except Exception as error:
                if not outcomes and isinstance(error, QueueMisconfigured):
                    raise
                lost = PutOutcome(task=None, error=error)
                return [outcomes.get(index, lost) for index in range(len(accepted))]
            on_progress(len(outcomes))
        found = [outcomes[index] for index in range(len(accepted))]
        if self._clock_was_off(ahead):
            return [self._outcome_timed_anew(*each) for each in zip(tasks, found, strict=True)]
        return found

    @staticmethod
    def _as_put(task: Task, item: Item) -> Task:
        """Return the task with the payload of the new item, where that was moved into the
        bucket."""
        if not isinstance(task.payload, Large) or isinstance(item[Attribute.PAYLOAD], dict):
            return task
        text = unpack(item[Attribute.PAYLOAD])
        mine = task.payload.is_of(text.encode())
        return replace(task, payload=jsontext.decode(text)) if mine else task

    def _accept_all(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        while True:
            accepted = [self.accept_nth("tasks", index, new) for index, new in enumerate(tasks)]
            replacing_one = next((each for each in accepted if each.replaces), None)
            if replacing_one is None or not self._hears_the_time(replacing_one):
                return accepted

    def _seen(self, new: Accepted) -> Item | None:
        """Read the item that has the id. The answer also tells the table's time."""
        seen = self.table.get(str(new.task_id))
        self._has_heard = True
        return seen

    def _hears_the_time(self, new: Accepted) -> bool:
        """Read the item once if this process has not yet heard the table's time, and return True if
        it did. Replacing puts are ordered by that time, so it has to be right from the first one
        on."""
        if self._has_heard:
            return False
        self._seen(new)
        return True

    def _replace(self, item: Item) -> tuple[Task, bool]:
        """Replace the task of this id, by what is found: one write as a rule, since what refuses it
        tells what there is."""
        write: Put | Change = replacing.first_try(item, now=self.now())
        retries = self._write_retries(item[Attribute.TASK_ID])
        while True:
            try:
                return self._written(item, write)
            except ConditionFailed as refused:
                seen = refused.item
            retries.after_refusal()
            if seen is None:  # it went meanwhile
                write = replacing.first_try(item, now=self.now())
                continue
            instead = replacing.over(seen, item, now=self.now())
            if instead is None:  # a newer one was faster; or it is ours, whose answer was lost
                task = Task.from_item(seen)
                mine = task.put_at == item[Attribute.PUT_AT]
                return task, mine and task.replaced == 0 and not task.history
            write = instead

    def _written(self, item: Item, write: Put | Change) -> tuple[Task, bool]:
        if isinstance(write, Put):
            self.table.put(write.item, over=write.over)
            return Task.from_item(write.item), True
        task_id = str(item[Attribute.TASK_ID])
        try:
            task = Task.from_item(self.table.update_and_get(task_id, write))
        except UnfitAttribute as unfit:
            raise DamagedTask(task_id, f"replaced cannot be raised ({unfit})") from unfit
        except ItemTooLarge as error:
            problem = (
                "finds no room beside that of the task's run, which is not over yet, as both have "
                f"to fit one item: put it again later, or make it smaller ({error})"
            )
            raise InvalidInput("payload", item[Attribute.PAYLOAD], problem) from error
        return task, write.creates and task.replaced == 0

    def _keep(self, item: Item) -> tuple[Task, bool]:
        retries = self._write_retries(item[Attribute.TASK_ID])
        while True:
            try:
                self.table.put(item, over=transitions.gone(self.now()))
            except ConditionFailed as refused:
                seen = refused.item
            else:
                return Task.from_item(item), True
            if seen is not None:
                return self._kept(seen, item)
            retries.after_refusal()  # put by another, and deleted before we could see it

    @staticmethod
    def _kept(seen: Item, item: Item) -> tuple[Task, bool]:
        """The task that was there before the put of ``item``; it is new where that is our own,
        whose answer was lost."""
        first = Task.from_item(seen)
        return first, item[Attribute.TASK_UPDATED] in (first.enqueued_at, first.task_updated)

    def _clock_was_off(self, ahead: int) -> bool:
        """Return True if the clock is not ``ahead`` (microseconds) after all, as answers have told
        since."""
        return abs(self.table.clock_ahead() - ahead) > microseconds(CLOCK_TOLERANCE)

    def _timed_anew(self, new: NewTask, put: Task) -> Task:
        """Put the times of a task right that was put by a clock that was off, unless the task has
        moved on meanwhile. A process learns how far its clock is off from the answer to its first
        call, which may be a put."""
        try:
            item = self._item(self._accept(replace(new, task_id=put.task_id)))
        except InvalidInput as error:
            log.warning("task %s was put by a clock that was off: %s", put.task_id, error)
            return put
        same = Equals(Attribute.TASK_UPDATED, put.task_updated)
        try:
            self.table.replace(self._with_large_apart(item), when=(StatusIs(put.status), same))
        except ConditionFailed as refused:
            return put if refused.item is None else Task.from_item(refused.item)
        return Task.from_item(item)

    def _outcome_timed_anew(self, new: NewTask, outcome: PutOutcome) -> PutOutcome:
        if outcome.task is None or not outcome.created:
            return outcome
        try:
            return replace(outcome, task=self._timed_anew(new, outcome.task))
        except StoreUnavailable as error:
            log.warning("task %s was put by a clock that was off: %s", outcome.task.task_id, error)
            return outcome

    def _put_safely(self, item: Item) -> PutOutcome:
        try:
            task, created = self.put_item(item)
        except (StoreUnavailable, DamagedTask) as error:
            return PutOutcome(task=None, error=error)
        return PutOutcome(task=task, created=created)

    def _steps(self, accepted: Sequence[Accepted], new_id: Callable[[], str]) -> Iterator[_Step]:
        """Yield what is written at a time, in the order of the tasks: those without ids in batches;
        one with an id alone, since it needs a condition, which a batch cannot carry."""
        batch: list[tuple[int, Item]] = []
        for index, task in enumerate(accepted):
            if task.task_id is not None:
                yield _Step(items=[(index, self._item(task))], idempotent=True)
                continue
            batch.append((index, self._item(replace(task, task_id=new_id()))))
            if len(batch) == MAX_BATCH:
                yield _Step(items=batch, idempotent=False)
                batch = []
        if batch:
            yield _Step(items=batch, idempotent=False)

    def _put_step(self, step: _Step, outcomes: dict[int, PutOutcome]) -> None:
        """Write a step, and note each outcome as soon as it is known. Whatever a batch leaves open
        is put again one by one, with the condition that keeps a task that was stored after all, and
        perhaps already runs, from being overwritten."""
        if step.idempotent:
            outcomes.update((index, self._put_safely(item)) for index, item in step.items)
            return
        items: dict[int, Item] = {}
        for index, item in step.items:
            try:
                items[index] = self._with_large_apart(item)
            except StoreUnavailable as error:
                outcomes[index] = PutOutcome(task=None, error=error)
        try:
            left = self.table.put_batch(list(items.values())) if items else []
        except StoreUnavailable:
            left = list(items.values())
        open_ids = {item[Attribute.TASK_ID] for item in left}
        again = []
        for index, item in step.items:
            if item[Attribute.TASK_ID] in open_ids:
                again.append((index, item))
            elif index in items:
                outcomes[index] = PutOutcome(task=Task.from_item(item), created=True)
        for index, item in again:
            outcomes[index] = self._put_again(items[index], item)

    def _put_again(self, item: Item, whole: Item) -> PutOutcome:
        """Put an item of a batch. Its id is the queue's own, so whatever is stored under it by now,
        and may have moved on since, was put by us. ``whole``: with its payload."""
        outcome = self._put_safely(item)
        if outcome.task is None:
            return outcome
        return PutOutcome(task=self._as_put(outcome.task, whole), created=True)
