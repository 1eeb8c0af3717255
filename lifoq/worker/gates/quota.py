"""Make the gate of a quota from the settings. Where limits hold over all workers together
(``shared_limits``), each worker has a part of each. ``quota_protocol`` has the gate itself."""

from typing import TYPE_CHECKING, cast

from lifoq.items.quota_table import SharedLimit
from lifoq.store.quota_tables import QuotaTables
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.gates.quota_protocol.worker_quota import Quota
from lifoq.worker.handlers.registry import TaskType

if TYPE_CHECKING:
    from lifoq.worker.gates.slots import Slots


def make(setup: ProcessSetup, kind: TaskType | None) -> Quota:
    """Make the gate of the queue's own limit, or of a task type's."""
    settings = setup.settings
    if kind is None:
        shared = SharedLimit(in_flight=settings.total_in_flight, rate=settings.rate_limit)
    else:
        rate = next((rate for rate in kind.rates if rate.of is None), None)
        shared = SharedLimit(
            in_flight=kind.in_flight,
            rate=None if rate is None else rate.per_second,
            burst=None if rate is None else rate.burst,
        )
    return Quota(
        "" if kind is None else kind.name,
        shared,
        slots=cast("Slots", setup.of_worker["slots"]),
        whole=cast("Quota | None", setup.of_worker.get("quota")),
        quota_tables=QuotaTables(setup.store, host=setup.host),
        worker=setup.name,
        lease=settings.lease,
        host=setup.host,
    )
