"""A processor outside Lambda, which works until it is stopped, in virtual time."""

from lifoq import RunReport, Status, StoreUnavailable
from lifoq.items.change import MOST_VALUES
from tests.virtual.bench import Bench

HOUR = 3_600.0


class Worker:
    """A processor that serves beside the test."""

    def __init__(self, bench: Bench, **settings: object) -> None:
        self._world = bench
        self.processor = bench.processor(**settings)
        self.report: RunReport | None = None
        self.error: Exception | None = None
        self.ended_at = 0.0
        self.told = 0
        bench.machine.spawn(self._serve, "worker")

    def _serve(self) -> None:
        try:
            self.report = self.processor.serve(on_progress=self._count)
        except Exception as error:  # noqa: BLE001 - the test asks for it
            self.error = error
        self.ended_at = self._world.seconds

    def _count(self, _report: RunReport) -> None:
        self.told += 1


def test_an_empty_queue_is_watched_for_as_long_as_it_takes(bench):
    bench.handle("a")
    worker = Worker(bench)
    bench.sleep(HOUR)
    task_id = bench.put("a")
    bench.sleep(2)
    assert bench.task(task_id).status is Status.SUCCESS
    assert bench.begun[0][0] - HOUR < 1.2
    bench.sleep(HOUR)
    assert worker.report is None
    assert worker.told > 2 * HOUR / 6


def test_a_task_of_two_hours_keeps_its_lease_to_its_end(bench):
    bench.handle("long", 2 * HOUR, timeout=3 * HOUR)
    Worker(bench, task_timeout=3 * HOUR)
    task_id = bench.put("long")
    bench.sleep(2 * HOUR + 5)
    task = bench.task(task_id)
    assert (task.status, task.attempts) == (Status.SUCCESS, 1)


def test_a_stop_lets_what_runs_finish_and_claims_nothing_more(bench):
    bench.handle("a", 10)
    worker = Worker(bench, in_flight=2)
    ids = bench.put_many("a", 5)
    bench.sleep(5)
    worker.processor.stop(grace=30)
    bench.sleep(20)
    assert worker.report is not None
    assert worker.report.succeeded == 2
    assert worker.report.remaining
    assert bench.statuses(ids) == {"SUCCESS": 2, "PENDING": 3}


def test_what_the_grace_does_not_suffice_for_is_handed_back_uncounted(bench):
    bench.handle("a", 2 * HOUR, timeout=3 * HOUR)
    worker = Worker(bench, task_timeout=3 * HOUR)
    task_id = bench.put("a")
    bench.sleep(60)
    worker.processor.stop(grace=30)
    bench.sleep(31)
    task = bench.task(task_id)
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert worker.report is not None
    assert worker.ended_at < 92


def test_a_stop_ends_in_time_though_what_is_handed_back_is_not_answered(bench):
    bench.handle("a", 2 * HOUR, timeout=3 * HOUR)
    worker = Worker(bench, task_timeout=3 * HOUR, lease=300, heartbeat=60, settle_time=2)
    bench.put("a")
    bench.sleep(1)
    bench.table.slow["PENDING"] = 1
    worker.processor.stop(grace=5.5)
    bench.sleep(12)
    assert 0 < worker.ended_at < 9


def test_a_worker_that_is_idle_stops_at_once(bench):
    bench.handle("a")
    worker = Worker(bench)
    bench.sleep(100)
    worker.processor.stop()
    bench.sleep(1)
    assert worker.report is not None


def test_a_stop_before_it_serves_is_not_lost(bench):
    bench.handle("a")
    processor = bench.processor()
    processor.stop()
    assert processor.serve().claimed == 0


def test_a_database_that_does_not_answer_for_an_hour_is_waited_for(bench):
    bench.handle("a")
    worker = Worker(bench)
    bench.sleep(10)
    bench.table.fails["look"] = StoreUnavailable("down, on purpose")
    bench.sleep(HOUR)
    bench.table.fails.clear()
    assert worker.error is None
    task_id = bench.put("a")
    bench.sleep(10)
    assert bench.task(task_id).status is Status.SUCCESS


# Types that others do


def test_a_worker_takes_the_tasks_of_types_that_it_knows_and_leaves_the_others(bench):
    bench.handle("mine")
    bench.put_many("another", 2_000)
    ids = bench.put_many("mine", 5)
    others = bench.put_many("another", 30)
    report = bench.run()
    assert (report.claimed, report.succeeded, report.remaining) == (5, 5, False)
    assert bench.statuses(ids) == {"SUCCESS": 5}
    assert bench.statuses(others) == {"PENDING": 30}


def test_a_task_of_an_unknown_type_runs_as_soon_as_a_worker_has_its_handler(bench):
    new = bench.put("new", delay=1)
    bench.sleep(2)
    bench.handle("old")
    bench.put("old")
    report = bench.run()
    assert (report.succeeded, report.failed, report.promoted) == (1, 0, 1)
    bench.handle("new")
    assert bench.run().succeeded == 1
    assert bench.statuses([new]) == {"SUCCESS": 1}


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
    unknown = bench.put("nobody's")
    bench.put("long", delay=0.5)
    report = processor.run()
    assert (report.succeeded, report.failed, report.remaining) == (3, 1, False)
    assert bench.statuses(long) == {"PENDING": 12}
    assert bench.statuses([*short, unknown]) == {"SUCCESS": 3, "FAILURE": 1}
    assert "deploy one and redrive" in str(bench.task(unknown).error)
