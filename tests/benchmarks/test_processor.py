"""The processor's contender does the same to the same tasks."""

import random

import pytest

from benchmarks.processor.contenders import bare_loop, captured, nothing, settings, work_off
from benchmarks.processor.ground import ground
from benchmarks.processor.split import call_costs, time_split
from benchmarks.ratios import ratio
from lab.virtual import START, VirtualHost
from lifoq import NewTask, Processor, Queue, Registry, Status
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store

TASKS = 12


@pytest.fixture(scope="module")
def here():
    with ground() as found:
        yield found


def statuses(here, task_ids):
    return {here.queue.get(task_id).status for task_id in task_ids}


def test_the_bare_loop_claims_and_settles_each_task(here):
    writes = captured(here)
    task_ids = here.fill(TASKS)
    bare_loop(here, writes, task_ids, threads=4)
    assert statuses(here, task_ids) == {Status.SUCCESS}
    assert {here.queue.get(task_id).attempts for task_id in task_ids} == {1}


def test_the_processor_works_off_as_many(here):
    task_ids = here.fill(TASKS)
    with here.spending() as spent:
        report = work_off(here, in_flight=4)
    assert report.succeeded == TASKS
    assert statuses(here, task_ids) == {Status.SUCCESS}
    assert spent.seconds > spent.client_cpu > 0


def test_every_part_of_a_tasks_time_is_told(here):
    parts = {row["part"]: row for row in time_split(here, tasks=TASKS, in_flight=4)}
    assert {"query", "claim", "handler", "settle"} <= set(parts)
    assert parts["claim"]["times_per_task"] == parts["settle"]["times_per_task"] == 1
    calls = call_costs(here, captured(here), tasks=TASKS)
    assert [row["call"] for row in calls] == ["claim", "settle", "claim", "settle", "look at ten"]


def test_a_ratio_is_of_the_same_repeat_and_the_median_counts():
    def run(contender, speed):
        return {"contender": contender, "tasks_per_second": speed, "client_cpu_ms_per_task": 1.0}

    runs = [run("ours", 50), run("bare", 100), run("ours", 190), run("bare", 200)]
    runs += [run("bare", 100), run("ours", 80)]
    found = ratio(runs, ours="ours", bare="bare", goal=0.8)
    assert (found["ratio_min"], found["ratio"], found["ratio_max"]) == (0.5, 0.8, 0.95)
    assert found["goal_met"]


class SlowTable(MemoryTable):
    """Each call takes some 5 ms of virtual time, no two the same."""

    def __init__(self) -> None:
        super().__init__()
        self.host = VirtualHost()
        self.host.end = START + microseconds(3_600)
        self._draw = random.Random("latency")

    def query(self, *arguments, **terms):
        self._answer_late()
        return super().query(*arguments, **terms)

    def update_and_get(self, task_id, change):
        self._answer_late()
        return super().update_and_get(task_id, change)

    def _answer_late(self):
        self.host.sleep(self._draw.uniform(0.003, 0.007))


@pytest.mark.parametrize("in_flight", [1, 4, 10, 32])
def test_a_run_takes_little_longer_than_its_calls(in_flight: int):
    table, registry, tasks = SlowTable(), Registry(), 10 * in_flight
    queue = Queue(Store(table, host=table.host), host=table.host)
    queue.put_many([NewTask(task_type="empty") for _ in range(tasks)])
    registry.task("empty")(nothing)
    began = table.host.now()
    report = Processor(queue.store, registry, settings(in_flight), host=table.host).run()
    seconds = (table.host.now() - began) / MICROSECONDS
    assert report.succeeded == tasks
    assert seconds < 10 * (0.005 + 0.005) / 0.7  # a claim and a settle each, beside one another
