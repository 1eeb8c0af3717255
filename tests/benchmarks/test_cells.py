"""What the benchmark of cells counts and simulates agrees with theory, and with examples."""

import math
import random

import pytest

from benchmarks.cells import ceiling, lingering, order, outages, with_queue
from benchmarks.cells.inversions import newer_by
from benchmarks.cells.routing import ROUTINGS, cell_of
from benchmarks.cells.simulation import Outage, Work, simulate
from lifoq import WorkerSettings

INDEX = "status-created-index"


def test_a_task_that_succeeds_at_once_goes_into_and_out_of_two_statuses():
    writes = ceiling.writes_of("succeeds at the first attempt")
    assert writes == {(INDEX, "PENDING"): 2, (INDEX, "TAKEN"): 2}


def test_a_retry_waits_in_the_other_index_and_comes_back():
    writes = ceiling.writes_of("fails once, backs off, succeeds")
    assert writes == {(INDEX, "PENDING"): 4, (INDEX, "TAKEN"): 4, ("due-index", "DELAYED"): 2}


def test_a_task_that_is_shed_is_written_into_the_index_once():
    assert ceiling.writes_of("is shed") == {(INDEX, "PENDING"): 1}


def test_the_ceiling_of_a_queue_is_what_its_busiest_status_takes():
    first = ceiling.ways()[0]
    assert first["tasks_per_second"] == 500
    assert first["tasks_per_second_if_in_one_partition"] == 250


def test_overload_is_taken_in_beyond_the_ceiling_at_the_cost_of_what_is_served():
    at_capacity, overload = ceiling.under_overload(1.0), ceiling.under_overload(3.0)
    assert at_capacity["arrivals_per_second"] == at_capacity["served_per_second"] == 500
    assert overload["arrivals_per_second"] == pytest.approx(750)
    assert overload["served_per_second"] == pytest.approx(250)


def test_cells_are_filled_to_the_headroom_only():
    assert [ceiling.cells_for(rate, retried=0.0) for rate in (350, 351, 3_500)] == [1, 2, 10]


def test_retries_need_more_cells():
    assert ceiling.cells_for(3_500, retried=0.1) == 11


def test_one_server_serves_as_many_in_time_as_the_closed_form_says():
    """LIFO M/M/1 at ρ = 2 with a deadline of ten service times: goodput/μ = 0.993."""
    work = Work.draw(random.Random(1), tasks=40_000, per_second=2.0, service=1.0, deadline=10.0)
    waits = simulate(work, cells=[0] * 40_000, slots=[1])
    served = sum(wait is not None for wait in waits)
    assert served / work.arrivals[-1] == pytest.approx(0.993, abs=0.015)


def test_one_queue_has_no_inversions():
    work = Work.draw(random.Random(1), tasks=2_000, per_second=50.0, service=0.4, deadline=10.0)
    assert newer_by(work, simulate(work, cells=[0] * 2_000, slots=[10])) == {}


def test_an_inversion_is_a_start_while_a_newer_task_waits_in_another_cell():
    work = Work(arrivals=(0, 0, 1, 2, 3), services=(5, 9, 1, 1, 1), deadline=100)
    waits = simulate(work, cells=(0, 1, 0, 1, 1), slots=(1, 1))
    assert waits == [0, 0, 4, 8, 6]
    # At 5 cell 0 is free, and starts task 2; task 4, two seconds newer, waits in cell 1.
    assert newer_by(work, waits) == {2: 2}


def test_nothing_starts_at_its_deadline_or_later():
    work = Work(arrivals=(0, 1, 2), services=(5, 1, 1), deadline=4)
    assert simulate(work, cells=(0, 0, 0), slots=(1,)) == [0, None, 3]
    assert simulate(work, cells=(0, 0, 0), slots=(2,)) == [0, 0, 0]


def test_in_overload_a_start_is_newest_of_all_in_one_cell_only():
    row = order.compare(order.Setting(cells=4, load=2.0), tasks=10_000, seeds=(1,))
    assert row["inversions_share"] == pytest.approx(1 - 1 / 4, abs=0.02)
    assert row["served_share"] == pytest.approx(1 / 2, abs=0.02)


def test_a_cell_that_is_down_starts_nothing_and_then_its_newest_first():
    work = Work(arrivals=(0, 1, 2, 3), services=(1, 1, 1, 1), deadline=100)
    outage = Outage(cell=0, begins=0.5, ends=10)
    waits = simulate(work, cells=(0, 0, 1, 0), slots=(1, 1), outage=outage)
    assert waits == [0, 10, 0, 7]


def test_an_outage_hits_its_own_cells_share_and_nobody_else(monkeypatch):
    monkeypatch.setattr(outages, "CELLS", (4,))
    (row,) = outages.outages(seeds=(1,))
    assert row["shed_share"] == pytest.approx(1 / 4, abs=0.02)
    assert row["shed_share_in_other_cells"] == pytest.approx(0, abs=0.001)


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda routing: routing.name)
def test_every_routing_uses_every_cell(routing):
    assert set(routing.route(5_000, 4, random.Random(1))) == {0, 1, 2, 3}


def test_a_keys_cell_never_changes():
    assert [cell_of(key, 8) for key in ("a", "b", "device-17")] == [3, 1, 0]


def test_processors_linger_as_long_as_arrivals_make_them():
    """The formula beside arrivals drawn one by one."""
    draw, end, busy, last = random.Random(1), 200_000.0, 0.0, -math.inf
    stay = max(order.SERVICE, WorkerSettings().linger)
    time = draw.expovariate(0.5)
    while time < end:
        busy += min(stay, time - last)
        last, time = time, time + draw.expovariate(0.5)
    row = lingering.processors(1.0, 2, idle_usd=5.0)
    assert row["processors_running"] == pytest.approx(2 * busy / end, rel=0.02)


def test_an_idle_cell_costs_what_stands_there_and_no_more():
    assert lingering.processors(0.0, 3, idle_usd=5.0)["usd_per_month"] == 15.0


def test_one_task_at_a_time_starts_in_the_simulation_when_it_does_in_the_queue():
    setting = order.Setting(slots=1, load=0.95)
    row = with_queue.compare(setting, tasks=1_000, seed=1)
    assert row["same_share"] == 1


def test_several_at_a_time_are_as_often_inverted_in_the_simulation_as_in_the_queue():
    """Not task by task: one that differs by a moment makes all after it differ."""
    setting = order.Setting(slots=10, load=2.0)
    row = with_queue.compare(setting, tasks=2_000, seed=1)
    assert row["simulated_inversions_share"] == pytest.approx(
        row["queue_inversions_share"], abs=0.03
    )
