"""Goodput: the closed forms against known values, and the simulation against the closed forms."""

import math
import random
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from benchmarks.goodput import estimate, experiments, policies, theory
from benchmarks.goodput.load import Phase, arrivals
from benchmarks.goodput.policies import PATIENCE
from benchmarks.goodput.steady import Setting, simulate
from benchmarks.goodput.storm import BEFORE, BUCKET, DURING, Storms, summary
from benchmarks.goodput.system import System
from benchmarks.goodput.theory import Service
from benchmarks.goodput.transient import Horizon

EXPONENTIAL, CONSTANT = Service.EXPONENTIAL, Service.CONSTANT
LOADS = (0.5, 0.8, 0.95, 1.1, 1.5, 2.0, 3.0)


# Theory


@pytest.mark.parametrize(
    ("x", "value"),  # Abramowitz and Stegun, table 9.8
    [(0, 0.0), (0.1, 0.0452984468), (1.0, 0.2079104154), (5.0, 0.1639722669), (10.0, 0.1212626814)],
)
def test_the_bessel_function_has_its_known_values(x, value):
    assert theory.scaled_bessel_i1(x) == pytest.approx(value, abs=1e-9)


def test_the_bessel_function_has_its_asymptote():
    assert theory.scaled_bessel_i1(1e4) == pytest.approx(1 / math.sqrt(2 * math.pi * 1e4), rel=1e-4)


def test_an_integral_of_a_cubic_is_exact():
    assert theory.integral(lambda x: x**3, 0, 2, panels=1) == pytest.approx(4)


def test_twice_the_capacity_offered_newest_first_uses_almost_all_of_it():
    assert theory.lifo(2.0, 10.0, EXPONENTIAL) == pytest.approx(0.993, abs=5e-4)


@pytest.mark.parametrize("service", Service)
@pytest.mark.parametrize("load", [0.3, 0.5])
def test_below_saturation_all_are_served_in_the_end(load, service):
    assert theory.served_when_busy(load, 60.0, service) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("service", Service)
@pytest.mark.parametrize("load", [2.0, 3.0])
def test_above_saturation_one_in_rho_is_served_and_the_rest_is_shed(load, service):
    served = theory.served_when_busy(load, 50.0, service)
    assert served == pytest.approx(1 / load, abs=2e-4)
    assert theory.shed(load) == pytest.approx(1 - served, abs=1e-4)


def test_constant_service_of_no_patience_serves_who_finds_the_server_free():
    for load in (0.5, 0.8):
        assert theory.lifo(load, 0.0, CONSTANT) == pytest.approx(load * (1 - load), abs=1e-9)
        assert theory.fifo(load, 0.0, CONSTANT) == pytest.approx(load * (1 - load), abs=1e-9)


@pytest.mark.parametrize("service", Service)
@pytest.mark.parametrize("load", LOADS)
def test_no_order_serves_more_in_time_than_oldest_first_with_a_deadline(load, service):
    best = theory.fifo_with_deadline(load, PATIENCE, service)
    for other in (theory.lifo, theory.lifo_with_deadline, theory.fifo, theory.fifo_bounded):
        assert other(load, PATIENCE, service) <= best + 1e-9
    assert best <= min(1.0, load) + 1e-9


def test_the_wait_of_oldest_first_is_exponential_where_service_is():
    """P(W > x) = ρ e^−(1−ρ)x."""
    share = theory.fifo(0.8, 5.0, EXPONENTIAL) / 0.8
    assert share == pytest.approx(1 - 0.8 * math.exp(-0.2 * 5))


def test_a_lost_queue_begins_almost_as_an_even_flow_would():
    for service in Service:
        exact = theory.fifo_in_time_at_all(3.0, 1e4, service) / 1e6
        assert exact == pytest.approx(theory.fifo_in_time_fluid(3.0, 1e4, 1e6), rel=1e-3)
    assert theory.fifo_in_time_at_all(2.0, 10.0, EXPONENTIAL) == pytest.approx(11)


def test_with_constant_service_a_lost_queue_agrees_with_the_time_spent_below_the_patience():
    for load in (1.1, 1.5):
        growth = theory._growth(load, CONSTANT)
        below = theory.integral(lambda x, r=load: theory.renewal(r, x, CONSTANT), 0, 10)
        spent = theory.renewal(load, 10, CONSTANT) / growth - below
        assert theory.fifo_in_time_at_all(load, 10, CONSTANT) == pytest.approx(spent, rel=1e-3)


def test_one_server_among_several_is_one_server():
    for load in (0.95, 2.0):
        one = theory.lifo(load, 10.0, EXPONENTIAL)
        assert theory.lifo_with_servers(load, 10.0, 1) == pytest.approx(one)


def test_what_floating_point_numbers_cannot_tell_is_refused():
    with pytest.raises(ValueError, match="cancel each other"):
        theory.fifo(0.95, 33.0, CONSTANT)


# Estimates


def test_a_control_takes_the_noise_that_it_explains():
    draw = random.Random(1)
    controls = [draw.gauss(5, 1) for _ in range(20)]
    values = [2 * c + draw.gauss(0, 0.01) for c in controls]
    found = estimate.controlled_mean(values, [estimate.Control(values=controls, expected=5)])
    assert found.value == pytest.approx(10, abs=0.02)
    assert found.half_width < 0.02 < estimate.mean(values).half_width


def test_a_control_that_never_varies_is_left_out():
    values = [1.0, 2.0, 3.0]
    flat = estimate.Control(values=[1, 1, 1], expected=1)
    assert estimate.controlled_mean(values, [flat]) == estimate.mean(values)


def test_two_controls_explain_more_than_one():
    draw = random.Random(4)
    first, second = ([draw.gauss(0, 1) for _ in range(20)] for _ in range(2))
    values = [7 + a - 3 * b + draw.gauss(0, 0.1) for a, b in zip(first, second, strict=True)]
    controls = [estimate.Control(values=seen, expected=0) for seen in (first, second)]
    both, one = (estimate.controlled_mean(values, controls[:count]) for count in (2, 1))
    assert both.value == pytest.approx(7, abs=2 * both.half_width)
    assert both.half_width < one.half_width


def test_the_interval_holds_the_mean_about_as_often_as_it_says():
    draw = random.Random(2)
    hits = 0
    for _ in range(500):
        found = estimate.mean([draw.gauss(0, 1) for _ in range(20)])
        hits += abs(found.value) <= found.half_width
    assert 0.92 < hits / 500 < 0.98


# Loads


def test_arrivals_come_at_the_rate_of_their_phase():
    phases = [Phase(length=1_000, rate=2.0), Phase(length=1_000, rate=0.5)]
    came = list(arrivals(iter(phases), EXPONENTIAL, random.Random(3)))
    moments = [arrival.moment for arrival in came]
    assert all(a < b for a, b in pairwise(moments))
    assert sum(moment < 1_000 for moment in moments) == pytest.approx(2_000, rel=0.1)
    assert sum(moment >= 1_000 for moment in moments) == pytest.approx(500, rel=0.2)
    assert sum(a.service for a in came) / len(came) == pytest.approx(1, rel=0.1)


# The simulation


def starts(policy, moments, *, until=100.0, **terms):
    """The arrivals of those that were started, in the order of their starts, and their waits."""
    found = []
    system = System(policy, on_start=found.append, **terms)
    for moment in moments:
        system.at(moment, lambda: system.offer(1.0))
    system.run(until)
    return [(round(start.arrived, 3), round(start.wait, 3)) for start in found]


def test_the_processor_starts_at_once_what_finds_it_free_and_then_the_newest():
    assert starts(policies.LIFO, [0, 0.25, 0.5, 5]) == [(0, 0), (0.5, 0.5), (0.25, 1.75), (5, 0)]


def test_the_policies_differ_as_they_should():
    moments = [0, 0.25, 0.5]
    assert starts(policies.FIFO_UNBOUNDED, moments) == [(0, 0), (0.25, 0.75), (0.5, 1.5)]
    one = replace(policies.FIFO_BOUNDED, room=1)
    assert starts(one, moments) == [(0, 0), (0.25, 0.75)]
    brief = replace(policies.FIFO_DEADLINE, deadline=1.0)
    assert starts(brief, moments) == [(0, 0), (0.25, 0.75)]


def test_servers_work_side_by_side():
    assert starts(policies.LIFO, [0, 0.25, 0.5], slots=2) == [(0, 0), (0.25, 0), (0.5, 0.5)]


def test_a_window_that_ends_costs_one_server_nothing():
    moments = [n / 2 for n in range(40)]
    long, short = (
        starts(policies.LIFO_UNBOUNDED, moments, window=window) for window in (1_000.0, 3.0)
    )
    assert len(long) == 40
    assert short == long


@pytest.mark.parametrize("policy", experiments.EXPECTED)
def test_the_real_processor_agrees_with_theory(policy):
    load = 0.8
    setting = Setting(
        policy=policy,
        service=CONSTANT,
        phases=(Phase(length=100, rate=load),),
        length=600,
    )
    found = simulate(setting).goodput
    expected = experiments.EXPECTED[policy](load, PATIENCE, CONSTANT)
    assert found.value == pytest.approx(expected, abs=max(0.02, 1.5 * found.half_width))


def test_the_same_seed_tells_the_same_story():
    setting = experiments.setting(policies.ADAPTIVE, EXPONENTIAL, 1.1, scale=0.01)
    assert simulate(setting) == simulate(setting)


def test_under_overload_a_queue_that_serves_the_oldest_is_lost():
    row = Horizon(service=CONSTANT, load=3.0, length=200.0, seeds=range(3)).row()
    assert row["in_time_share_of_arrivals"] == pytest.approx(row["theory"], rel=0.25)
    assert row["in_time_share_of_arrivals"] < 0.05


# Retry storms


@cache
def storm_of(policy):
    return Storms(policy=policy, service=EXPONENTIAL, seeds=range(1)).rows()


def test_after_a_burst_newest_first_recovers_and_oldest_first_does_not():
    lifo, fifo, adaptive = (summary(storm_of(policy)) for policy in experiments.UNKNOWN)
    assert fifo["recovered_after_services"] is None
    assert fifo["goodput_in_last_half"] < 0.05
    for newest in (lifo, adaptive):
        assert newest["recovered_after_services"] <= 100
        assert newest["served_share_of_requests_in_last_half"] > 0.95


def test_clients_that_are_not_served_repeat_until_they_give_up():
    rows = storm_of(experiments.UNKNOWN[1])
    lost = [row for row in rows if row["from_services"] >= BEFORE + DURING + 100]
    requests = sum(row["requests_per_service"] for row in lost) * BUCKET
    puts = sum(row["puts_per_service"] for row in lost) * BUCKET
    assert puts / requests == pytest.approx(4, rel=0.15)  # once, and three times again
