"""Putting a task, to a queue or to several as one."""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lifoq import telemetry
from lifoq.items.schema import Status
from lifoq.items.task import Duration, IfExists, NewTask, Task

if TYPE_CHECKING:
    from lifoq.client.kicks import Kicks


class Producer(ABC):
    """Anything that takes tasks: a queue, or several as one."""

    def put(
        self,
        task_type: str,
        payload: Any = None,
        *,
        task_id: str | None = None,
        key: str | None = None,
        if_exists: IfExists = "keep",
        deadline: Duration | datetime | None = None,
        delay: Duration | None = None,
        due_at: datetime | None = None,
        head_start: Duration | None = None,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        weight: int | None = None,
        task_token: str | None = None,
        traceparent: str | None = None,
        kick: bool = False,
    ) -> Task:
        """Put a task, and return it as it is then. The newest task is the next to run.

        With a ``task_id`` of your own, putting twice is safe: the second put writes nothing, and
        returns the first task with its present status. With ``if_exists="replace"`` the newest put
        of an id counts: a task that waits takes over what this put says; one that is TAKEN does so
        when its attempt has ended, whatever its outcome; one that has ended begins anew.

        Args:
            task_type: The type of the task: which handler runs it.
            payload: The payload that the handler gets. Any JSON value.
            task_id: An id of your own: to put it again is safe, and returns the task that is there.
            key: The person or thing that the task is for, such as a customer or a device.
            if_exists: The rule for an id in use: keep that task, or let the newest put replace it.
            deadline: When the task is shed, if it still waits. At most the queue's deadline.
                Seconds from when it enters the queue, a timedelta, or a datetime with a zone.
            delay: The time until the task enters the queue. Seconds, or a timedelta.
            due_at: When the task enters the queue. A datetime with a zone.
            head_start: A priority: the task stands where it would if it had come so much later. At
                most its deadline. Seconds, or a timedelta.
            max_attempts: The number of attempts that the task has, in place of its type's own
                number.
            timeout: The time that one attempt may take, in place of its type's own time. Seconds,
                or a timedelta.
            weight: The units that the task weighs, such as tokens: limits in units count them.
            task_token: The token of a Step Functions state that waits for the task's end.
            traceparent: The trace that the task belongs to, as the W3C writes it.
            kick: True wakes the queue's processor at once, which on AWS spares a task that comes
                alone some 125 ms; at most once a second. Takes ``grant_call``.

        Raises:
            InvalidInput: A term is refused. The message names it, its value and the remedy; nothing
                was written.

        Examples:
            >>> queue.put("device.check", {"device": "d-17"}, task_id="d-17", deadline=30).status
            <Status.PENDING: 'PENDING'>
            >>> queue.put("device.check", {"device": "d-18"}, key="d-18", delay=60).status
            <Status.DELAYED: 'DELAYED'>
        """
        task = self._put_traced(
            NewTask(
                task_type=task_type,
                payload=payload,
                task_id=task_id,
                key=key,
                if_exists=if_exists,
                deadline=deadline,
                delay=delay,
                due_at=due_at,
                head_start=head_start,
                max_attempts=max_attempts,
                timeout=timeout,
                weight=weight,
                task_token=task_token,
                traceparent=traceparent,
            )
        )
        kicks = self._kicks_of(task.task_id) if kick and task.status is Status.PENDING else None
        if kicks is not None:
            kicks.kick()
        return task

    def _put_traced(self, new: NewTask) -> Task:
        return telemetry.put(new, self._put)

    @abstractmethod
    def _put(self, new: NewTask) -> Task: ...

    def _kicks_of(self, _task_id: str) -> "Kicks | None":
        """Return the way to wake the processor of the queue to which the id belongs; None if there
        is none to wake."""
        return None
