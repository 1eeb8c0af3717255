"""Change one task by hand: cancel, delete, run now, redrive."""

from lifoq.errors import TaskNotFound, WrongStatus
from lifoq.items import replacing, transitions
from lifoq.items.change import Change, ConditionFailed
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import Task
from lifoq.store.apply_end import fits
from lifoq.store.base import StoreBase


class OperatorWrites(StoreBase):
    """The operations of clients and operators. Each reads the task, then writes conditionally.

    Each raises TaskNotFound, WrongStatus where the task's status does not allow it, DamagedTask
    where the item is no task, and what the table raises.
    """

    def cancel(self, task_id: str, *, running: bool = True) -> Task:
        """Cancel a task, and return it as it is now.

        Waiting (PENDING, DELAYED): it is CANCELLED at once. TAKEN: it is marked with
        ``cancel_asked``, and its worker stops it. ``running=False`` leaves the attempt alone and
        drops only a newer put that is parked behind it. A cancelled task stays as it is.
        """
        retries = self._write_retries(task_id)
        while True:
            task = self._existing(task_id)
            change = self._cancelling(task, running=running)
            if change is None:
                return task
            try:
                with fits(task_id, "cancelled"):
                    return Task.from_item(self.table.update_and_get(task_id, change))
            except ConditionFailed:
                retries.after_refusal()  # it moved in between: look again

    def want(self, task_id: str, *, until: int) -> None:
        """Note that a caller waits for the task, at least ``until`` then (epoch microseconds),
        unless the task has ended. By one write, without a read."""
        try:
            self.table.update(task_id, transitions.want(until=until))
        except ConditionFailed:
            return  # it has ended, or is gone: the next look tells

    def _cancelling(self, task: Task, *, running: bool) -> Change | None:
        """The change that cancels the task; None where there is nothing left to do."""
        now = self.now()
        if task.status is Status.CANCELLED:
            return None
        if task.waiting:
            return transitions.cancel(seen=task.status, now=now, lifetimes=self.lifetimes)
        if task.status is Status.TAKEN and running:
            told = task.cancel_asked is not None and task.parked is None
            return None if told else transitions.ask_to_cancel(now=now)
        if task.status is Status.TAKEN and task.parked is not None:
            return replacing.withdraw(task, now=now)
        needed = "PENDING, DELAYED or TAKEN" if running else "PENDING or DELAYED"
        raise WrongStatus(task.task_id, task.status, needed)

    def delete(self, task_id: str) -> Task:
        """Delete a task that has ended (SUCCESS, FAILURE, CANCELLED), with its large values, and
        return it as it was."""
        task = self._existing(task_id)
        try:
            self.table.delete(task_id, when=transitions.erase())
        except ConditionFailed as refused:
            if refused.item is None:  # by another, or by us, and the answer was lost
                return task
            now = Task.from_item(refused.item)
            raise WrongStatus(task_id, now.status, "SUCCESS, FAILURE or CANCELLED") from refused
        if self.large is not None:
            self.large.forget(task)
        return task

    def run_now(self, task_id: str) -> Task:
        """Bring a DELAYED task to PENDING now, whenever it is due, and return it."""
        retries = self._write_retries(task_id)
        while True:
            task = self._existing(task_id)
            if task.status is not Status.DELAYED:
                raise WrongStatus(task_id, task.status, "DELAYED")
            stamp = self._host.stamp(self.now())
            change = transitions.hurry(task=task, stamp=stamp, lifetimes=self.lifetimes)
            try:
                with fits(task_id, "brought in"):
                    return Task.from_item(self.table.update_and_get(task_id, change))
            except ConditionFailed:
                retries.after_refusal()  # it moved in between: look again

    def redrive(self, task_id: str) -> Task:
        """Bring a task from FAILURE back to PENDING, as the newest of the queue and with a new
        deadline, and return it."""
        task = self._existing(task_id)
        if task.status is not Status.FAILURE:
            raise WrongStatus(task_id, task.status, "FAILURE")
        if self.large is not None:
            self.large.renew(task)
        stamp = self._host.stamp(self.now())
        change = transitions.redrive(task=task, stamp=stamp, lifetimes=self.lifetimes)
        try:
            with fits(task_id, "redriven"):
                return Task.from_item(self.table.update_and_get(task_id, change))
        except ConditionFailed as refused:
            now = Task.from_item(refused.item) if refused.item else None
            if now is None:
                raise TaskNotFound(task_id) from refused
            if (
                now.task_created == change.set[Attribute.TASK_CREATED]
            ):  # our own, whose answer was lost
                return now
            raise WrongStatus(task_id, now.status, "FAILURE") from refused

    def _existing(self, task_id: str) -> Task:
        item = self.table.get(task_id)
        if item is None:
            raise TaskNotFound(task_id)
        return Task.from_item(item)
