"""Putting a task, to a queue or to several as one."""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

from lifoq.items.task import Duration, IfExists, NewTask, Task


class Producer(ABC):
    """Anything that takes tasks: a queue, or cells."""

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
        task_token: str | None = None,
        traceparent: str | None = None,
    ) -> Task:
        """Put a task and return it. With a ``task_id`` of your own, putting twice is safe: the
        second put returns the first task, as it is by then. With ``if_exists="replace"`` the newest
        put of the id counts: one that waits takes over what this one says; one that is TAKEN does
        so when its attempt has ended, whatever its outcome; one that has ended begins anew. It
        returns the task as it is by then. For the terms see NewTask.

        Raises InvalidInput, before anything is written.
        """
        return self._put(
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
                task_token=task_token,
                traceparent=traceparent,
            )
        )

    @abstractmethod
    def _put(self, new: NewTask) -> Task: ...
