"""A worker's part of a limit that holds over all workers, on a clock that the test moves."""

import pytest

from lifoq.items.book import PART_LASTS
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq.worker.limits import Limits
from lifoq.worker.part import Parts
from lifoq.worker.registry import TaskType


def test_nothing_begins_on_a_part_that_ran_out_and_no_lease_reaches_beyond_it() -> None:
    host = ManualHost()
    parts = Parts(Store(MemoryTable(), host=host), lease=30, host=host)
    kind = TaskType(name="a", handler=lambda _payload, _context: None, in_flight=2)
    limits = Limits([kind], in_flight=10, rate_limit=None, host=host, parts=parts)
    assert not limits.enter("a")
    limits.wait("a")
    for turn in limits.turns(host.monotonic()):
        assert limits.turned(turn())
    assert limits.enter("a")
    host.advance(PART_LASTS - 1)
    assert limits.usable("a")
    assert limits.lease("a", 30) == 30
    host.advance(1)
    assert not limits.usable("a")
    assert not limits.enter("a")
    host.advance(20)
    assert limits.lease("a", 30) == pytest.approx(10)
    host.advance(20)
    assert limits.lease("a", 30) == 0
