"""The tasks at a time that workers found for adaptive task types (see ``health.found_limits``)."""

from functools import reduce

from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq.health import found_limits
from lifoq.health.found_limits import TypeLimit, together


def find_adaptive_limits(queue: Queue | Cells) -> tuple[TypeLimit, ...]:
    """Return what workers found, by one read for each queue. Raises StoreUnavailable, and
    QueueMisconfigured."""
    queues = list(queue.queues.values()) if isinstance(queue, Cells) else [queue]
    found = [found_limits.read(one.store, now=one.store.now()) for one in queues]
    return reduce(together, found)
