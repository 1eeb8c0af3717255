"""The search for a downstream's capacity, against models: servers with a queue in front, a speed
that tasks share, and one that falls with each task too many."""

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable

import pytest

from lab.downstreams import KINDS, Backlog, times
from lifoq.worker.gates.adaptive.attempt_times import Cycle
from lifoq.worker.gates.adaptive.capacity_search import FIRST, CapacitySearch
from lifoq.worker.gates.gate import LoadSignal

EPOCH = 1_800_000_000.0
MOST = 64


class Downstream:
    """``servers`` tasks at a time, the others in the order that they came. Every worker has an
    endless backlog, and fills each slot that it may. Times are in mean services."""

    def __init__(self, servers: int, service: Callable[[], float], *, workers: int = 1) -> None:
        self.servers = servers
        self.timeout = float("inf")
        self.now = EPOCH
        self.laws = [CapacitySearch(MOST) for _ in range(workers)]
        self.done: list[tuple[float, int, float]] = []
        """When, whose, and after how long."""
        self._service = service
        self._free: list[float] = []
        """When each server that has work is free."""
        self._ends: list[tuple[float, int, int, float, object]] = []
        self._numbers = itertools.count()

    def passes(self, time: float) -> None:
        until = self.now + time
        while self.now < until:
            waits = [self._fill(worker) for worker in range(len(self.laws))]
            following = min(self.now + min(waits), until, self._ends[0][0] if self._ends else until)
            self.now = following
            while self._ends and self._ends[0][0] <= self.now:
                self._end()

    def throughput(self, time: float) -> float:
        """Let some time pass, and tell how many were done in each mean service."""
        before = len(self.done)
        self.passes(time)
        return (len(self.done) - before) / time

    def mean_time(self, since: float) -> float:
        times = [time for at, _, time in self.done if at >= self.now - since]
        return sum(times) / len(times)

    def _fill(self, worker: int) -> float:
        law = self.laws[worker]
        while (wait := law.wait(self.now)) == 0:
            assert 1 <= law.limit(self.now) <= law.most
            sample = law.begins(self.now)
            self._free = [free for free in self._free if free > self.now]
            heapq.heapify(self._free)
            start = self.now
            while len(self._free) >= self.servers:
                start = heapq.heappop(self._free)
            served = start + self._service()
            heapq.heappush(self._free, served)
            end = min(served, self.now + self.timeout)
            heapq.heappush(self._ends, (end, next(self._numbers), worker, self.now, sample))
        return wait

    def _end(self) -> None:
        _, _, worker, began, sample = heapq.heappop(self._ends)
        time = self.now - began
        done = time < self.timeout
        self.laws[worker].ends(sample, self.now, LoadSignal.DONE if done else LoadSignal.OVERLOADED)
        if done:
            self.done.append((self.now, worker, time))


DRAW = random.Random("nearly fixed")


def fixed() -> float:
    """Nearly: in lockstep, the same worker's attempts would be the ones that wait, each time."""
    return DRAW.uniform(0.95, 1.05)


def exponential(seed: str = "times") -> Callable[[], float]:
    draw = random.Random(seed)
    return lambda: draw.expovariate(1)


@pytest.mark.parametrize("servers", [1, 4])
def test_times_that_do_not_vary_show_the_capacity(servers):
    downstream = Downstream(servers, fixed)
    downstream.passes(150)
    assert downstream.throughput(100) >= 0.94 * servers
    assert downstream.mean_time(100) <= 1.3


def test_a_downstream_without_a_limit_gets_the_most():
    downstream = Downstream(1_000, fixed)
    downstream.passes(60)
    assert downstream.throughput(100) >= 0.97 * MOST


def test_after_the_first_search_a_limit_grows_by_far_less_than_twice_at_once():
    downstream = Downstream(1_000, fixed)
    (law,) = downstream.laws
    law.begin_with(6)
    for _ in range(90):
        before = law.found
        downstream.passes(0.5)
        assert law.found < 1.8 * before
    assert law.found > 12


def test_services_that_become_slower_at_once_are_no_smaller_capacity():
    draw, slower = exponential(), 1.0
    downstream = Downstream(16, lambda: slower * draw())
    downstream.passes(150)
    slower = 2.0
    downstream.passes(60)
    assert downstream.throughput(150) >= 0.8 * 16 / slower


@pytest.mark.parametrize("becomes", [4, 16])
def test_a_capacity_that_changes_is_found_again(becomes):
    downstream = Downstream(8, fixed)
    downstream.passes(80)
    downstream.servers = becomes
    downstream.passes(80)
    assert downstream.throughput(100) >= 0.9 * becomes
    assert downstream.mean_time(100) <= 1.5


def test_where_all_time_out_one_is_tried_at_a_time_and_afterwards_as_many_as_before():
    downstream = Downstream(8, fixed)
    downstream.passes(80)
    downstream.timeout = 0.5
    downstream.passes(40)
    assert downstream.laws[0].limit(downstream.now) <= 2
    downstream.timeout = float("inf")
    downstream.passes(40)
    assert downstream.throughput(100) >= 0.9 * 8


@pytest.mark.parametrize(
    "seeds",
    [("one",), pytest.param(("two", "three", "four"), marks=pytest.mark.prove)],
)
def test_workers_that_share_a_downstream_do_not_push_one_another_up(seeds):
    times = []
    for seed in seeds:
        downstream = Downstream(16, exponential(seed), workers=4)
        downstream.passes(200)
        assert downstream.throughput(200) >= 0.85 * 16
        times.append(downstream.mean_time(200))
    assert sum(times) / len(times) <= 1.6


@pytest.mark.parametrize(("capacity", "kind"), [(12, "shared"), (3, "degrading")])
def test_where_tasks_share_a_speed_the_number_stays_near_the_capacity(kind, capacity):
    backlog = Backlog(KINDS[kind](capacity), times("Weibull", "one"), [CapacitySearch(MOST)])
    backlog.passes(200)
    window = backlog.passes(300)
    assert window.throughput >= 0.75 * capacity
    assert window.time <= 2


def test_a_downstream_that_stands_still_with_too_many_gets_fewer_at_once():
    backlog = Backlog(KINDS["degrading"](12), times("fixed", "one"), [CapacitySearch(MOST)])
    backlog.laws[0].begin_with(40)
    backlog.passes(200)
    assert backlog.passes(100).throughput >= 0.8 * 12


def test_overloads_that_end_late_count_in_the_present_cycle_and_are_never_more_than_all():
    cycle = Cycle(number=1, low=2, high=4, low_part=0.3)
    assert cycle.overloaded == 0
    cycle.overloads = [4]
    assert cycle.overloaded == 1
    for _ in range(4):
        cycle.begins(EPOCH, at_work=1, work=0.0, low=False)
    assert cycle.overloaded == 1 / 4
    cycle.overloads = [4] * 9
    assert cycle.overloaded == 1


def attempts(law, number, *, at_once, time, end=LoadSignal.DONE, now=EPOCH):
    for _ in range(number):
        samples = [law.begins(now) for _ in range(at_once)]
        now += time
        for sample in samples:
            law.ends(sample, now, end)
    return now


def test_a_limit_that_is_not_reached_is_not_raised():
    law = CapacitySearch(MOST)
    attempts(law, 500, at_once=1, time=1.0)
    assert law.found == FIRST


def test_failures_at_once_are_no_fast_answers():
    law = CapacitySearch(MOST)
    now = attempts(law, 500, at_once=FIRST, time=0.001, end=LoadSignal.UNTOLD)
    assert law.found == FIRST
    attempts(law, 3, at_once=FIRST, time=1.0, now=now)
    assert law.found == FIRST  # three times are too few to know how long an attempt takes


def test_high_levels_are_by_turns_the_whole_numbers_around_what_was_found_and_more_is_tried():
    law = CapacitySearch(MOST)
    law.begin_with(5.5)
    now = attempts(law, 40, at_once=1, time=1.0)
    cycles = [(law.limit(now + 4 * i), law.limit(now + 4 * i + 3)) for i in range(400)]
    tried, usual = (Counter(high for _, high in cycles[first::2]) for first in (0, 1))
    assert usual == pytest.approx({5: 100, 6: 100}, abs=2)
    assert (law.found, set(tried)) == (5.5, {6, 7})
    assert {low for low, _ in cycles} == {2, 3, 4}


@pytest.mark.parametrize("most", [1, 2])
def test_a_small_most_is_kept(most):
    law = CapacitySearch(most)
    now = attempts(law, 100, at_once=1, time=1.0)
    assert {law.limit(now + i / 4) for i in range(200)} <= {1, most}


def test_a_slot_that_comes_with_the_high_level_is_waited_for():
    downstream = Downstream(8, fixed)
    downstream.passes(100)
    law = downstream.laws[0]
    while (wait := law.wait(downstream.now)) == float("inf"):
        downstream.passes(0.25)
    assert law.wait(downstream.now + wait + 1e-6) == 0


def test_an_attempt_that_outlives_its_timeout_keeps_its_slot_until_it_has_ended():
    law = CapacitySearch(1)
    sample = law.begins(EPOCH)
    law.hangs(sample, EPOCH + 1)
    assert law.wait(EPOCH + 1) == float("inf")
    law.ends(sample, EPOCH + 9, LoadSignal.UNTOLD)
    assert law.wait(EPOCH + 9) == 0
    assert sample.cycle.overloads == [1]


def test_an_attempt_that_was_not_begun_is_no_sample_and_costs_nothing_once_its_cycle_is_closed():
    law = CapacitySearch(MOST)
    sample = law.begins(EPOCH)
    law.undo(sample)
    law.ends(sample, EPOCH + 1, LoadSignal.DONE)
    assert sample.cycle.begun == 0
    assert sample.level.number == 0
    late = law.begins(EPOCH)
    late.cycle.close(EPOCH, usual=1.0, work=0.0)
    law.undo(late)
    assert late.cycle.begun == 1
