"""The gate of a quota in units: where limits hold over all workers together (``shared_limits``),
each worker has a part of the units that tasks of a type may weigh: at a time (``units_in_flight``),
and per second, minute or hour (a ``Rate`` of the unit).

The protocol is that of each quota (``quota_protocol``), and a slot is a unit. Two things are
different:

- An even part may be too small for a heavy task for ever. So a worker also says what its next task
  needs, and since when that waits; in this order, these come first (``items.quota_table``).
- A task starts while its worker has a token, and takes as many as it weighs. So shards may owe
  tokens, and what they owe goes with them. A worker needs shards in proportion to the weight: at
  90,000 tokens a minute, a tenth of them for 1,500 tokens, and all of them for 15,000 or more. So
  all workers together owe a sixth of the minute at the most (``OWED``), or one heavier task.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from lifoq.items.quota_table import NONE, Amount, SharedLimit
from lifoq.store.candidate import Candidate
from lifoq.store.quota_tables import QuotaTables
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.gates.quota_protocol.worker_quota import Quota
from lifoq.worker.gates.units_in_flight import AwaitedTask
from lifoq.worker.handlers.registry import TaskType

if TYPE_CHECKING:
    from lifoq.worker.gates.slots import Slots


OWED: Final = 1 / 6
"""Part of a rate's minute or hour that all workers together may owe. With more, more may start at
once; with less, workers hand shards over for tasks that are light."""


class UnitQuota(Quota):
    """A quota that counts units, and waits for a heavy task."""

    def __init__(self, kind: TaskType, *, clock: Callable[[], int], **setup: Any) -> None:
        """``clock``: the queue's time, in epoch microseconds. ``setup``: see ``Quota``."""
        super().__init__(kind.name, _limit_of(kind), weigh=lambda row: _weight(kind, row), **setup)
        self._kind = kind
        self._awaits = AwaitedTask(kind, clock)
        self._clock = clock
        self._asks_for: tuple[str, int] | None = None
        """The task that asked last, by its id, and since when it asks (epoch microseconds)."""

    def wait(self, row: Candidate, now: int) -> float:
        if self._awaits.comes_before(row):
            return self._awaits.seconds_left()
        return super().wait(row, now)

    def wait_of_any(self, now: int) -> float:
        awaited = self.awaited
        if awaited is None:
            return self._poll_wait(1, now)
        return min(self._awaits.seconds_left(), self._poll_wait(self._weigh(awaited), now))

    def why(self, row: Candidate, now: int) -> str:
        kind, most = self._kind, self.shared
        if self._awaits.comes_before(row):
            return self._awaits.why()
        said = [] if most.in_flight is None else [f"{most.in_flight:,} {most.unit} at a time"]
        said += [str(rate) for rate in kind.rates if rate.of is not None]
        return (
            f"task type {kind.name} is limited to {' and '.join(said)} over all workers; this "
            f"worker's part of it has no room for {self._weigh(row):,} {most.unit}"
        )

    def kept_out(self, row: Candidate) -> None:
        if self._lacking(self._weigh(row), self._host.monotonic()):
            self._awaits.begins(row)

    @property
    def awaited(self) -> Candidate | None:
        return self._awaits.row

    def awaits_no_more(self) -> None:
        self._awaits.ends()

    def ask_for_room(self, row: Candidate, now: int) -> bool:
        if self._asks_for is None or self._asks_for[0] != row.task_id:
            self._asks_for = (row.task_id, self._clock())
        return super().ask_for_room(row, now)

    def may_join(self, row: Candidate, now: int) -> bool:
        return self.wait(row, now) == 0

    def enter(self, row: Candidate, now: int) -> Any:
        self._awaits.ends()
        self._asks_for = None
        return super().enter(row, now)

    def weighed(self, receipt: Any, weight: int, now: int) -> Any:
        before = receipt.weight
        self.reweigh(receipt, weight)
        if self.bucket is not None:
            self.bucket.weighed(before, weight, now)
        return receipt

    @property
    def _most(self) -> Amount:
        return self.shared.amount

    def _needs_of_next(self) -> tuple[Amount, int]:
        if self._asks_for is None or self._demand.asked == NONE:
            return NONE, 0
        # A limit that is not set is 0 in ``_most``: nothing is asked of it.
        needs = Amount(self.inside + self._asker, self.shared.shards_for(self._asker))
        return Amount(*map(min, needs, self._most)), self._asks_for[1]


def _weight(kind: TaskType, row: Candidate) -> int:
    """Return the units that a task takes, at least one: what is too heavy fails on the quota."""
    return max(1, kind.weight_of(row))


def _limit_of(kind: TaskType) -> SharedLimit:
    rate = next((rate for rate in kind.rates if rate.of is not None), None)
    return SharedLimit(
        in_flight=kind.units_in_flight,
        rate=None if rate is None else rate.per_second,
        burst=None if rate is None else rate.burst,
        unit=kind.weight,
        most_owed=0.0 if rate is None else max(rate.number * OWED, rate.per_second),
    )


def make(setup: ProcessSetup, kind: TaskType) -> UnitQuota:
    """Make the gate of a task type."""
    return UnitQuota(
        kind,
        clock=setup.store.now,
        slots=cast("Slots", setup.of_worker["slots"]),
        whole=cast("Quota | None", setup.of_worker.get("quota")),
        quota_tables=QuotaTables(setup.store, host=setup.host),
        worker=setup.name,
        lease=setup.settings.lease,
        host=setup.host,
    )
