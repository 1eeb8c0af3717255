"""Goodput: the closed forms against known values, and the simulation against the closed forms."""

import random
from dataclasses import replace

import pytest

from benchmarks.goodput import theory
from benchmarks.goodput.__main__ import THEORY
from benchmarks.goodput.queue import NEWEST, OLDEST, OLDEST_FOR_EVER, PATIENCE, Queue
from benchmarks.goodput.steady import Steady, Stretch, lost, simulate


@pytest.mark.parametrize("load", [0.3, 0.5])
def test_below_saturation_newest_first_serves_all_in_the_end(load):
    assert theory.served_when_busy(load, 60.0) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("load", [2.0, 3.0])
def test_above_saturation_one_in_rho_is_served(load):
    assert theory.served_when_busy(load, 50.0) == pytest.approx(1 / load, abs=2e-4)


@pytest.mark.parametrize("load", [0.5, 0.8, 0.95, 1.1, 1.5, 2.0, 3.0])
def test_no_order_serves_more_in_time_than_oldest_first_with_a_deadline(load):
    best = theory.oldest_first_with_deadline(load, PATIENCE)
    assert theory.newest_first(load, PATIENCE) <= best + 1e-9
    assert theory.oldest_first(load, PATIENCE) <= best + 1e-9
    assert best <= min(1.0, load) + 1e-9


def starts(policy, moments):
    """When those arrived that were started, in the order of their starts, and how they waited."""
    found = []
    queue = Queue(policy, found.append)
    for moment in moments:
        queue.at(moment, lambda: queue.put(1.0))
    queue.run(100.0)
    return [(round(start.moment - start.wait, 3), round(start.wait, 3)) for start in found]


def test_the_orders_differ_as_they_should():
    moments = [0, 0.25, 0.5, 5]
    assert starts(NEWEST, moments) == [(0, 0), (0.5, 0.5), (0.25, 1.75), (5, 0)]
    assert starts(OLDEST_FOR_EVER, moments) == [(0, 0), (0.25, 0.75), (0.5, 1.5), (5, 0)]
    assert starts(replace(OLDEST, deadline=1.0), moments) == [(0, 0), (0.25, 0.75), (5, 0)]


@pytest.mark.parametrize("policy", THEORY)
def test_the_real_processor_agrees_with_theory(policy):
    outcome = simulate(policy, 0.8, 600)
    goodput, ci95 = outcome.goodput()
    assert goodput == pytest.approx(THEORY[policy](0.8, PATIENCE), abs=max(0.02, 1.5 * ci95))


def test_under_overload_a_queue_that_serves_the_oldest_is_lost():
    found = sum(lost(3.0, 200.0, seed, OLDEST_FOR_EVER) for seed in range(3)) / 3
    assert found == pytest.approx(theory.oldest_first_at_first(3.0, PATIENCE, 200.0), rel=0.25)


def test_a_mean_is_freed_of_the_work_that_happened_to_come():
    draw = random.Random(1)
    offered = [draw.gauss(1, 0.1) for _ in range(20)]
    stretches = [
        Stretch(
            offered=100 * work,
            starts=100,
            started=100 + draw.gauss(0, 5),
            in_time=100 * (0.5 + 2 * (work - 1) + draw.gauss(0, 0.001)),
        )
        for work in offered
    ]
    mean, ci95 = Steady(load=1.0, length=100.0, stretches=stretches).goodput()
    assert mean == pytest.approx(0.5, abs=2 * ci95)
    assert ci95 < 0.002
