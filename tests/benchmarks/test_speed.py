"""Who is compared with the bare calls does the same to the same tasks."""

import random

import pytest

from benchmarks.bare import NAME, compared, ground
from benchmarks.processor.__main__ import nothing, race
from benchmarks.producer.__main__ import Producer
from lab.virtual import START, VirtualHost
from lifoq import NewTask, Processor, Queue, Registry, WorkerSettings
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store


def items(here):
    return here.client.scan(TableName=NAME)["Items"]


def test_both_work_off_each_task_and_put_the_same_items():
    with ground() as here:
        race(here, 4, tasks=12, repeats=2)
        ended = items(here)
        assert len(ended) == 1 + 4 * 12
        assert {(one["taskStatus"]["S"], one["attempts"]["N"]) for one in ended} == {
            ("SUCCESS", "1")
        }
        producer = Producer(here)
        for bare in (producer.bare_puts, producer.bare_batches):
            before = len(items(here))
            bare(25)
            assert len(items(here)) == before + 25
        waiting = [one for one in items(here) if one["taskStatus"]["S"] == "PENDING"]
        assert len({frozenset(one) for one in waiting}) == 1


def test_a_ratio_is_of_the_same_repeat_and_the_median_counts():
    ours, bare = [(50, 1.0), (190, 2.0), (80, 1.0)], [(100, 1.0), (200, 1.0), (100, 1.0)]
    found = compared("it", ours, bare)
    assert (found.least, found.ratio, found.most) == (0.5, 0.8, 0.95)


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
def test_a_run_takes_little_longer_than_its_calls(in_flight):
    table, registry, tasks = SlowTable(), Registry(), 10 * in_flight
    queue = Queue(Store(table, host=table.host), host=table.host)
    queue.put_many([NewTask(task_type="empty") for _ in range(tasks)])
    registry.task("empty")(nothing)
    settings = WorkerSettings(in_flight=in_flight, linger=0)
    began = table.host.now()
    report = Processor(queue.store, registry, settings, host=table.host).run()
    seconds = (table.host.now() - began) / MICROSECONDS
    assert report.succeeded == tasks
    assert seconds < 10 * (0.005 + 0.005) / 0.7  # a claim and a settle each, beside one another
