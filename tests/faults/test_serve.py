"""A processor outside Lambda, which works until it is stopped, in virtual time."""

from functools import partial

import pytest

from lifoq import Processor, RunReport, Status, StoreUnavailable
from lifoq.items.change import MOST_VALUES
from tests.virtual.bench import Bench

HOUR = 3_600.0
in_prove = partial(pytest.param, marks=pytest.mark.prove)


def serving(bench: Bench, processor: Processor) -> list[RunReport]:
    """It serves beside the test; its report, once it has one."""
    reports: list[RunReport] = []
    bench.beside(lambda: reports.append(processor.serve()))
    return reports


@pytest.mark.parametrize("hours", [0.25, in_prove(1)])
def test_an_empty_queue_is_watched_for_as_long_as_it_takes(bench, hours):
    bench.handle("a")
    reports = serving(bench, bench.processor())
    bench.sleep(hours * HOUR)
    task_id = bench.put("a")
    bench.sleep(2)
    assert bench.task(task_id).status is Status.SUCCESS
    assert bench.begun[0][0] - hours * HOUR < 1.2
    assert not reports


@pytest.mark.parametrize("hours", [0.15, in_prove(2)])
def test_a_task_that_takes_many_leases_keeps_its_own_to_its_end(bench, hours):
    bench.handle("long", hours * HOUR, timeout=3 * HOUR)
    serving(bench, bench.processor(task_timeout=3 * HOUR))
    task_id = bench.put("long")
    bench.sleep(hours * HOUR + 5)
    task = bench.task(task_id)
    assert (task.status, task.attempts) == (Status.SUCCESS, 1)


def test_a_stop_lets_what_runs_finish_and_claims_nothing_more(bench):
    bench.handle("a", 10)
    processor = bench.processor(in_flight=2)
    reports = serving(bench, processor)
    ids = bench.put_many("a", 5)
    bench.sleep(5)
    processor.stop(grace=30)
    bench.sleep(20)
    assert [(report.succeeded, report.remaining) for report in reports] == [(2, True)]
    assert bench.statuses(ids) == {"SUCCESS": 2, "PENDING": 3}


def test_what_the_grace_does_not_suffice_for_is_handed_back_uncounted(bench):
    bench.handle("a", 2 * HOUR, timeout=3 * HOUR)
    processor = bench.processor(task_timeout=3 * HOUR)
    reports = serving(bench, processor)
    task_id = bench.put("a")
    bench.sleep(60)
    processor.stop(grace=30)
    bench.sleep(31)
    task = bench.task(task_id)
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert reports


def test_a_claim_that_is_granted_once_the_grace_is_over_is_handed_back_at_once(bench, monkeypatch):
    monkeypatch.setattr("tests.virtual.bench.SLOW", 3.0)
    bench.handle("a", 60)
    processor = bench.processor()
    reports = serving(bench, processor)
    bench.table.slow["claim"] = 1
    task_id = bench.put("a")
    bench.sleep(1)
    processor.stop(grace=1)
    bench.sleep(3)
    task = bench.task(task_id)
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert [report.claimed for report in reports] == [1]


def test_a_stop_before_it_serves_is_not_lost(bench):
    bench.handle("a")
    processor = bench.processor()
    processor.stop()
    assert processor.serve().claimed == 0


@pytest.mark.parametrize("hours", [0.1, in_prove(1)])
def test_a_database_that_does_not_answer_for_long_is_waited_for(bench, hours):
    bench.handle("a")
    serving(bench, bench.processor())
    bench.sleep(10)
    bench.table.fails["poll"] = StoreUnavailable("down, on purpose")
    bench.sleep(hours * HOUR)
    bench.table.fails.clear()
    task_id = bench.put("a")
    bench.sleep(10)
    assert bench.task(task_id).status is Status.SUCCESS


# Types that others do


def test_more_types_than_a_query_can_name_are_told_from_others_all_the_same(bench):
    for number in range(MOST_VALUES + 1):
        bench.handle(f"a{number}")
    others, own = bench.put_many("b", 30), bench.put_many("a7", 3)
    report = bench.run()
    assert (report.claimed, report.succeeded) == (3, 3)
    assert bench.statuses([*others, *own]) == {"PENDING": 30, "SUCCESS": 3}


def test_a_run_passes_over_types_that_are_done_elsewhere_and_fails_unknown_ones_where_asked_to(
    bench,
):
    bench.handle("short")
    bench.handle("long", timeout=3 * HOUR)
    processor = bench.processor(types_elsewhere=frozenset({"long"}), unknown_types="fail")
    long, short = bench.put_many("long", 12), bench.put_many("short", 3)
    unknown = bench.put("nobody's", max_attempts=5)
    bench.put("long", delay=0.5)
    report = processor.run()
    assert (report.succeeded, report.failed, report.remaining) == (3, 1, False)
    assert bench.statuses(long) == {"PENDING": 12}
    assert bench.statuses([*short, unknown]) == {"SUCCESS": 3, "FAILURE": 1}
    failed = bench.task(unknown)
    assert (failed.attempts, "deploy one and redrive" in str(failed.error)) == (1, True)
