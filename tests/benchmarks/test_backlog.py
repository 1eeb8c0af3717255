"""The queues that the backlog benchmark fills are what it says they are."""

import time

from benchmarks.backlog.__main__ import mountain, waiting
from benchmarks.backlog.queue import Layer
from lifoq.items.task import Task
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store


def filled(*layers: Layer) -> Store:
    table, now = MemoryTable(), time.time_ns() // 1_000
    for layer in layers:
        for number in range(layer.count):
            table.put(layer.item(number, now))
    return Store(table)


def test_what_waits_can_all_be_claimed():
    store = filled(waiting(40))

    found = store.candidates(limit=100)

    assert len(found.rows) == 40
    assert all(row.damage is None and row.expires_at > time.time() * 1e6 for row in found.rows)
    assert store.claim("live-0", claim_id="mine", lease=1).task_id == "live-0"


def test_what_waits_are_whole_tasks_the_youngest_first():
    now = time.time_ns() // 1_000
    tasks = [Task.from_item(waiting(3).item(number, now)) for number in range(3)]

    created = [task.task_created or 0 for task in tasks]
    assert created == sorted(created, reverse=True)


def test_the_mountain_is_all_expired_and_out_of_the_querys_range():
    store = filled(mountain(40), waiting(3))

    for newest_first in (True, False):
        page = store.candidates(limit=100, newest_first=newest_first)
        assert {row.task_id for row in page.rows} == {"live-0", "live-1", "live-2"}
