"""What the benchmark of limits rests on: with a type at its limit the newest is taken, and a late
heartbeat is its own task's matter."""

import pytest

from benchmarks.limits.heartbeats import heartbeats
from benchmarks.limits.order import LIMITS, order


@pytest.mark.parametrize("limit", LIMITS)
def test_the_newest_is_taken_whatever_is_limited(limit):
    assert order(limit, 200)["newer_median"] <= 2


def test_a_heartbeat_that_is_answered_late_makes_no_task_run_twice():
    row = heartbeats(25.0)
    assert (row["leases_run_out"], row["run_twice"]) == (0, 0)
