"""The state of a worker process, which all runs of its processor share. It outlives each run, since
a slot is taken until its handler has returned."""

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import Host
from lifoq.errors import InvalidInput
from lifoq.items.change import Item
from lifoq.items.schema import Attribute
from lifoq.store.claims import Claims
from lifoq.store.store import Store
from lifoq.worker.backlog.newest_or_oldest_first import NewestOrOldestFirst
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.gates.gates import Gates
from lifoq.worker.handlers.attempts_and_timeout_of_task import timeout_of
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.known_types import Types
from lifoq.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from lifoq.health.worker_notes import Hold
    from lifoq.worker.gates.adaptive.kept_limits import KeptLimits
    from lifoq.worker.gates.quota_protocol.renewals import Renewals

MOST_IN_BATCHES: Final = 500
"""Tasks of a type at a time, if it has batches: each is claimed and settled in a thread of its own,
and Lambda gives a process 1,024
(https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""


@dataclass(frozen=True, kw_only=True)
class ProcessState:
    """The parts of a worker that outlive a run: queue, task types, settings, gates."""

    store: Store
    registry: Registry
    settings: WorkerSettings
    host: Host
    draw: random.Random
    gates: Gates
    order: NewestOrOldestFirst
    claims: Claims
    name: str
    """The name of the process: in its claims, its notes and the quota tables."""
    since: int
    """Epoch microseconds when the process was ready to work."""
    kept_limits: "KeptLimits | None"
    """Keeps what is found for adaptive types; None where no type is adaptive."""
    renewals: "Renewals | None"
    """Renews the quotas of limits over all workers; None where there are none."""

    @classmethod
    def of(
        cls,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        *,
        host: Host,
        draw: random.Random,
    ) -> "ProcessState":
        """Build the state. Raises InvalidInput for a task type that could never start."""
        name = host.new_id()[:12]
        gates = Gates(
            ProcessSetup(store=store, registry=registry, settings=settings, host=host, name=name)
        )
        state = cls(
            store=store,
            registry=registry,
            settings=settings,
            host=host,
            draw=draw,
            gates=gates,
            order=NewestOrOldestFirst(settings.adaptive_threshold, host),
            claims=_claims(store, registry, host, name),
            name=name,
            since=host.now(),
            kept_limits=_kept_limits(gates, name),
            renewals=_renewals(gates),
        )
        state.check_timeouts()
        state.check_batches()
        state.check_hours()
        state.check_units()
        return state

    @property
    def types(self) -> Types:
        """The task types that this worker handles."""
        return Types.of(self.registry, self.settings)

    def noted(
        self, item: Item | None, *, ended: bool, held: "tuple[Hold, ...]" = ()
    ) -> dict[Attribute, str]:
        """Return what the process tells of itself in the workers' item, which is as ``item`` now.
        ``ended``: True if its run is over. ``held``: what holds back the tasks that it sees."""
        from lifoq.health import worker_notes  # noqa: PLC0415 - not at a cold start

        own = worker_notes.made_here(
            worker=self.name,
            since=self.since,
            slots=self.settings.in_flight,
            at=self.store.now(),
            ended=ended,
            held=held,
        )
        return {Attribute.CHECKPOINT: worker_notes.encoded(own, before=worker_notes.of(item))}

    def check_timeouts(self) -> None:
        """Raise InvalidInput if a type that this worker handles may take longer than any
        attempt."""
        longest, types = self.settings.task_timeout, self.types
        for kind in self.registry:
            timeout = kind.timeout if types.has(kind.name) else None
            if timeout is not None and timeout > longest:
                raise InvalidInput(
                    f"{kind.name}.timeout",
                    timeout,
                    f"is beyond the worker's task_timeout of {longest:g} s; "
                    "raise task_timeout of the queue, or shorten the task",
                )

    def check_time_limit(self, time_limit: float | None) -> None:
        """Raise InvalidInput if no task of any type could start in a run of ``time_limit`` seconds.
        A task with a shorter timeout of its own could, but a worker is not there for these
        alone."""
        settings = self.settings
        longest, kept = settings.task_timeout, settings.settle_time
        needed = [
            timeout_of(None, kind, longest=longest)
            for kind in self.registry
            if self.types.has(kind.name)
        ]
        if time_limit is None or not needed or time_limit > (total := min(needed) + kept):
            return
        raise InvalidInput(
            "time_limit",
            time_limit,
            f"leaves no task the time to start: a task may take {min(needed):g} s (its type's "
            f"timeout, else task_timeout), and {kept:g} s (settle_time) are kept for writing "
            f"outcomes, {total:g} s in all; give the run more than that, or tasks a shorter "
            "timeout",
        )

    def check_units(self) -> None:
        """Raise InvalidInput if more rates are to hold over all workers than these can share."""
        for kind in self.registry if self.settings.shared_limits else ():
            counted = [rate.of for rate in kind.rates]
            if len(counted) > len(set(counted)):
                problem = (
                    f"has several rates of {counted[0] or 'tasks'}, and shared_limits takes one of "
                    "tasks and one of units: leave out the others"
                )
                raise InvalidInput(f"{kind.name}.rate_limit", kind.rate_limit, problem)

    def check_hours(self) -> None:
        """Raise InvalidInput if the hours of a type are no window of the day."""
        kinds = [kind for kind in self.registry if kind.hours is not None]
        if kinds:
            from lifoq.worker.gates.hours import Window  # noqa: PLC0415 - not where no type has any

            for kind in kinds:
                Window.of(kind)

    def check_batches(self) -> None:
        """Raise InvalidInput if a worker would hold too many tasks of a type that has batches."""
        for kind in self.registry:
            calls = min(self.settings.in_flight, kind.in_flight or self.settings.in_flight)
            if kind.batch and kind.batch > 1 and calls * kind.batch > MOST_IN_BATCHES:
                raise InvalidInput(
                    f"{kind.name}.batch",
                    kind.batch,
                    f"makes {calls * kind.batch:,} tasks at a time with in_flight {calls}, and "
                    f"{MOST_IN_BATCHES} are the most: give the type an in_flight of "
                    f"{MOST_IN_BATCHES // kind.batch}, or make smaller batches",
                )


# What few workers need is imported where one does: a cold start less to import.


def _kept_limits(gates: Gates, name: str) -> "KeptLimits | None":
    capacities = gates.named("adaptive_concurrency")
    if not capacities:
        return None
    from lifoq.worker.gates.adaptive.kept_limits import KeptLimits  # noqa: PLC0415

    searches = {task_type: capacity.search for task_type, capacity in capacities.items()}
    return KeptLimits(searches, worker=name, lock=gates.lock, on_more=gates.tell_free)


def _renewals(gates: Gates) -> "Renewals | None":
    quotas = [*gates.named("quota").values(), *gates.named("unit_quota").values()]
    if not quotas:
        return None
    from lifoq.worker.gates.quota_protocol.renewals import Renewals  # noqa: PLC0415

    return Renewals(quotas, gates.lock)


def _claims(store: Store, registry: Registry, host: Host, name: str) -> Claims:
    if all(kind.key_limit is None for kind in registry):
        return Claims(store, host=host, worker=name)
    from lifoq.store.keyed_claims import KeyedClaims  # noqa: PLC0415

    return KeyedClaims(store, host=host, worker=name)
