"""Goodput: closed forms against known values, and what is simulated against the closed forms."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.goodput import classes, others, theory
from benchmarks.goodput.__main__ import NEWEST, OLDEST, best
from benchmarks.goodput.queue import Policy, Queue
from benchmarks.goodput.steady import Steady, Stretch, simulate
from benchmarks.goodput.theory import LAWS, PATIENCE
from benchmarks.world import poisson

EXPONENTIAL = LAWS["exponential"]


@pytest.mark.parametrize("load", [0.8, 0.95, 1.1, 2.0])
def test_without_a_deadline_the_transform_of_the_busy_period_gives_the_same(load):
    s = 1 + load + 1 / PATIENCE
    transform = (s - math.sqrt(s * s - 4 * load)) / (2 * load)
    busy = min(1.0, load)
    expected = 1 - busy + busy * transform
    assert theory.newest_first(load, EXPONENTIAL) == pytest.approx(expected, abs=1e-4)
    waits = (1 - load) * (1 + load / (1 + 1 / PATIENCE - load)) if load < 1 else 0.0
    assert theory.oldest_first(load, EXPONENTIAL) == pytest.approx(waits, abs=1e-4)


@pytest.mark.parametrize(
    ("load", "newest", "oldest", "with_ten"),
    [(0.8, 83, 80, 77), (0.95, 76, 74, 65), (1.1, 70, 68, 52), (2.0, 46, 43, 20)],
)
def test_where_patience_is_exponential_newest_first_is_ahead(load, newest, oldest, with_ten):
    deadline = theory.best_deadline(load, EXPONENTIAL)
    shares = (
        theory.newest_first(load, EXPONENTIAL),
        theory.oldest_first(load, EXPONENTIAL, deadline),
        theory.oldest_first(load, EXPONENTIAL, PATIENCE),
    )
    assert [round(100 * share) for share in shares] == [newest, oldest, with_ten]


@pytest.mark.parametrize("load", [0.5, 1.1, 3.0])
def test_where_all_wait_equally_long_no_order_serves_more_than_oldest_first_with_that_deadline(
    load,
):
    equal = LAWS["equal"]
    most = theory.oldest_first(load, equal, PATIENCE)
    assert theory.best_deadline(load, equal) == pytest.approx(PATIENCE)
    assert theory.newest_first(load, equal, PATIENCE) <= most <= min(1.0, 1 / load)


def starts(policy, moments):
    """When those arrived that were started, in the order of their starts, and how they waited."""
    found = []
    queue = Queue(policy, found.append)
    for moment in moments:
        queue.at(moment, lambda: queue.put(1.0))
    queue.run(100.0)
    return [(round(start.moment - start.wait, 2), round(start.wait, 2)) for start in found]


def test_the_orders_differ_as_they_should():
    moments = [0, 0.25, 0.5, 5]
    assert starts(NEWEST, moments) == [(0, 0), (0.5, 0.5), (0.25, 1.75), (5, 0)]
    assert starts(OLDEST, moments) == [(0, 0), (0.25, 0.75), (0.5, 1.5), (5, 0)]
    assert starts(replace(OLDEST, deadline=1.0), moments) == [(0, 0), (0.25, 0.75), (5, 0)]


@pytest.mark.parametrize("law", LAWS)
def test_the_real_processor_agrees_with_theory(law):
    for policy in (NEWEST, best(law, 0.8)):
        share, ci95 = simulate(policy, 0.8, 200).in_time(LAWS[law])
        form = theory.newest_first if policy == NEWEST else theory.oldest_first
        expected = form(0.8, LAWS[law], policy.deadline)
        assert share == pytest.approx(expected, abs=max(0.02, 1.5 * ci95))


def test_a_queue_that_is_told_starts_nobody_who_has_gone():
    told, found = Policy(deadline=100.0, told=True), []
    queue = Queue(told, found.append)
    queue.load(3.0, 50.0, "seed", queue.put)
    queue.run(50.0)
    waits = [start.wait for start in found if start.wait > 0]
    assert len(found) == pytest.approx(50, abs=25)
    assert np.mean(waits) < PATIENCE / 4


def test_codel_is_oldest_first_until_the_queue_stands():
    share = len(others.codel_with_adaptive_lifo(0.2, 20_000, 1)) / 20_000
    assert share == pytest.approx(theory.oldest_first(0.2, LAWS["equal"], PATIENCE), abs=0.005)
    waits = np.array(others.codel_with_adaptive_lifo(3.0, 20_000, 1))
    assert np.median(waits) < PATIENCE / 5


def test_a_mean_is_freed_of_the_work_that_happened_to_come():
    draw = random.Random(1)
    offered = [draw.gauss(1, 0.1) for _ in range(20)]
    stretches = [
        Stretch(
            arrivals=1_000 + round(draw.gauss(0, 30)),
            offered=1_000 * work,
            started=500 * (1 + draw.gauss(0, 0.05)),
            waits=[0.0] * round(500 * work + draw.gauss(0, 0.5)),
        )
        for work in offered
    ]
    mean, ci95 = Steady(load=1.0, length=1_000.0, stretches=stretches).in_time(np.ones_like)
    assert mean == pytest.approx(0.5, abs=max(0.01, 2 * ci95))
    assert ci95 < 0.02


def test_a_head_start_carries_what_is_worth_more_through_a_spike(monkeypatch):
    def spike(draw):
        for moment in poisson(25, 15, draw):
            yield moment, "much" if draw.random() < 0.2 else "little", draw.expovariate(1)

    monkeypatch.setitem(classes.LOADS, "short", classes.Load(spike, "much", 5, (2, 12)))
    without, ahead = (
        {row.tasks: row.in_time for row in classes.simulate("short", head_start=head_start)}
        for head_start in (False, True)
    )
    assert without["much"] < 0.6
    assert ahead["much"] >= 0.95
    assert ahead["all"] == pytest.approx(without["all"], abs=0.1)
