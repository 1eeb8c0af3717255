"""Which tasks a run has, and for how long it remembers those that it was refused."""

import pytest

from lifoq.basics.host import microseconds
from lifoq.tables.store import Candidate
from lifoq.worker.held import CLAIM_PATIENCE, REFUSED_FOR, Held

NOW = microseconds(100)


def row(task_id: str = "t", *, suspect: bool = False) -> Candidate:
    return Candidate(task_id=task_id, task_type="a", created=1, expires_at=10**18, suspect=suspect)


@pytest.fixture
def held() -> Held:
    return Held(slots=2)


def test_a_task_that_was_refused_is_not_tried_again_for_a_moment(held):
    held.asks(row(), NOW)
    assert held.has("t", NOW)
    held.not_started("t")
    assert not held.has("t", NOW)
    held.refused("t", NOW)
    assert held.has("t", NOW + microseconds(REFUSED_FOR) - 1)
    assert not held.has("t", NOW + microseconds(REFUSED_FOR))


def test_half_as_many_tasks_again_as_there_are_slots_are_a_crowd(held):
    crowds = []
    for task_id in "abc":
        crowds.append(held.crowded)
        held.asks(row(task_id), NOW)
    assert [*crowds, held.crowded] == [False, False, False, True]
    held.not_started("b")
    assert not held.crowded


def test_a_run_has_nothing_once_every_claim_is_answered(held):
    assert held.nothing
    held.asks(row(), NOW)
    assert not held.nothing
    held.not_started("t")
    assert held.nothing


def test_a_suspect_keeps_others_out_until_it_is_over_and_not_until_another_task_is(held):
    held.asks(row("healthy"), NOW)
    assert not held.a_suspect
    held.asks(row("suspect", suspect=True), NOW)
    held.not_started("healthy")
    assert held.a_suspect
    held.not_started("suspect")
    assert not held.a_suspect


def test_the_next_look_waits_for_the_answer_to_the_latest_claim(held):
    held.asks(row("a"), NOW)
    held.asks(row("b"), NOW + 7)
    assert held.answers_by == NOW + 7 + microseconds(CLAIM_PATIENCE)
    held.not_started("b")
    assert held.answers_by == NOW + microseconds(CLAIM_PATIENCE)
    held.not_started("a")
    assert held.answers_by < NOW
