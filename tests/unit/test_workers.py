"""Who is at work on a queue, as its table tells."""

import random
import re

from lifoq import Queue, Registry, WorkerSettings
from lifoq.health import worker_notes
from lifoq.health.pressure import NOTE
from lifoq.items.schema import Attribute
from lifoq.operating.workers import Workers, find_workers
from lifoq.testing.hosts import ManualHost
from lifoq.worker.process_state import ProcessState
from lifoq.worker.processor import Processor


def test_a_task_at_work_tells_whose_it_is_with_a_limit_of_its_key_and_without():
    queue, registry, seen = Queue.in_memory(), Registry(), list[Workers]()

    @registry.task("plain")
    @registry.task("keyed", per_key=1)
    def look(_payload: object, _context: object) -> None:
        seen.append(find_workers(queue))

    queue.put("plain", task_id="p")
    queue.put("keyed", task_id="k", key="d-17")
    Processor(queue.store, registry, WorkerSettings(in_flight=1)).run()
    names = {worker.name for found in seen for worker in found.found}
    tasks = [task.task_id for found in seen for worker in found.found for task in worker.tasks]
    assert (len(seen), len(names), sorted(tasks)) == (2, 1, ["k", "p"])
    assert all(re.fullmatch("[0-9a-f]{12}", name) for name in names)
    assert [found.unknown for found in seen] == [[], []]
    assert find_workers(queue).found == []


def test_a_workers_note_keeps_those_of_others_for_an_hour_and_takes_the_place_of_its_own():
    host = ManualHost()
    queue = Queue.in_memory(host=host)
    first, second = (
        ProcessState.of(queue.store, Registry(), WorkerSettings(), host=host, draw=random.Random(1))
        for _ in range(2)
    )
    told = first.noted(None, ended=False)
    host.advance(1_000)
    told = second.noted(told, ended=False)
    told = second.noted(told, ended=True)
    notes = {note.worker: note for note in worker_notes.of(told)}
    assert {name: note.ended for name, note in notes.items()} == {
        first.name: False,
        second.name: True,
    }
    assert not notes[first.name].is_at_work(host.now())
    host.advance(3_000)
    assert [note.worker for note in worker_notes.of(second.noted(told, ended=False))] == [
        second.name
    ]


def test_an_item_that_cannot_be_read_names_no_worker():
    queue = Queue.in_memory()
    for text in ("{", "1", "[1]", '[{"worker": "w", "of_later": 1}]'):
        assert worker_notes.of({Attribute.CHECKPOINT: text}) == []
    assert worker_notes.of(queue.store.table.get(NOTE)) == []
    assert [worker_notes.worker_of(one) for one in (None, "c", ":c", "w:c")] == [None] * 3 + ["w"]
