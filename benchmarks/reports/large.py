"""What a task with a large payload takes, compressed and as it is."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from unittest import mock

from benchmarks.cost.meter import Meter
from benchmarks.payloads import length, report
from lifoq.basics import jsontext
from lifoq.items import packed, transitions
from lifoq.items.task import NewTask
from lifoq.tables.store import Store

SIZES: Final = (100, 1_024, 4_096, 16_384)
TIMES: Final = 300


def rows(store: Store, meter: Meter) -> Iterator[dict[str, Any]]:
    """By size: write units of put, claim and success; processor time of packing and unpacking."""
    for size in SIZES:
        payload = report(size)
        text = jsontext.encode(payload, "payload")
        stored = packed.pack(text)
        with as_it_is():
            before = life(store, meter, payload)
        yield {
            "payload_bytes": length(payload),
            "stored_bytes": len(stored),
            "write_units": life(store, meter, payload),
            "write_units_as_it_is": before,
            "pack_microseconds": microseconds(partial(packed.pack, text)),
            "unpack_microseconds": microseconds(partial(packed.unpack, stored)),
        }


def life(store: Store, meter: Meter, payload: Any) -> float:
    """Write units of a task that succeeds at once."""
    with meter.reading() as found:
        task = store.put(NewTask(task_type="device.check", payload=payload))
        claimed = store.claim(task.task_id, claim_id="0" * 32, lease=30)
        store.succeed(claimed, '{"done":true}')
    return found.sums.documented_write_units


@contextmanager
def as_it_is() -> Iterator[None]:
    """Without compression."""
    with mock.patch.object(transitions, "pack", lambda text: text):
        yield


def microseconds(work: Callable[[], Any]) -> float:
    """The least of several times."""
    best = float("inf")
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best * 1e6
