"""What keeps the processor from overrunning the downstream: what is free, of all slots and of each
task type's.

A slot is taken from the moment that a task is chosen until its handler has returned: also beyond
the attempt's timeout, and beyond the end of the run. So the limits live as long as the process.

Where a limit holds over all workers together, this process has a quota of it (see ``quota``).
"""

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.worker.handlers.registry import TaskType
from lifoq.worker.limits.concurrency_limit import Gate, Room, TokenBucket
from lifoq.worker.limits.load_signal import End

if TYPE_CHECKING:
    from lifoq.worker.limits.adaptive_concurrency import AdaptiveConcurrency  # not where no type is
    from lifoq.worker.limits.attempt_times import Sample
    from lifoq.worker.limits.quota import Quota, Quotas
    from lifoq.worker.limits.renewed import Renewed


class Limits:
    """The concurrency limits of one process, for all tasks and for each task type; and its quotas
    of limits that hold over all workers. Thread-safe: the run enters, the threads of the handlers
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
        """``in_flight`` and ``rate_limit`` (starts per second) of all tasks together.
        ``quotas``: where limits hold over all workers, but ``in_flight``; in its place
        ``total_in_flight``. ``adaptive``: what finds the number at a time, by task type."""
        self._lock = threading.Lock()
        self._host = host
        self._in_flight = in_flight
        self.on_free: Callable[[], None] = lambda: None
        """Called in an attempt's thread when it has left its slot, perhaps long after the run that
        started it; the run that goes on by then sets it."""
        of_types = {kind.name: (kind.in_flight, kind.rate_limit) for kind in kinds}
        self._quotas: dict[str, Quota] = {}
        """By task type; empty for that of all tasks."""
        if quotas is not None:
            self._quotas = {
                name: quotas.of(name, in_flight=most, rate=rate, here=in_flight)
                for name, (most, rate) in {"": (total_in_flight, rate_limit), **of_types}.items()
                if most is not None or rate is not None
            }
            rate_limit, of_types = None, dict.fromkeys(of_types, (None, None))
        self._all = Gate(in_flight=in_flight, bucket=TokenBucket.of(rate_limit, host))
        epoch = host.now() - host.monotonic()
        self._of_type = {
            name: Gate(
                in_flight=most,
                bucket=TokenBucket.of(rate, host),
                room=Room(host),
                adaptive=(adaptive or {}).get(name),
                clock=lambda: (epoch + host.monotonic()) / MICROSECONDS,
            )
            for name, (most, rate) in of_types.items()
        }
        self._of_strangers = Gate()
        """For types that nobody has registered: their tasks fail at once, and need no limit."""

    def enter(self, task_type: str) -> bool:
        """Take a slot, if there is one. Where only what all workers share is in the way of this
        task, which is the next to start, more of that is asked for."""
        with self._lock:
            gates, quotas = self._gates(task_type), self._quotas_of(task_type)
            if any(gate.wait() > 0 for gate in gates):
                return False
            lacking = [quota for quota in quotas if quota.wait() > 0]
            for quota in lacking:
                if not quota.ask(self._free_for(quota)):
                    break
            if not lacking:
                for gate in gates:
                    gate.enter()
                for quota in quotas:
                    quota.enter()
            return not lacking

    def asked(self, task_type: str) -> bool:
        """Whether more was asked for of what all workers share, and the answer is worth to be
        waited for: until then nobody knows whether a task of this type may start."""
        with self._lock:
            return any(quota.answer_due > 0 for quota in self._quotas_of(task_type))

    def measure(self, task_type: str) -> "Sample | None":
        """Begin to measure the attempt that has just taken a slot; None where its type's number at
        a time is not looked for."""
        with self._lock:
            return self._gates(task_type)[1].measure()

    @property
    def found(self) -> dict[str, float]:
        """The number at a time that was found, by task type."""
        with self._lock:
            found = {name: gate.found for name, gate in self._of_type.items()}
        return {name: number for name, number in found.items() if number is not None}

    def undo_enter(self, task_type: str, *, after: float, sample: "Sample | None" = None) -> None:
        """The task that took a slot so many seconds ago was not started."""
        with self._lock:
            for gate in self._gates(task_type):
                gate.undo_enter(after=after, sample=sample)
            for quota in self._quotas_of(task_type):
                quota.undo_enter(after=after)
        self.on_free()

    def hangs(self, task_type: str, *, sample: "Sample | None" = None) -> None:
        """A handler goes on though its attempt was ended by the timeout."""
        with self._lock:
            for gate in self._gates(task_type):
                gate.hung += 1
                gate.measured(sample, End.OVERLOADED)

    def leave(
        self,
        task_type: str,
        *,
        refused: bool,
        hung: bool,
        sample: "Sample | None" = None,
        end: End = End.UNTOLD,
    ) -> None:
        """A handler is back; ``refused``: the downstream had no room for it; ``hung``: it had been
        counted as hanging; ``sample``: its measurement, which ends so."""
        with self._lock:
            for gate in self._gates(task_type):
                gate.leave(refused=refused)
                gate.hung -= hung
                gate.measured(sample, End.UNTOLD if hung else end)
            for quota in self._quotas_of(task_type):
                quota.inside -= 1
        self.on_free()

    def wait(self, task_type: str) -> float:
        """Seconds until a task of this type could start; inf until one has ended, or until there is
        a larger quota of a limit over all workers."""
        with self._lock:
            waits = [gate.wait() for gate in self._gates(task_type)]
            return max(*waits, *(quota.wait() for quota in self._quotas_of(task_type)))

    def shortest_wait(self) -> float:
        """Seconds until a task of some registered type could start; inf until one has ended."""
        with self._lock:
            of_all = self._wait_of_any("", self._all)
            if of_all == math.inf:
                return of_all
            shortest = math.inf if self._of_type else 0.0
            for name, gate in self._of_type.items():
                shortest = min(shortest, self._wait_of_any(name, gate))
                if shortest <= of_all:
                    break  # the others do not matter
            answer = max((quota.answer_due for quota in self._quotas.values()), default=0.0)
            return max(of_all, shortest, answer)

    def _wait_of_any(self, name: str, gate: Gate) -> float:
        """Seconds until a task could pass, if only it were one for which more may be had of a
        limit over all workers."""
        wait, quota = gate.wait(), self._quotas.get(name)
        return wait if quota is None or wait == math.inf else max(wait, quota.wait_of_any())

    @property
    def full_of_hung(self) -> bool:
        """Whether all slots are taken by handlers that hang."""
        return self._is_full_of_hung("", self._all)

    @property
    def hung_types(self) -> list[str]:
        """Types of which no task can start, since handlers that hang take all their slots."""
        with self._lock:
            gates = self._of_type.items()
            return [name for name, gate in gates if self._is_full_of_hung(name, gate)]

    # What all workers share

    def usable(self, task_type: str) -> bool:
        """Whether a task that has entered may begin: no quota that it runs on has run out."""
        return all(quota.usable for quota in self._quotas_of(task_type))

    def lease(self, task_type: str, usual: float) -> float:
        """Seconds for which a task of this type may be leased now: no lease reaches beyond the
        quota of a limit that the task runs on."""
        return min([usual, *(quota.lease_left() for quota in self._quotas_of(task_type))])

    @property
    def renewal_at(self) -> float:
        """When the next renewals are due; monotonic microseconds."""
        return min((quota.due_at for quota in self._quotas.values()), default=math.inf)

    def renewals(self, now: int) -> "list[Callable[[], Renewed]]":
        """The calls that are due, each to be made beside the run, and its answer given to
        ``renewed``."""
        with self._lock:
            due = [quota for quota in self._quotas.values() if quota.due_at <= now]
            return [quota.renewal(self._free_for(quota)) for quota in due]

    def last_renewals(self) -> "list[Callable[[], Renewed]]":
        """Calls, as ``renewals``, that give back all that is not in use."""
        with self._lock:
            return [
                quota.renewal(0, more=False)
                for quota in self._quotas.values()
                if quota.in_lease_table
            ]

    def renewed(self, answer: "Renewed") -> bool:
        """Take in the answer to a renewal; return whether it may change which task starts next."""
        with self._lock:
            return self._quotas[answer.limit].renewed(answer)

    @property
    def all_answered(self) -> bool:
        """Whether all renewals have been answered."""
        return all(quota.answered for quota in self._quotas.values())

    def _free_for(self, quota: "Quota") -> int:
        """How many tasks this process could start at once, if the quota were as large."""
        free, of_all = self._in_flight - self._all.inside, self._quotas.get("", quota)
        in_doubt = of_all is quota or of_all.answer_due > 0
        return free if in_doubt else int(min(free, of_all.room))

    def _is_full_of_hung(self, name: str, gate: Gate) -> bool:
        quota = self._quotas.get(name)
        return gate.full_of_hung or (quota is not None and quota.is_full_of(gate.hung))

    def _quotas_of(self, task_type: str) -> "list[Quota]":
        return [self._quotas[name] for name in ("", task_type) if name in self._quotas]

    def _gates(self, task_type: str) -> tuple[Gate, Gate]:
        return self._all, self._of_type.get(task_type, self._of_strangers)
