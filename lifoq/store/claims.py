"""Claims: PENDING → TAKEN, by the worker that will run the task."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lifoq.basics.host import Host
from lifoq.errors import StoreUnavailable
from lifoq.items.change import Condition
from lifoq.items.task import Task
from lifoq.store.candidate import Candidate
from lifoq.store.worker_writes import WorkerWrites

log = logging.getLogger("lifoq.claims")


def _nothing() -> None:
    """Free nothing: for a claim that holds nothing but its task."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A task that is this worker's until its lease is over."""

    task: Task
    leave: Callable[[], None] = _nothing
    """Called once the claim has ended. Frees what it holds beside the task, so that nobody has to
    find out that it has ended."""


class Claims:
    """Claims without per-key limits."""

    def __init__(self, store: WorkerWrites, *, host: Host, worker: str = "") -> None:
        """``worker``: the name of the process, with which the ids of its claims begin."""
        self._store = store
        self._host = host
        self._worker = worker

    def claim(self, row: Candidate, *, per_key: int | None, lease: float) -> Claim:
        """Claim a task for ``lease`` seconds: PENDING → TAKEN. ``per_key``: tasks of one key that
        may be TAKEN at a time, of this task's type; None: any number. A claim that was not
        confirmed is sent once more, and recognised if it was granted; after that it is left to its
        lease.

        Raises NotClaimed where somebody was faster or the task has expired, and its kind KeyBusy
        where as many of its key are TAKEN as may be; DamagedTask; StoreUnavailable.
        """
        call = self._call(row, per_key, lease)
        try:
            return call()
        except StoreUnavailable as error:
            log.warning("claim of task %s not confirmed: %s", row.task_id, error)
            return call()

    def _call(self, row: Candidate, _per_key: int | None, lease: float) -> Callable[[], Claim]:
        """Return the call that claims, which may be made twice."""
        return self._of_task_alone(row, lease)

    def _new_claim_id(self) -> str:
        return f"{self._worker}:{self._host.new_id()}"

    def _of_task_alone(
        self, row: Candidate, lease: float, *, when: tuple[Condition, ...] = ()
    ) -> Callable[[], Claim]:
        """Return the call that claims the task alone. Both of its calls have one claim id, by which
        the claim is recognised."""
        claim_id = self._new_claim_id()
        send = partial(self._store.claim, row.task_id, claim_id=claim_id, lease=lease, when=when)
        return lambda: Claim(task=send())
