"""The queue's own code under simulated chaos; ``python -m tests.simulation`` runs more seeds."""

from dataclasses import replace
from typing import Any

import pytest

from lifoq.items import transitions
from lifoq.items.change import Change
from tests.simulation.run import Result, run_seed, run_seeds, story


@pytest.fixture(scope="module")
def results() -> list[Result]:
    """`make chaos` runs hundreds; so many show a fault that nearly all schedules would."""
    return list(run_seeds(range(3), processes=1))


def test_the_queue_keeps_its_word_under_every_seed(results):
    for result in results:
        assert result.failure is None, story(result)


def test_the_same_seed_gives_the_same_run_in_any_process(results):
    assert run_seed(0) == results[0]


def test_a_rule_that_is_broken_is_told_with_its_schedule_and_how_to_run_it_again(monkeypatch):
    # A claim that does not look at the status takes tasks from their holders.
    claim = transitions.claim

    def careless(**arguments: Any) -> Change:
        return replace(claim(**arguments), when=())

    monkeypatch.setattr(transitions, "claim", careless)

    result = run_seed(0)

    assert result.failure is not None
    assert "Violation: task " in result.failure
    told = story(result)
    assert "make chaos SEED=0" in told
    assert "→ TAKEN by worker-" in told
