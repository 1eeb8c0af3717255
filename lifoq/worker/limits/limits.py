"""Decides whether one more task may start: the free slots of the worker, of each task type, and of
what all workers share.

A task takes a slot from the moment that it is chosen until its handler has returned: also beyond
the attempt's timeout, and beyond the end of the run. So the limits live as long as the process.

Where a limit holds over all workers together, this process has a quota of it (see ``quota``).
"""

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.worker.handlers.registry import TaskType
from lifoq.worker.limits.concurrency_limit import ConcurrencyLimit, RefusalLimit, TokenBucket
from lifoq.worker.limits.load_signal import LoadSignal

if TYPE_CHECKING:
    from lifoq.worker.limits.adaptive_concurrency import AdaptiveConcurrency  # not where no type is
    from lifoq.worker.limits.attempt_times import Sample
    from lifoq.worker.limits.quota import Quota, Quotas
    from lifoq.worker.limits.renewal_answer import RenewalAnswer


class Limits:
    """The limits of one process: one for all tasks, one for each task type, and its quotas of
    limits that hold over all workers. Thread-safe: the run enters, and the threads of the handlers
    leave."""

    def __init__(
        self,
        kinds: Iterable[TaskType],
        *,
        in_flight: int,
        rate_limit: float | None,
        host: Host,
        total_in_flight: int | None = None,
        quotas: "Quotas | None" = None,
        adaptive: "Mapping[str, AdaptiveConcurrency] | None" = None,
    ) -> None:
        """``in_flight`` and ``rate_limit`` (starts per second): of all tasks of this process
        together. ``quotas``: given where limits hold over all workers. Then ``total_in_flight`` and
        the rates are those of all workers, and ``in_flight`` alone is this process's own.
        ``adaptive``: by task type, what finds the number of tasks at a time."""
        self._lock = threading.Lock()
        self._host = host
        self._in_flight = in_flight
        self.on_free: Callable[[], None] = lambda: None
        """Called in an attempt's thread when its slot is free, perhaps long after the run that
        started it has ended. The run that goes on by then sets it."""
        of_types = {kind.name: (kind.in_flight, kind.rate_limit) for kind in kinds}
        self._quotas: dict[str, Quota] = {}
        """The quotas by task type; the name of the queue's own is empty."""
        if quotas is not None:
            self._quotas = {
                name: quotas.of(name, in_flight=most, rate=rate, here=in_flight)
                for name, (most, rate) in {"": (total_in_flight, rate_limit), **of_types}.items()
                if most is not None or rate is not None
            }
            rate_limit, of_types = None, dict.fromkeys(of_types, (None, None))
        self._of_all = ConcurrencyLimit(
            in_flight=in_flight, bucket=TokenBucket.of(rate_limit, host)
        )
        self._adaptive = dict(adaptive or {})
        epoch = host.now() - host.monotonic()
        self._of_type = {
            name: ConcurrencyLimit(
                in_flight=most,
                bucket=TokenBucket.of(rate, host),
                refusals=RefusalLimit(host),
                adaptive=self._adaptive.get(name),
                clock=lambda: (epoch + host.monotonic()) / MICROSECONDS,
            )
            for name, (most, rate) in of_types.items()
        }
        self._of_unknown = ConcurrencyLimit()
        """The limit of task types that nobody has registered: their tasks fail at once, and need
        none."""

    def enter(self, task_type: str) -> bool:
        """Take a slot for the next task to start, and return True if there was one. Where a quota
        alone stands in its way, a larger one is asked for."""
        with self._lock:
            limits, quotas = self._limits_of(task_type), self._quotas_of(task_type)
            if any(limit.wait() > 0 for limit in limits):
                return False
            lacking = [quota for quota in quotas if quota.wait() > 0]
            for quota in lacking:
                if not quota.ask(self._could_start(quota)):
                    break
            if not lacking:
                for limit in limits:
                    limit.enter()
                for quota in quotas:
                    quota.enter()
            return not lacking

    def asked(self, task_type: str) -> bool:
        """Return True if a larger quota was asked for, and its answer is still worth to be waited
        for. Until then nobody knows whether a task of this type may start."""
        with self._lock:
            return any(quota.answer_due > 0 for quota in self._quotas_of(task_type))

    def measure(self, task_type: str) -> "Sample | None":
        """Begin to measure the attempt that has just taken a slot. Return None where the type's
        number of tasks at a time is fixed."""
        with self._lock:
            return self._limits_of(task_type)[1].measure()

    def undo_enter(self, task_type: str, *, after: float, sample: "Sample | None" = None) -> None:
        """Give back the slot that a task took so many seconds ago: the task was not started."""
        with self._lock:
            for limit in self._limits_of(task_type):
                limit.undo_enter(after=after, sample=sample)
            for quota in self._quotas_of(task_type):
                quota.undo_enter(after=after)
        self.on_free()

    def hangs(self, task_type: str, *, sample: "Sample | None" = None) -> None:
        """Note that a handler goes on, though its attempt was ended by the timeout."""
        with self._lock:
            for limit in self._limits_of(task_type):
                limit.hangs(sample)

    def leave(
        self,
        task_type: str,
        *,
        refused: bool,
        hung: bool,
        sample: "Sample | None" = None,
        signal: LoadSignal = LoadSignal.UNTOLD,
    ) -> None:
        """Free the slot of a handler that has returned. ``refused``: the downstream had no room for
        its task. ``hung``: it had been counted as hanging. ``sample``: its measurement, which ends
        with ``signal``."""
        with self._lock:
            for limit in self._limits_of(task_type):
                limit.leave(refused=refused)
                limit.hung -= hung
                limit.measured(sample, LoadSignal.UNTOLD if hung else signal)
            for quota in self._quotas_of(task_type):
                quota.inside -= 1
        self.on_free()

    def wait(self, task_type: str) -> float:
        """Return the seconds until a task of this type could start; inf until one has ended, or
        until a quota is larger."""
        with self._lock:
            waits = [limit.wait() for limit in self._limits_of(task_type)]
            return max(*waits, *(quota.wait() for quota in self._quotas_of(task_type)))

    def shortest_wait(self) -> float:
        """Return the seconds until a task of some registered type could start; inf until one has
        ended."""
        with self._lock:
            of_all = self._wait_of_any("", self._of_all)
            if of_all == math.inf:
                return of_all
            shortest = math.inf if self._of_type else 0.0
            for name, limit in self._of_type.items():
                shortest = min(shortest, self._wait_of_any(name, limit))
                if shortest <= of_all:
                    break  # the others do not matter
            answer = max((quota.answer_due for quota in self._quotas.values()), default=0.0)
            return max(of_all, shortest, answer)

    def _wait_of_any(self, name: str, limit: ConcurrencyLimit) -> float:
        """Return the seconds until a task could pass a limit and its quota; 0 of the quota where it
        may grow once a task asks for it."""
        wait, quota = limit.wait(), self._quotas.get(name)
        return wait if quota is None or wait == math.inf else max(wait, quota.wait_of_any())

    @property
    def full_of_hung(self) -> bool:
        """True if handlers that hang take all slots."""
        with self._lock:
            return self._is_full_of_hung("", self._of_all)

    @property
    def hung_types(self) -> list[str]:
        """Task types of which no task can start, since handlers that hang take all their slots."""
        with self._lock:
            limits = self._of_type.items()
            return [name for name, limit in limits if self._is_full_of_hung(name, limit)]

    # What is found for adaptive types

    def found(self) -> dict[str, tuple[float, int]]:
        """Return, by task type, the tasks at a time that this process found, and the most that it
        may try. Types of which it has learned nothing are left out."""
        with self._lock:
            searches = self._adaptive.items()
            return {name: (one.found, one.most) for name, one in searches if one.has_learned}

    def begin_with(self, found: Mapping[str, float]) -> None:
        """Begin with these numbers of tasks at a time, by task type, unless more is known."""
        with self._lock:
            searches = {name: one for name, one in self._adaptive.items() if name in found}
            full = any(self._of_type[name].wait() > 0 for name in searches)
            for name, search in searches.items():
                search.begin_with(found[name])
        if full:
            self.on_free()

    # What all workers share

    def usable(self, task_type: str) -> bool:
        """Return True if a task that has entered may begin: no quota that it runs on has run
        out."""
        return all(quota.usable for quota in self._quotas_of(task_type))

    def lease(self, task_type: str, usual: float) -> float:
        """Return the seconds for which a task of this type may be leased now: the smaller of
        ``usual`` and what the task's quotas allow."""
        return min([usual, *(quota.lease_left() for quota in self._quotas_of(task_type))])

    @property
    def renewal_at(self) -> float:
        """When the next renewals are due, in monotonic microseconds; inf if none is."""
        return min((quota.due_at for quota in self._quotas.values()), default=math.inf)

    def renewals(self, now: int) -> "list[Callable[[], RenewalAnswer]]":
        """Begin the renewals that are due. Return their background calls; the run gives the answer
        of each to ``take_answer``."""
        with self._lock:
            due = [quota for quota in self._quotas.values() if quota.due_at <= now]
            return [quota.renewal(self._could_start(quota)) for quota in due]

    def last_renewals(self) -> "list[Callable[[], RenewalAnswer]]":
        """Begin renewals that give back all that is not in use. Return their calls, as
        ``renewals``."""
        with self._lock:
            return [
                quota.renewal(0, more=False)
                for quota in self._quotas.values()
                if quota.in_quota_table
            ]

    def take_answer(self, answer: "RenewalAnswer") -> bool:
        """Take the answer to a renewal. Return True if it may change which task is the next to
        start."""
        with self._lock:
            return self._quotas[answer.limit].take_answer(answer)

    @property
    def all_answered(self) -> bool:
        """True if no renewal is under way."""
        return all(quota.answered for quota in self._quotas.values())

    def _could_start(self, quota: "Quota") -> int:
        """Return the number of tasks that this process could start at once, if this quota were
        large enough. A quota of all tasks that is smaller counts, unless it may be about to
        grow."""
        free, of_all = self._in_flight - self._of_all.inside, self._quotas.get("", quota)
        in_doubt = of_all is quota or of_all.answer_due > 0
        return free if in_doubt else int(min(free, of_all.free_slots))

    def _is_full_of_hung(self, name: str, limit: ConcurrencyLimit) -> bool:
        quota = self._quotas.get(name)
        return limit.full_of_hung or (quota is not None and quota.is_full_of(limit.hung))

    def _quotas_of(self, task_type: str) -> "list[Quota]":
        return [self._quotas[name] for name in ("", task_type) if name in self._quotas]

    def _limits_of(self, task_type: str) -> tuple[ConcurrencyLimit, ConcurrencyLimit]:
        return self._of_all, self._of_type.get(task_type, self._of_unknown)
