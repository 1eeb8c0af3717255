"""One task type over time, from tasks that were read."""

from lifoq import Queue, TaskError
from lifoq.testing.hosts import ManualHost
from lifoq_console.sample import sample
from lifoq_console.traffic import PARTS
from lifoq_console.type_history import type_history

HOUR = 3_600


def test_each_part_has_what_ended_then_and_how_long_it_waited_and_ran():
    host = ManualHost()
    queue = Queue.in_memory(host=host)
    for number in range(20):
        queue.put("a", task_id=f"t{number}")
    queue.put("a", task_id="waits", deadline=90)
    queue.put("b", task_id="other")
    host.advance(60)
    for number in range(20):
        host.advance(1)
        task = queue.store.claim(f"t{number}", claim_id="c", lease=HOUR)
        if number:
            host.advance(2)
            queue.store.succeed(task, "null")
        else:
            queue.store.fail(task, TaskError(type="E", message=""))
    host.advance(HOUR)
    found = type_history(sample(queue).tasks, "a", now=host.now(), step=HOUR)
    assert [len(found.starts), found.tasks, found.is_empty] == [PARTS, 21, False]
    assert {name: series[-2] for name, series in found.ended.items()} == {
        "done": 19,
        "failed": 1,
        "shed": 1,
    }
    assert {name: round(series[-2]) for name, series in found.waits.items()} == {
        "median": 86,
        "p95": 113,
    }
    assert {name: round(series[-2]) for name, series in found.runs.items()} == {
        "median": 2,
        "p95": 2,
    }
    assert all(value is None for value in found.ended["done"][:-2])
    assert type_history(sample(queue).tasks, "none", now=host.now(), step=HOUR).is_empty
