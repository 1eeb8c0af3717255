"""Who is at work on a queue, as its table tells."""

import random
import re
from os import getpid
from socket import gethostname

import pytest

from lifoq import Queue, Registry, WorkerSettings
from lifoq.health import pressure, worker_notes
from lifoq.health.pressure import NOTE
from lifoq.health.worker_notes import Hold
from lifoq.items.schema import Attribute
from lifoq.operating import workers
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


def test_a_worker_on_lambda_tells_its_function_and_elsewhere_its_host_and_process(monkeypatch):
    terms = {"worker": "w", "since": 1, "slots": 2, "at": 3, "ended": False}
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    assert worker_notes.made_here(**terms).place == f"{gethostname()}, process {getpid()}"
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "process-tasks")
    assert worker_notes.made_here(**terms).place == "process-tasks"


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
    host.advance(2_600)  # an hour in all
    assert [note.worker for note in worker_notes.of(second.noted(told, ended=False))] == [
        second.name
    ]


def test_workers_are_those_with_tasks_and_those_that_told_lately(monkeypatch):
    host = ManualHost()
    queue = Queue.in_memory(host=host)
    for number in range(4):
        queue.put("a", task_id=f"t{number}")
    for task_id, worker in (("t0", "w"), ("t3", "w"), ("t1", "w"), ("t2", "v")):
        queue.store.claim(task_id, claim_id=f"{worker}:1", lease=30)
        host.advance(1)
    idle, gone = (
        worker_notes.made_here(worker=name, since=1, slots=1, at=host.now(), ended=name == "gone")
        for name in ("idle", "gone")
    )
    told = {Attribute.CHECKPOINT: worker_notes.encoded(idle, before=[gone])}
    starts = pressure.Starts(seconds=1, number=1, wait=None)
    pressure.note(queue.store, starts, host=host, also=lambda _: told)
    found = find_workers(queue)
    assert [(one.name, [task.task_id for task in one.tasks], one.note) for one in found.found] == [
        ("w", ["t0", "t3", "t1"], None),
        ("v", ["t2"], None),
        ("idle", [], idle),
    ]
    assert (found.read, found.more) == (4, False)
    monkeypatch.setattr(workers, "READ", 2)
    assert (find_workers(queue).read, find_workers(queue).more) == (2, True)


def test_workers_tell_by_their_latest_notes_and_the_others_that_they_are_there():
    hold = Hold(gate="g", says="it waits", since=1)
    told = None
    for number in range(7):
        own = worker_notes.made_here(
            worker=f"w{number}", since=1, slots=1, at=9 + number, ended=number == 6, held=(hold,)
        )
        told = {Attribute.CHECKPOINT: worker_notes.encoded(own, before=worker_notes.of(told))}
    notes = worker_notes.of(told)
    assert [note.worker for note in notes] == [f"w{number}" for number in (6, 5, 4, 3, 2, 1, 0)]
    assert [note.held for note in notes] == [(hold,)] * 5 + [()] * 2
    assert [note.is_at_work(now=20) for note in notes] == [False, *[True] * 6]
    assert not notes[1].is_at_work(now=notes[1].at + 90_000_000)


LONG = "x" * 101


@pytest.mark.parametrize(
    ("task_type", "key", "concerned"),
    [
        ("", None, [("a", None), ("b", None), ("a", "k"), (LONG, LONG)]),
        ("a", None, [("a", None), ("a", "k")]),
        ("", "k", [("a", "k")]),
        ("b", "k", []),
        ("a", "", [("a", None)]),
        (worker_notes.cut(LONG), worker_notes.cut(LONG), [(LONG, LONG)]),
    ],
)
def test_a_gate_concerns_the_tasks_of_its_type_and_its_key(task_type, key, concerned):
    hold = Hold(gate="g", task_type=task_type, key=key, says="it waits", since=1)
    tasks = [("a", None), ("b", None), ("a", "k"), (LONG, LONG)]
    assert [one for one in tasks if hold.concerns(*one)] == concerned


def test_a_long_text_of_a_note_is_cut_and_one_that_fits_is_not():
    assert worker_notes.cut(LONG[1:]) == LONG[1:]
    assert worker_notes.cut(LONG) == "x" * 99 + "…"


def test_an_item_that_cannot_be_read_names_no_worker():
    queue = Queue.in_memory()
    for text in ("{", "1", "[1]", '[{"worker": "w", "of_later": 1}]'):
        assert worker_notes.of({Attribute.CHECKPOINT: text}) == []
    assert worker_notes.of(queue.store.table.get(NOTE)) == []
    assert [worker_notes.worker_of(one) for one in (None, "c", ":c", "w:c")] == [None] * 3 + ["w"]
