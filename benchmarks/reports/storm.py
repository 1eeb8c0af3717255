"""Each device reports ten times, faster than its reports can be checked."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from benchmarks.cost.meter import Meter
from lifoq.items.task import IfExists, NewTask
from lifoq.tables.store import Store
from lifoq.worker.context import Context
from lifoq.worker.processor import Processor
from lifoq.worker.registry import Registry
from lifoq.worker.settings import WorkerSettings

DEVICES: Final = 40
REPORTS: Final = 10
"""Of each device."""
SLOTS: Final = 2
SERVICE_SECONDS: Final = 0.1
CAPACITY: Final = SLOTS / SERVICE_SECONDS
"""Checks a second: a sixth of the reports that come in one."""
PUTS_PER_SECOND: Final = 120.0
TYPE: Final = "device.check"

POLICIES: Final[tuple[tuple[str, IfExists | None], ...]] = (
    ("without ids", None),
    ("an id for each device, kept", "keep"),
    ("an id for each device, replaced", "replace"),
)
"""By what is told of each."""


class Reports:
    """Which report of each device is its latest, and which were checked while they were."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}
        self._lock = threading.Lock()
        self.checked = 0
        self.useful = 0
        self.latest_checked: set[str] = set()
        """Devices whose last report was checked."""

    def made(self, device: str, number: int) -> None:
        with self._lock:
            self._latest[device] = number

    def check(self, payload: dict[str, Any], _context: Context) -> None:
        device, number = payload["device"], payload["number"]
        with self._lock:
            self.checked += 1
            self.useful += number == self._latest[device]
        time.sleep(SERVICE_SECONDS)
        with self._lock:
            if number == REPORTS - 1:
                self.latest_checked.add(device)


def run(store: Store, meter: Meter, if_exists: IfExists | None) -> dict[str, Any]:
    """The storm, and the checks until none waits."""
    reports = Reports()
    registry = Registry()
    registry.task(TYPE)(reports.check)
    settings = WorkerSettings(in_flight=SLOTS, linger=0.5, window=300)
    began = time.monotonic()
    with meter.reading() as found:
        storm = threading.Thread(target=lambda: put_all(store, reports, if_exists))
        storm.start()
        processor = Processor(store, registry, settings)
        while storm.is_alive() or store.count_live(cap=1).value:
            processor.run()
        storm.join()
    seconds = time.monotonic() - began
    units = found.sums.documented_write_units
    return {
        "checks": reports.checked,
        "useful_checks": reports.useful,
        "useful_checks_per_second": reports.useful / seconds,
        "devices_whose_last_report_was_checked": len(reports.latest_checked),
        "seconds_until_all_was_checked": seconds,
        "write_units_per_useful_check": units / reports.useful if reports.useful else None,
    }


def put_all(store: Store, reports: Reports, if_exists: IfExists | None) -> None:
    pauses = paced(1 / PUTS_PER_SECOND)
    for number in range(REPORTS):
        for name in (f"d-{device}" for device in range(DEVICES)):
            new = NewTask(task_type=TYPE, payload={"device": name, "number": number})
            if if_exists is not None:
                new = replace(new, task_id=f"check-{name}", if_exists=if_exists)
            reports.made(name, number)
            store.put(new)
            pauses()


def paced(seconds: float) -> Callable[[], None]:
    """Waits until the next is due, each ``seconds`` after the one before."""
    begun, done = time.monotonic(), 0

    def pause() -> None:
        nonlocal done
        done += 1
        time.sleep(max(0.0, begun + done * seconds - time.monotonic()))

    return pause
