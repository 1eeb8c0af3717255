"""Tasks that weigh different amounts, in virtual time: no limit is exceeded, and no heavy task is
overtaken for ever."""

from typing import Any

import pytest

from lifoq import InvalidInput, Rate, Status
from tests.virtual.bench import Bench

LONGEST = 120.0
"""Seconds for which tasks may wait: longer than the tests take."""


def arrive(bench: Bench, *, every: float, weight: int) -> None:
    """Light tasks come, each newer than those before."""

    def come() -> None:
        while True:
            bench.sleep(every)
            bench.put("ask", weight, weight=weight, deadline=LONGEST)

    bench.beside(come)


def busiest(begun: list[tuple[float, Any]], seconds: float) -> int:
    """Return the most units that began within so many seconds. Payloads are weights."""
    return max(
        sum(weight for at, weight in begun if since <= at <= since + seconds) for since, _ in begun
    )


HEAVY_PUT = 15.05
"""The second at which a heavy task is put."""


def starts_among_light_ones(bench: Bench, *, light: int, **terms: Any) -> tuple[float, float]:
    """Return when a task of 1,000 units starts, and when the next one does. The light ones that
    come are nine tenths of the load that the limit lets pass."""
    bench.handle("ask", 2, weight="tokens", **terms)
    arrive(bench, every=0.22, weight=light)
    bench.beside(lambda: bench.put("ask", 1_000, weight=1_000), at=HEAVY_PUT)
    bench.run(window=30, in_flight=50, linger=9)
    (heavy,) = (at for at, weight in bench.begun if weight == 1_000)
    return heavy, min(at for at, _ in bench.begun if at > heavy)


def test_a_heavy_task_is_started_by_a_rate_when_its_turn_comes_and_then_paid_for(bench):
    for _ in range(30):  # these use what the others leave: no tokens are saved up
        bench.put("ask", 200, weight=200)
    heavy, after = starts_among_light_ones(bench, light=200, rate_limit=Rate(1_000, of="tokens"))
    assert heavy <= HEAVY_PUT + 1
    assert heavy + 0.9 <= after <= heavy + 1.1  # for its weight divided by the rate


def test_a_heavy_task_keeps_the_room_that_gets_free_though_newer_light_ones_keep_coming(bench):
    heavy, _ = starts_among_light_ones(bench, light=400, units_in_flight=4_000)
    assert heavy <= HEAVY_PUT + 2.1  # what was at work then has ended


@pytest.mark.parametrize("deadline", [1.0, LONGEST], ids=["shed", "cancelled"])
def test_a_task_that_is_waited_for_and_goes_away_lets_the_others_start(bench, deadline):
    bench.handle("ask", 5, weight="tokens", units_in_flight=10)
    bench.put("ask", "first", weight=6)
    bench.beside(lambda: bench.put("ask", "heavy", weight=9, task_id="h", deadline=deadline), at=1)
    bench.beside(lambda: bench.put("ask", "light", weight=2, deadline=LONGEST), at=1.5)
    if deadline == LONGEST:
        bench.beside(lambda: bench.queue.cancel("h"), at=1.6)
    bench.run(window=20, linger=3)
    began = {payload: at for at, payload in bench.begun}
    assert began.keys() == {"first", "light"}
    assert began["light"] <= (2.6 if deadline == 1.0 else 5.6)  # the first has ended by then


def test_a_task_above_the_whole_limit_fails_with_a_sentence_and_can_be_redriven(bench):
    bench.handle("ask", weight="tokens", rate_limit=Rate(600, per="minute", of="tokens"))
    too_heavy, others = bench.put("ask", weight=601), bench.put_many("ask", 3)
    bench.run()
    assert bench.statuses(others) == {"SUCCESS": 3}
    task = bench.task(too_heavy)
    assert (task.status, task.attempts) == (Status.FAILURE, 1)
    assert task.error.message == (
        "weighs 601 tokens, and task type 'ask' starts none above 600; put smaller ones, or raise "
        "the limit and redrive"
    )


def test_the_true_weight_is_taken_from_the_rate_and_from_the_units_at_work(bench):
    begun = []

    def work(payload: int, context: Any) -> None:
        begun.append(bench.seconds)
        context.weighed(payload)
        bench.sleep(0.5)

    bench.registry.task("ask", weight="tokens", rate_limit=Rate(100, of="tokens"))(work)
    for truly in (1, 500, 100):  # the newest first: 100, 500, 1
        bench.put("ask", truly, weight=100)
    bench.run(linger=0.1)
    first, second, third = begun
    assert second - first < 0.2  # as after any task of a second's worth, a token later
    assert third - second == pytest.approx(5, abs=0.2)


def test_each_task_of_a_batch_weighs_its_own_and_says_its_own_truth(bench):
    calls = []

    def work(payloads: list[int], contexts: list[Any]) -> list[None]:
        calls.append((bench.seconds, payloads))
        bench.sleep(2)
        for context in contexts:
            context.weighed(10)
        bench.sleep(3)
        return [None for _ in payloads]

    terms = {"weight": "rows", "units_in_flight": 100, "batch": 5}
    bench.registry.task("load", **terms)(work)
    for weight in (30, 50, 40, 101):  # the newest first: one that is too heavy
        bench.put("load", weight, weight=weight)
    report = bench.run(linger=0.1)
    assert [payloads for _, payloads in calls] == [[40, 50], [30]]
    (first, _), (second, _) = calls
    assert second - first == pytest.approx(2, abs=0.1)  # when the truth is known
    assert (report.succeeded, report.failed) == (3, 1)


def test_a_type_without_weight_has_no_true_weight_to_tell(bench):
    told = []

    def work(_payload: Any, context: Any) -> None:
        try:
            context.weighed(5)
        except TypeError as error:
            told.append(str(error))

    bench.registry.task("plain", rate_limit=Rate(60, per="minute"))(work)
    bench.put("plain", weight=9)
    bench.run()
    assert told == ["weighed() is for task types with weight: give weight, and a limit"]


@pytest.mark.parametrize("workers", [0, 3])
def test_after_a_quiet_time_a_burst_starts_at_once_and_then_the_rate_holds(bench, workers):
    bench.handle("ask", rate_limit=Rate(600, per="minute", burst=100))
    bench.beside(lambda: bench.put_many("ask", 300), at=15)
    if workers:
        fleet(bench, workers)
        bench.sleep(30)
        bench.scheduler.close()
    else:
        bench.run(window=30, in_flight=50, linger=20)
    starts = [(at, 1) for at, _ in bench.begun]
    assert 100 <= busiest(starts, 3) <= 131
    assert 145 <= busiest(starts, 10) <= 201


@pytest.mark.parametrize("burst", [0, 0.5, True, "10", 2_000_000])
def test_a_burst_is_a_number_from_one_on(bench, burst):
    with pytest.raises(InvalidInput, match=r"rate_limit.burst=.* must be a number from 1 to"):
        bench.handle("ask", rate_limit=Rate(60, per="minute", burst=burst))


def test_several_rates_of_the_same_unit_are_refused_beside_shared_limits(bench):
    bench.handle("ask", rate_limit=(5, Rate(60, per="minute")))
    with pytest.raises(InvalidInput, match=r"ask.rate_limit=.* has several rates of tasks"):
        bench.processor(shared_limits=True)


# Over all workers


def fleet(bench: Bench, workers: int) -> None:
    """Begin so many workers, each with slots for all that the limits let pass."""
    for _ in range(workers):
        machine = bench.new_machine()
        processor = bench.processor(
            machine, in_flight=50, shared_limits=True, window=300, linger=30
        )
        machine.spawn(processor.run, "run")


def test_units_at_work_over_all_workers_are_never_more_than_the_limit_and_nearly_as_many():
    bench, inside = Bench(), [0]

    def work(payload: int, _context: Any) -> None:
        inside.append(inside[-1] + payload)
        bench.sleep(3 + payload / 1_000)
        inside.append(inside[-1] - payload)
        bench.begun.append((bench.seconds, payload))

    bench.registry.task("ask", weight="tokens", units_in_flight=2_000)(work)
    for weight in (200, 700, 1_100, 1_900):
        arrive(bench, every=0.7, weight=weight)
    fleet(bench, 3)
    bench.sleep(90)
    bench.scheduler.close()
    assert max(inside) == 2_000
    # 31,000 with one worker; a heavy task's worker waits for what the others give back.
    assert sum(weight for _, weight in bench.begun) >= 23_000
    assert {weight for _, weight in bench.begun} == {200, 700, 1_100, 1_900}  # none is passed over


@pytest.mark.parametrize("seconds", [65, pytest.param(120, marks=pytest.mark.prove)])
def test_a_rate_in_units_holds_over_all_workers_and_heavy_tasks_owe_no_more_than_one_worker_would(
    seconds,
):
    bench = Bench()
    tokens = Rate(60_000, per="minute", of="tokens")
    bench.handle("ask", 1, weight="tokens", rate_limit=(Rate(900, per="minute"), tokens))
    for weight, every in ((200, 0.3), (1_000, 1.0), (15_000, 10.0)):
        arrive(bench, every=every, weight=weight)
    fleet(bench, 3)
    bench.sleep(seconds)
    bench.scheduler.close()
    # A second's worth may have been spared. A sixth of the minute's, or the heaviest, may be owed.
    assert 55_000 <= busiest(bench.begun, 60) <= 60_000 + 1_000 + 15_000
    assert sum(weight for _, weight in bench.begun) >= 0.9 * seconds * 1_000
    assert {weight for _, weight in bench.begun} == {200, 1_000, 15_000}


def test_what_a_heavy_task_owes_is_paid_though_its_worker_has_ended():
    bench = Bench()
    bench.handle("ask", weight="tokens", rate_limit=Rate(6_000, per="minute", of="tokens"))
    bench.put("ask", 3_000, weight=3_000)
    bench.run(shared_limits=True)
    bench.put("ask", 1)
    bench.processor(bench.new_machine(), shared_limits=True, window=60).run()
    heavy, light = (at for at, _ in bench.begun)
    assert light - heavy == pytest.approx(29, abs=1)  # one second's worth was spared
