"""A processor outside Lambda, which works until it is stopped, in virtual time."""

from collections.abc import Iterator

import pytest

from lifoq import ProcessUnusable, RunReport, Status, StoreUnavailable
from lifoq.tables.table import Page
from tests.faults.test_run import World

HOUR = 3_600.0


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.scheduler.close()


class Worker:
    """A processor that serves beside the test."""

    def __init__(self, world: World, **settings: object) -> None:
        self._world = world
        self.processor = world.processor(**settings)
        self.report: RunReport | None = None
        self.error: Exception | None = None
        self.ended_at = 0.0
        self.told = 0
        world.machine.spawn(self._serve, "worker")

    def _serve(self) -> None:
        try:
            self.report = self.processor.serve(on_progress=self._count)
        except Exception as error:  # noqa: BLE001 - the test asks for it
            self.error = error
        self.ended_at = self._world.seconds

    def _count(self, _report: RunReport) -> None:
        self.told += 1


def test_an_empty_queue_is_watched_for_as_long_as_it_takes(world: World):
    world.handle("a")
    worker = Worker(world)
    world.sleep(HOUR)
    task_id = world.put("a")
    world.sleep(2)
    assert world.queue.get(task_id).status is Status.SUCCESS
    assert world.begun[0][0] - HOUR < 1.2
    world.sleep(HOUR)
    assert worker.report is None
    assert worker.told > 2 * HOUR / 6


def test_a_task_of_two_hours_keeps_its_lease_to_its_end(world: World):
    world.handle("long", 2 * HOUR, timeout=3 * HOUR)
    Worker(world, task_timeout=3 * HOUR)
    task_id = world.put("long")
    world.sleep(2 * HOUR + 5)
    task = world.queue.get(task_id)
    assert (task.status, task.attempts) == (Status.SUCCESS, 1)


def test_a_stop_lets_what_runs_finish_and_claims_nothing_more(world: World):
    world.handle("a", 10)
    worker = Worker(world, in_flight=2)
    ids = world.put_many("a", 5)
    world.sleep(5)
    worker.processor.stop(grace=30)
    world.sleep(20)
    assert worker.report is not None
    assert worker.report.succeeded == 2
    assert worker.report.remaining
    assert world.statuses(ids) == {"SUCCESS": 2, "PENDING": 3}


def test_what_the_grace_does_not_suffice_for_is_handed_back_uncounted(world: World):
    world.handle("a", 2 * HOUR, timeout=3 * HOUR)
    worker = Worker(world, task_timeout=3 * HOUR)
    task_id = world.put("a")
    world.sleep(60)
    worker.processor.stop(grace=30)
    world.sleep(31)
    task = world.queue.get(task_id)
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert worker.report is not None
    assert worker.ended_at < 92


def test_a_worker_that_is_idle_stops_at_once(world: World):
    world.handle("a")
    worker = Worker(world)
    world.sleep(100)
    worker.processor.stop()
    world.sleep(1)
    assert worker.report is not None


def test_a_stop_before_it_serves_is_not_lost(world: World):
    world.handle("a")
    processor = world.processor()
    processor.stop()
    assert processor.serve().claimed == 0


def test_a_database_that_does_not_answer_for_an_hour_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    world.handle("a")
    worker = Worker(world)
    world.sleep(10)
    answered = world.table.query

    def refuse(*_arguments: object, **_terms: object) -> Page:
        raise StoreUnavailable("down, on purpose")

    with monkeypatch.context() as down:
        down.setattr(world.table, "query", refuse)
        world.sleep(HOUR)
    assert world.table.query == answered
    assert worker.error is None
    task_id = world.put("a")
    world.sleep(10)
    assert world.queue.get(task_id).status is Status.SUCCESS


# Types that others do


def test_a_worker_takes_the_tasks_of_types_that_it_knows_and_leaves_the_others(world: World):
    world.handle("mine")
    processor = world.processor(only_registered=True)
    world.put_many("another", 2_000)
    ids = world.put_many("mine", 5)
    others = world.put_many("another", 30)
    report = processor.run()
    assert (report.claimed, report.succeeded, report.remaining) == (5, 5, False)
    assert world.statuses(ids) == {"SUCCESS": 5}
    assert world.statuses(others) == {"PENDING": 30}


def test_a_run_passes_over_types_that_are_done_elsewhere_and_fails_what_nobody_knows(world: World):
    world.handle("short")
    world.handle("long", timeout=3 * HOUR)
    processor = world.processor(types_elsewhere=frozenset({"long"}))
    long, short = world.put_many("long", 12), world.put_many("short", 3)
    unknown = world.put("nobody's")
    world.put("long", delay=0.5)
    report = processor.run()
    assert (report.succeeded, report.failed, report.remaining) == (3, 1, False)
    assert world.statuses(long) == {"PENDING": 12}
    assert world.statuses([*short, unknown]) == {"SUCCESS": 3, "FAILURE": 1}


def test_a_process_full_of_handlers_that_hang_says_so(world: World):
    world.handle("hang", 24 * HOUR, timeout=10)
    worker = Worker(world, in_flight=1, task_timeout=10)
    world.put("hang")
    world.sleep(60)
    assert isinstance(worker.error, ProcessUnusable)
