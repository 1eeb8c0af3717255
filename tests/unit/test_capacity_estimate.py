"""The lessons of one cycle about the capacity of a downstream."""

import pytest

from lifoq.worker.gates.adaptive.attempt_times import Cycle
from lifoq.worker.gates.adaptive.capacity_estimate import ALONE, CapacityEstimate
from lifoq.worker.gates.gate import LoadSignal


def test_times_tell_of_the_capacity_unless_more_than_half_of_the_attempts_hang():
    cycle = Cycle(number=1, low=4, high=8, low_part=0.3, high_work=8.0, high_time=1.0)
    samples = [cycle.begins(0, at_work=8, work=0, low=False) for _ in range(10)]
    for sample in samples[:5]:
        cycle.ends(sample, 1, LoadSignal.DONE, work=8)
    cycle.close(1, usual=1, work=8)
    assert (cycle.hanging, cycle.tells) == (5, True)
    cycle.hanging = 6
    assert not cycle.tells


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
