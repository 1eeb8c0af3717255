"""The clock's stamps, which are the LIFO order."""

import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lifoq.basics import host
from lifoq.basics.host import Stamps, SteadyClock, SystemHost


def test_stamps_increase_though_the_clock_stands_still_or_steps_back_and_in_all_threads(
    monkeypatch,
):
    stamps = Stamps()
    assert [stamps.next(now) for now in (10, 10, 10, 5, 11, 20)] == [10, 11, 12, 13, 14, 20]
    monkeypatch.setattr(host, "max", lambda *two: time.sleep(0) or max(two), raising=False)
    with ThreadPoolExecutor(4) as threads:  # which change places within a stamp
        assert len({*threads.map(stamps.next, [5] * 2000)}) == 2000


class Clocks:
    """Seconds of a machine's clocks."""

    def __init__(self) -> None:
        self.monotonic, self.day = 1_000, 50_000
        self.steady = SteadyClock(monotonic=lambda: self.monotonic, now=lambda: self.day)

    def passes(self, seconds: int) -> None:
        self.monotonic += seconds
        self.day += seconds


def test_while_a_process_is_frozen_between_invocations_its_time_goes_on():
    clocks = Clocks()
    start = clocks.steady.read()
    clocks.day += 20  # frozen before the first
    for _ in range(3):
        with clocks.steady.invocation():
            clocks.passes(5)
        clocks.day += 60
    assert clocks.steady.read() - start == 20 + 3 * 5 + 2 * 60


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_is_set_in_an_invocation_or_back_between_two_changes_no_duration(step):
    clocks = Clocks()
    start = clocks.steady.read()
    with clocks.steady.invocation():
        clocks.day += step
        assert clocks.steady.read() == start
    with clocks.steady.invocation():
        clocks.passes(5)
    clocks.day -= 3600
    with clocks.steady.invocation():
        clocks.passes(5)
    assert clocks.steady.read() - start == 10


def test_threads_are_used_again_and_work_that_hangs_keeps_no_other_waiting():
    host, release, ran = SystemHost(), threading.Event(), queue.SimpleQueue()
    host.spawn(lambda: release.wait(300), "hangs")
    threads = set()
    for n in range(20):
        host.spawn(lambda: ran.put((me := threading.current_thread(), me.name)), f"{n}")
        thread, name = ran.get(timeout=300)
        threads.add(thread)
        assert name == f"{n}"
    release.set()
    assert len(threads) <= 2  # one may not be quite back yet
