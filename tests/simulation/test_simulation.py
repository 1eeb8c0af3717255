"""The queue's own code under simulated chaos; ``python -m tests.simulation`` runs more seeds."""

import os
from collections import Counter

from tests.simulation.rules import LEGAL
from tests.simulation.run import run_seed, run_seeds, story

SEEDS = range(300)


def test_the_queue_keeps_its_word_under_every_seed_and_every_transition_occurs() -> None:
    transitions: Counter[str] = Counter()
    for result in run_seeds(SEEDS, processes=os.cpu_count() or 1):
        assert result.failure is None, story(result)
        transitions += result.transitions
    never = {f"{was} → {becomes}" for was, becomes in LEGAL} - set(transitions)
    assert not never


def test_the_same_seed_gives_the_same_run() -> None:
    for seed in SEEDS[:10]:
        first, second = run_seed(seed), run_seed(seed)
        assert first.fingerprint == second.fingerprint
        assert first.steps == second.steps
