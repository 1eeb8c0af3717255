"""The wait of a retry."""

import random

import pytest

from lifoq.errors import InvalidInput
from lifoq.worker.handlers.backoff import Backoff

DRAW = random.Random(1)


def delays(backoff: Backoff, retries: int) -> list[float]:
    return [round(backoff.delay(n, retries=retries, draw=DRAW), 3) for n in range(1, retries + 1)]


def test_the_default_doubles_from_one_second_to_fifteen_minutes():
    plain = Backoff(jitter=False)
    assert delays(plain, 12) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    assert plain.delay(10_000, retries=10_000, draw=DRAW) == 900


@pytest.mark.parametrize(
    ("growth", "grown"), [("exponential", [2, 4, 8, 16]), ("linear", [9.5, 17, 24.5, 32])]
)
def test_phases_follow_each_other(growth, grown):
    phases = Backoff(
        min_seconds=2,
        max_seconds=32,
        immediate=2,
        pre_backoff=2,
        post_backoff=2,
        growth=growth,
        jitter=False,
    )
    assert delays(phases, 10) == [0, 0, 2, 2, *grown, 32, 32]
    assert delays(Backoff.fixed(9), 3) == [9, 9, 9]


@pytest.mark.parametrize(
    ("growth", "expected"),
    [
        ("linear", [3, 5, 7, 9]),
        ("arithmetic", [1.8, 3.4, 5.8, 9]),
        ("geometric", [1.732, 3, 5.196, 9]),
        ("exponential", [1, 2, 4, 8]),
    ],
)
def test_delays_grow_as_named(growth, expected):
    backoff = Backoff(min_seconds=1, max_seconds=9, growth=growth, jitter=False)
    assert delays(backoff, 4) == expected


@pytest.mark.parametrize(("policy", "most"), [(Backoff(), 24), (Backoff.fixed(9, jitter=True), 9)])
def test_jitter_draws_evenly_from_half_to_all_of_what_is_waited_at_the_most(policy, most):
    """Three times the delay, where it grows."""
    drawn = [policy.delay(4, retries=9, draw=DRAW) for _ in range(4000)]
    assert most / 2 <= min(drawn) < most / 2 + 0.1
    assert most - 0.1 < max(drawn) <= most
    assert sum(drawn) / len(drawn) == pytest.approx(0.75 * most, abs=0.3)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"min_seconds": 0}, "seconds above 0"),
        ({"min_seconds": 5, "max_seconds": 1}, "at most max_seconds, which is 1"),
        ({"immediate": -1}, "immediate=-1"),
        ({"pre_backoff": -1}, "pre_backoff=-1"),
        ({"post_backoff": 1.5}, "post_backoff=1.5"),
        ({"growth": "quadratic"}, "growth='quadratic'"),
    ],
)
def test_an_impossible_policy_is_refused(terms, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Backoff(**terms)
