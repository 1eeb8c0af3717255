"""Calling: a put for whose result somebody waits."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from lifoq.basics.host import Host
from lifoq.basics.numbers import seconds
from lifoq.client.producer import Producer
from lifoq.items.task import Duration, NewTask
from lifoq.store.store import Store

if TYPE_CHECKING:
    from lifoq.client.call import Call  # not where nobody calls


class Caller(Producer):
    """Anything that takes tasks and returns their results: a queue, or several as one."""

    _host: Host

    def call(
        self,
        task_type: str,
        payload: Any = None,
        *,
        timeout: Duration,
        task_id: str | None = None,
        key: str | None = None,
        head_start: Duration | None = None,
        max_attempts: int | None = None,
        weight: int | None = None,
        traceparent: str | None = None,
        kick: bool = True,
        while_waiting: bool = False,
    ) -> Any:
        """Put a task, wait until it has ended, and return its result: for a caller who waits, such
        as a web handler.

        The caller's patience is the task's deadline: nobody begins it later. If the caller leaves
        earlier, such as by Ctrl-C, a task that waits is cancelled, and one that runs is told to
        stop. If the patience ends while the task runs, it is told as well.

        With a ``task_id`` of your own, several callers share one task: the first one makes it, and
        only that one withdraws it.

        Args:
            task_type: The type of the task: which handler runs it.
            payload: The payload that the handler gets. Any JSON value.
            timeout: The caller's patience, at most the queue's deadline. Seconds, or a timedelta.
            task_id: An id of your own: a call for a task that is there waits for that one.
            key: The person or thing that the task is for, such as a customer or a device.
            head_start: A priority: the task stands where it would if it had come so much later. At
                most ``timeout``. Seconds, or a timedelta.
            max_attempts: The number of attempts that the task has, in place of its type's own
                number.
            weight: The units that the task weighs, such as tokens: limits in units count them.
            traceparent: The trace that the task belongs to, as the W3C writes it.
            kick: False leaves it to the stream to wake the queue's processor: on AWS some 125 ms
                later. Without ``grant_call`` it is left to it anyhow.
            while_waiting: True says again every few seconds that the caller waits, by a write, so
                that a task that runs is also told to stop if this process dies.

        Raises:
            TaskShed: No worker was free in time. A web handler answers 503.
            WaitTimeout: The task had begun, and did not end in time. It is told to stop. 504.
            TaskFailed: The task ended in FAILURE; the exception has its error. 502.
            TaskCancelled: Somebody else has cancelled the task. 409.
            InvalidInput: A term is refused; nothing was written.

        Examples:
            >>> try:
            ...     answer = queue.call("question.answer", "How far is the moon?", timeout=0.1)
            ... except NoResult as error:
            ...     print(error.http_status, type(error).__name__)
            503 TaskShed
        """
        call = self._new_call(
            NewTask(
                task_type=task_type,
                payload=payload,
                task_id=task_id,
                key=key,
                head_start=head_start,
                max_attempts=max_attempts,
                weight=weight,
                traceparent=traceparent,
            ),
            timeout,
            kick=kick,
            while_waiting=while_waiting,
        )
        with call.withdrawn_if_left():
            call.put()
            return call.answer(call.wait())

    def _new_call(
        self, new: NewTask, timeout: Duration, *, kick: bool, while_waiting: bool = False
    ) -> "Call":
        patience = seconds("timeout", timeout)
        task_id = self._host.new_id() if new.task_id is None else new.task_id
        store = self._store_of(task_id)
        from lifoq.client.call import Call  # noqa: PLC0415 - not where nobody calls

        return Call(
            new,
            task_id=task_id,
            patience=patience,
            store=store,
            host=self._host,
            kicks=self._kicks_of(task_id) if kick else None,
            while_waiting=while_waiting,
        )

    @abstractmethod
    def _store_of(self, task_id: str) -> Store:
        """Return the store of the queue to which the id belongs."""
