"""Each benchmark measures what it says: its queues, its model of theory, and who is compared."""

from functools import partial
from typing import Any

import pytest

from benchmarks.backlog.__main__ import mountain, waiting
from benchmarks.capacity.laws import fixed
from benchmarks.capacity.trial import Setup, run
from benchmarks.freshness.barrier import PageBarrier
from benchmarks.goodput import theory
from benchmarks.goodput.__main__ import NEWEST, best
from benchmarks.goodput.steady import simulate
from benchmarks.goodput.theory import LAWS
from benchmarks.model_answers.crowd import PART, STAND_IN, User
from benchmarks.model_answers.line import Line, line
from benchmarks.model_answers.with_lifoq import HEARTBEAT, with_lifoq
from benchmarks.world import Table, World
from lifoq import Lifetimes, WorkerSettings
from lifoq.basics.host import SYSTEM
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store


def test_backlog_what_waits_can_be_claimed_and_the_mountain_is_out_of_the_querys_range():
    table, now = MemoryTable(), SYSTEM.now()
    for layer in (mountain(40), waiting(3)):
        for number in range(layer.count):
            table.put(layer.item(number, now))
    store = Store(table)
    found = [row.task_id for row in store.candidates(limit=100).rows]
    assert found == ["live-0", "live-1", "live-2"]
    assert store.candidates(limit=100, newest_first=False).rows[0].task_id == "live-2"
    assert store.claim("live-0", claim_id="mine", lease=1).task_id == "live-0"


def test_freshness_the_worker_beside_it_works_off_its_page_before_it_sees_what_is_newer():
    order = []

    def work(payload: str) -> None:
        order.append(payload)
        world.host.sleep(1.0)

    settings = WorkerSettings(window=60, in_flight=2, page=3)
    world = World(
        Table(answer=0.01), work, lifetimes=Lifetimes(), settings=settings, worker=PageBarrier
    )
    for number in range(4):
        world.put(f"old {number}")
    world.at(0.5, lambda: world.put("new"))
    world.run(10)
    assert order == ["old 3", "old 2", "old 1", "new", "old 0"]


def test_model_answers_a_user_who_leaves_costs_what_was_said_until_it_was_known():
    def spent(serve: Any) -> list[int]:
        question = STAND_IN.Question(prompt=500, answer=500)  # takes 10.5 s
        stays, leaves = (User(asks_at=1, question=question, leaves_at=end) for end in (21, 6))
        serve([stays, leaves], 60)
        assert [stays.is_answered, leaves.is_answered] == [True, False]
        return [stays.tokens, leaves.tokens]

    unnoticed, noticed = (
        partial(line, Line(slots=2, notices=notices)) for notices in (False, True)
    )
    assert spent(unnoticed) == [1000, 1000]
    assert spent(noticed) == [1000, 725]
    whole, broken_off = spent(partial(with_lifoq, counts_refusals=False))
    assert whole == 1000
    assert 725 <= broken_off <= 725 + 50 * (HEARTBEAT + PART)


@pytest.mark.prove
@pytest.mark.parametrize("law", LAWS)
def test_goodput_the_real_processor_agrees_with_theory(law):
    for policy in (NEWEST, best(law, 0.8)):
        share, ci95 = simulate(policy, 0.8, 200).in_time(LAWS[law])
        form = theory.newest_first if policy == NEWEST else theory.oldest_first
        expected = form(0.8, LAWS[law], policy.deadline)
        assert share == pytest.approx(expected, abs=max(0.02, 1.5 * ci95))


@pytest.mark.parametrize("in_flight", [1, 4, 10, 32])
def test_processor_a_run_takes_little_longer_than_its_calls(in_flight):
    began, answer = [], 0.005
    settings = WorkerSettings(window=60, in_flight=in_flight, linger=0)
    world = World(
        Table(answer=answer),
        lambda _: began.append(world.now),
        lifetimes=Lifetimes(),
        settings=settings,
    )
    for number in range(10 * in_flight):
        world.put(number)
    world.run(60)
    assert len(began) == 10 * in_flight
    # A query, then claims and settles, as many beside one another as are in flight.
    assert max(began) < (answer + 10 * answer + 9 * answer) / 0.7


def test_capacity_the_best_number_keeps_all_servers_busy_and_nobody_waits():
    setup = Setup(times="fixed", servers=4, seed="seed", length=100, most=64)
    done = run(setup, fixed(4)).done
    assert len(done) == pytest.approx(400, abs=10)
    assert all(0.95 <= each.time <= 1.05 for each in done)
