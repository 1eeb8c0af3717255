"""The worker that lifoq is compared with works, and its only fault is its page."""

import threading
from typing import Any

from benchmarks.freshness.barrier import PageBarrier
from lifoq import Context, NewTask, Queue, Registry, Status, WorkerSettings


def test_it_works_off_its_page_before_it_sees_what_is_newer() -> None:
    queue, registry, order = Queue.in_memory(), Registry(), []

    @registry.task("old")
    def old(payload: int, _context: Context) -> None:
        order.append(f"old {payload}")
        if len(order) == 1:
            queue.put("new")

    @registry.task("new")
    def new(_payload: Any, _context: Context) -> None:
        order.append("new")

    queue.put_many([NewTask(task_type="old", payload=number) for number in range(4)])
    settings = WorkerSettings(window=0.3, in_flight=1, page=3)
    PageBarrier(queue.store, registry, settings).run()

    assert order == ["old 3", "old 2", "old 1", "new", "old 0"]


def test_it_runs_as_many_at_a_time_as_lifoq_and_settles_all() -> None:
    queue, registry = Queue.in_memory(), Registry()
    together = threading.Barrier(3, timeout=5)

    @registry.task("old")
    def old(_payload: Any, _context: Context) -> None:
        together.wait()

    put = queue.put_many([NewTask(task_type="old")] * 6)
    PageBarrier(queue.store, registry, WorkerSettings(window=0.2, in_flight=3)).run()

    tasks = [queue.get(one.task.task_id) for one in put if one.task is not None]
    assert [task.status for task in tasks if task is not None] == [Status.SUCCESS] * 6
