"""The lessons of one cycle about the capacity of a downstream."""

import pytest

from lifoq.worker.gates.adaptive.attempt_times import Cycle
from lifoq.worker.gates.adaptive.capacity_estimate import ALONE, CapacityEstimate


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
