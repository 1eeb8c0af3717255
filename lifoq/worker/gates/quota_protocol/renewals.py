"""The renewals of a process's quotas, and what they mean for its tasks."""

import math
import threading
from collections.abc import Callable, Collection

from lifoq.worker.gates.quota_protocol.renewal_answer import RenewalAnswer
from lifoq.worker.gates.quota_protocol.worker_quota import Quota


class Renewals:
    """The quotas of a process together. The run renews them; attempts ask for how long their tasks
    may be leased."""

    def __init__(self, quotas: Collection[Quota], lock: threading.Lock) -> None:
        """``lock``: that of the gates."""
        self._quotas = quotas
        self._by_table = {quota.quota_table: quota for quota in quotas}
        self._lock = lock

    @property
    def due_at(self) -> float:
        """When the next renewals are due, in monotonic microseconds; inf if none is."""
        return min((quota.state.due_at for quota in self._quotas), default=math.inf)

    def due(self, now: int) -> list[Callable[[], RenewalAnswer]]:
        """Begin the renewals that are due. Return their background calls; the run gives the answer
        of each to ``take_answer``."""
        with self._lock:
            quotas = [quota for quota in self._quotas if quota.state.due_at <= now]
            return [quota.renewal() for quota in quotas]

    def last(self) -> list[Callable[[], RenewalAnswer]]:
        """Begin renewals that give back all that is not in use. Return their calls, as ``due``."""
        with self._lock:
            quotas = [quota for quota in self._quotas if quota.state.in_quota_table]
            return [quota.renewal(more=False) for quota in quotas]

    def take_answer(self, answer: RenewalAnswer) -> bool:
        """Take the answer to a renewal. Return True if it may change which task is the next to
        start."""
        with self._lock:
            return self._by_table[answer.quota_table].take_answer(answer)

    @property
    def all_answered(self) -> bool:
        """True if no renewal is under way."""
        return not any(quota.state.renewing for quota in self._quotas)

    def lease(self, task_type: str, usual: float) -> float:
        """Return the seconds for which a task of this type may be leased now: the smaller of
        ``usual`` and what the task's quotas allow."""
        quotas = (quota for quota in self._quotas if quota.limit_name in ("", task_type))
        return min([usual, *(quota.lease_left() for quota in quotas)])
