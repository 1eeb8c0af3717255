"""Claims: PENDING → TAKEN, by the worker that will run the task."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lifoq.basics.host import Host
from lifoq.errors import StoreUnavailable
from lifoq.items.change import Condition
from lifoq.items.key_limit import KeyLimit
from lifoq.items.task import Task
from lifoq.store.candidate import Candidate
from lifoq.store.worker_writes import AttemptWrites

if TYPE_CHECKING:
    from lifoq.store.key_starts_seen import KeyStarts  # not at a cold start

log = logging.getLogger("lifoq.claims")


def nothing() -> None:
    """Free nothing: for a claim that holds nothing but its task."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A task that is this worker's until its lease is over."""

    task: Task
    leave: Callable[[], None] = nothing
    """Called once the claim has ended. Frees what it holds beside the task, so that nobody has to
    find out that it has ended."""
    begin_by: float = math.inf
    """Monotonic microseconds after which the attempt must not begin: the claim is handed back."""


class Claims:
    """Claims without per-key limits."""

    starts: "KeyStarts | None" = None
    """The last starts of keys that this process knows; None where no key has a limit."""

    def __init__(self, store: AttemptWrites, *, host: Host, worker: str = "") -> None:
        """``worker``: the name of the process, with which the ids of its claims begin."""
        self._store = store
        self._host = host
        self._worker = worker

    def claim(self, row: Candidate, *, key_limit: KeyLimit | None, lease: float) -> Claim:
        """Claim a task for ``lease`` seconds: PENDING → TAKEN. ``key_limit``: the limits of each
        key of this task's type; None: there are none. A claim that was not confirmed is sent once
        more, and recognised if it was granted; after that it is left to its lease.

        Raises NotClaimed where somebody was faster or the task has expired, and its kind KeyBusy
        where no task of its key may start; DamagedTask; StoreUnavailable.
        """
        call = self._call(row, key_limit, lease)
        try:
            return call()
        except StoreUnavailable as error:
            log.warning("claim of task %s not confirmed: %s", row.task_id, error)
            return call()

    def _call(
        self, row: Candidate, _key_limit: KeyLimit | None, lease: float
    ) -> Callable[[], Claim]:
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
