"""The lessons of one cycle about the capacity of a downstream."""

import math
from statistics import NormalDist

import pytest

from lifoq.worker.gates.adaptive.attempt_times import Cycle
from lifoq.worker.gates.adaptive.capacity_estimate import ALONE, Bar, CapacityEstimate
from lifoq.worker.gates.gate import LoadSignal


def test_times_tell_of_the_capacity_unless_more_than_half_of_the_attempts_hang():
    cycle = Cycle(number=1, low=4, high=8, low_part=0.3, high_work=8.0, high_time=1.0)
    samples = [cycle.begins(0, at_work=8, work=0, low=False) for _ in range(10)]
    for sample in samples[:5]:
        cycle.ends(sample, 1, LoadSignal.DONE, work=8)
    cycle.close(1, usual=1, work=8)
    assert (cycle.hanging, cycle.tells) == (5, True)
    assert not cycle.stands_still
    cycle.hanging = 6
    assert (cycle.tells, cycle.stands_still) == (False, True)
    cycle.high = 1
    assert not cycle.stands_still
    assert not Cycle(number=1, low=4, high=8, low_part=0.3, high_work=8.0, high_time=1.0).tells


def test_a_cycle_keeps_the_times_of_both_levels_and_how_many_were_at_work_with_them():
    cycle = Cycle(number=1, low=2, high=4, low_part=0.3, high_work=6.0, high_time=2.0)
    low = cycle.begins(10, at_work=2, work=5, low=True)
    high = cycle.begins(11, at_work=2, work=7, low=False)
    hangs = cycle.begins(12, at_work=3, work=10, low=False)
    fails = cycle.begins(12, at_work=4, work=10, low=False)
    assert fails.beside(12, 10) == 4
    assert cycle.ends(low, 12, LoadSignal.DONE, work=11)
    assert cycle.ends(high, 13, LoadSignal.DONE, work=15)
    assert cycle.ends(fails, 13, LoadSignal.UNTOLD, work=15)
    cycle.close(14, usual=3, work=20)  # what hangs counts with its two seconds and half of three
    assert not cycle.ends(hangs, 15, LoadSignal.OVERLOADED, work=25)
    assert (cycle.begun, cycle.hanging, cycle.overloads) == (4, 1, [])
    assert [level.number for level in cycle.levels] == [1, 2]
    means = [level.mean for level in cycle.levels]
    assert means == pytest.approx([math.log(2), (math.log(2) + math.log(3.5)) / 2])
    variances = [level.variance for level in cycle.levels]
    assert variances == pytest.approx([0, math.log(3.5 / 2) ** 2 / 2])
    assert (cycle.reached, cycle.beside(), cycle.in_front()) == (0.75, [3, 4.5], [2, 3])
    cycle.high_work = 20.0  # of what was begun before, more than planned may be at work
    assert cycle.in_front() == [2, 4]


def test_a_bar_learns_from_measurements_as_a_normal_distribution_does():
    bar = Bar(capacity=4, chance=0.5, free_time=1.0, unsure=0.09)
    first = bar.fitted([1.6], [0.16])
    likely = NormalDist(1.0, 0.5).pdf(1.6) * math.sqrt(2 * math.pi)
    assert first == pytest.approx((4, 0.5 * likely, 1.216, 1 / (1 / 0.09 + 1 / 0.16)))
    assert bar.fitted([1.6, 0.9], [0.16, 0.04]) == pytest.approx(first.fitted([0.9], [0.04]))
    never = bar.fitted([99.0], [0.16])
    assert never.chance > 0
    assert bar.mixed([(1.0, bar), (3.0, Bar(8, 0.5, 2.0, 0.01))]) == pytest.approx(
        (4, 2.0, 1.75, 0.25 * 0.09 + 0.75 * 0.01 + 0.25 * 0.75)
    )


def test_what_an_earlier_process_found_is_believed():
    estimate = CapacityEstimate(64)
    estimate.believe(20)
    assert estimate.quantile(0.5) == pytest.approx(20, rel=0.1)


@pytest.mark.parametrize(("at_work", "learns"), [(8, True), (int(ALONE), False)])
def test_overload_beside_others_speaks_against_a_large_capacity_and_alone_it_does_not(
    at_work, learns
):
    overloaded, quiet = CapacityEstimate(64), CapacityEstimate(64)
    for estimate, overloads in ((overloaded, [at_work] * 6), (quiet, [])):
        cycle = Cycle(number=1, low=4, high=8, low_part=0.3, begun=6, overloads=overloads)
        estimate.learn(cycle)
    ratio = overloaded.quantile(0.5) / quiet.quantile(0.5)
    assert ratio < 0.9 if learns else ratio == pytest.approx(1)
