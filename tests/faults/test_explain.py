"""Why does my task wait? Each situation, told in one sentence by what lies in the table; where a
worker meets it, in virtual time."""

from dataclasses import asdict, replace
from functools import partial
from types import SimpleNamespace

import pytest

from lifoq import InvalidInput, NewTask, Queue, TaskError
from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.client.cells import Cells
from lifoq.client.connection import SharedLimits
from lifoq.client.explanation import Explanation
from lifoq.health import pause_note, sweep_note, worker_notes
from lifoq.health.pressure import NOTE
from lifoq.health.worker_notes import MOST_TELLING, Hold
from lifoq.items.change import Change
from lifoq.items.quota_table import NONE, Amount, Renewal, SharedLimit
from lifoq.items.schema import Attribute
from lifoq.store.memory_table import MemoryTable
from lifoq.store.quota_tables import QuotaTables
from lifoq.store.store import Store
from lifoq.testing import plugin
from lifoq.testing.hosts import START, ManualHost
from tests.conftest import on_dynamodb_too
from tests.virtual.bench import Bench


def pause(queue: Queue) -> None:
    note = pause_note.PauseNote(by="lifoq pause", who="ada@laptop", at=queue.store.now())
    told = {Attribute.PAYLOAD: jsontext.encode(asdict(note), "note")}
    queue.store.table.update(pause_note.ITEM, Change(when=(), creates=True, set=told))


AT_WORK = [
    # The name of the worst reason, the type's terms, the number of tasks, their terms, the worker's
    # settings, and what is told of the task that came first.
    ("slots", {}, 3, {}, {"in_flight": 2}, "the worker is at its limit: 2 of 2 at work"),
    ("rate", {}, 9, {}, {"rate_limit": 0.1}, "the worker starts 0.1 tasks per second"),
    ("slots", {"in_flight": 1}, 2, {}, {}, "task type a is at its limit: 1 of 1 at work"),
    ("key_slots", {"per_key": 1}, 2, {"key": "k"}, {}, "its key k is busy: task machine-1.2 of"),
    ("key_slots", {"per_key": 2}, 3, {"key": "k"}, {}, "tasks machine-1.2 and machine-1.3 of"),
    ("key_rate", {"rate_per_key": 0.05}, 3, {"key": "k"}, {}, "a task of its key k has just start"),
    ("batch", {"batch": 5, "batch_wait": 50}, 8, {}, {}, "its batch of 5 is not full yet"),
]


def test_what_a_worker_holds_back_is_told_by_what_it_noted(subtests):
    for name, terms, number, of_task, settings, told in AT_WORK:
        with subtests.test(told):
            bench, found = Bench(1), list[Explanation]()
            if "batch" in terms:
                bench.registry.task("a", **terms)(lambda payloads, _contexts: payloads)
            else:
                bench.handle("a", 40, **terms)
            first, *_ = [bench.put("a", n, **of_task) for n in range(number)]
            bench.beside(lambda b=bench, t=first, f=found: f.append(b.queue.explain(t)), at=25)
            bench.run(**settings)
            bench.scheduler.close()
            assert found[0].reasons[0].name == name, found
            assert told in found[0].summary
            assert found[0].summary.startswith("It has waited for 25 s: ")


def test_two_reasons_at_a_time_are_both_told_the_worst_first(bench):
    bench.handle("a", 40, per_key=1)
    first, *_ = [bench.put("a", n, key="k") for n in range(2)]
    found: list[Explanation] = []
    bench.beside(lambda: found.append(bench.queue.explain(first)), at=25)
    bench.beside(lambda: pause(bench.queue), at=24)
    bench.run(in_flight=1)
    assert [one.name for one in found[0].reasons] == ["paused", "key_slots", "slots"]
    assert "the queue is paused, by lifoq pause (ada@laptop)" in found[0].summary
    assert [one.seen_by is None for one in found[0].reasons] == [True, True, False]


def test_a_reason_keeps_its_beginning_from_note_to_note_and_costs_no_call_more(bench):
    bench.handle("a", 30, in_flight=1)
    first, *_ = [bench.put("a", n) for n in range(6)]
    found: list[Explanation] = []
    for at in (25, 65, 110):
        bench.beside(lambda: found.append(bench.queue.explain(first)), at=at)
    bench.run(window=200)
    told = [one.reasons[0] for one in found]
    assert [one.name for one in told] == ["slots"] * 3
    assert len({one.since for one in told}) == 1
    assert told[0].seen_at < told[1].seen_at < told[2].seen_at


WORKER = worker_notes.made_here(worker="w1", since=1, slots=2, at=START, ended=False)


@pytest.fixture
def queue(store: Store, host: ManualHost) -> Queue:
    return Queue(store, host=host)


def a_worker_tells(queue: Queue, *, ended: bool = False) -> None:
    told = replace(WORKER, at=queue.store.now(), place="laptop, process 7", ended=ended)
    note = {Attribute.CHECKPOINT: worker_notes.encoded(told, before=())}
    queue.store.table.update(NOTE, Change(when=(), creates=True, set=note))


@on_dynamodb_too
def test_the_table_itself_tells_why_a_task_waits_the_worst_first(queue, host):
    queue.put("a", task_id="t", key="k")
    host.advance(12)

    def told() -> str:
        return queue.explain("t").summary.removeprefix("It has waited for 12 s: ")

    assert told() == (
        "no worker is at work, as far as the table tells: no worker has told of itself yet."
    )
    a_worker_tells(queue, ended=True)
    assert told().endswith(": the latest worker ended 0 ms ago.")
    a_worker_tells(queue)
    assert told() == "nothing is known to hold it back, and a worker starts it within seconds."
    queue.put_many([NewTask(task_type="b", task_id=f"b{n}") for n in range(3)])
    assert told() == "3 newer tasks stand before it, and the newest come first."
    assert queue.explain().summary.startswith("4 tasks wait, the oldest for 12 s: nothing")
    assert queue.explain(task_type="a").summary.startswith("1 task of type a waits, the oldest")
    assert queue.explain(task_type="c").summary == "No task of type c waits."
    queue.store.claim("b0", claim_id="w1:c", lease=30)
    sweep_note.write(queue.store, sweep_note.Note(unknown_types=("a",), unknown_waiting=1))
    assert told() == "no worker has a handler for task type a."
    pause(queue)
    assert told() == "the queue is paused, by lifoq pause (ada@laptop)."
    assert [one.name for one in queue.explain("t").reasons] == ["paused", "unknown_type", "order"]


@on_dynamodb_too
def test_what_does_not_wait_tells_what_became_of_it(queue, host, past):
    for name in ("done", "failed", "cancelled", "at work", "expired", "damaged"):
        queue.put("a", task_id=name, deadline=10 if name == "expired" else None)
    queue.put("a", task_id="delayed", delay=100)
    queue.put("a", task_id="tried")
    a_worker_tells(queue)
    claim = partial(queue.store.claim, claim_id="w1:c", lease=30)
    queue.store.succeed(claim("done"), "1")
    error = TaskError(type="ValueError", message="boom")
    queue.store.fail(claim("failed"), error)
    queue.store.retry(claim("tried"), error, delay=100)
    queue.cancel("cancelled")
    host.advance(10)
    claim("at work")
    past.write({**queue.store.table.get("damaged"), "attempts": "many"})
    host.advance(4)
    for task_id, told in {
        "done": "It is done: it succeeded 14 s ago, in attempt 1.",
        "failed": "It failed 14 s ago, in attempt 1: ValueError: boom. It runs again only if it is "
        "redriven.",
        "cancelled": "It was cancelled 14 s ago.",
        "at work": "It has been at work for 4 s, in attempt 1, on worker w1 (laptop, process 7); "
        "its lease lasts for 26 s more.",
        "expired": "It was shed: its deadline passed 4 s ago, and nobody starts it any more. It is "
        "deleted soon.",
        "delayed": "It is delayed until 2027-01-15T08:01:40Z, for 1 min 26 s more.",
        "tried": "It is delayed until 2027-01-15T08:01:40Z, for 1 min 26 s more, for its next "
        "attempt, since attempt 1 failed: ValueError: boom.",
        "nobody": "There is no such task: it was never put, was shed and deleted, or its retention "
        "is over.",
    }.items():
        found = queue.explain(task_id)
        assert (found.summary, found.reasons) == (told, ())
    assert queue.explain("damaged").summary.startswith("Its item cannot be read as a task: attemp")
    host.advance(100)
    assert "its lease ended 1 min 14 s ago: the worker is lost" in queue.explain("at work").summary
    assert "a worker or the sweep lets it in at once" in queue.explain("delayed").summary


def test_an_item_keeps_the_reasons_of_few_workers_and_a_release_before_reads_it():
    hold = Hold(gate="slots", says="it is full", since=1)
    notes = [replace(WORKER, worker=f"w{n}", at=START + n, held=(hold,)) for n in range(9)]
    text = worker_notes.encoded(notes[8], before=notes[:8])
    found = worker_notes.of({Attribute.CHECKPOINT: text})
    assert [bool(note.held) for note in found] == [True] * MOST_TELLING + [False] * 4
    assert found[0] == notes[8]


def test_cells_are_explained_together_and_two_questions_at_once_are_refused():
    one, other = Queue.in_memory(), Queue.in_memory()
    one.store.table.name, other.store.table.name = "one", "other"
    cells = Cells([one, other])
    put = cells.put("a")
    assert cells.explain(put.task_id).task_id == put.task_id
    assert cells.explain(task_type="a").summary.count("1 task of type a waits") == 1
    assert cells.explain(task_type="b").summary == "No task of type b waits."
    with pytest.raises(InvalidInput, match="leave one out"):
        one.explain("t", task_type="a")


def test_a_failing_test_tells_why_tasks_did_not_run(lifoq_queue, lifoq_run):
    lifoq_queue.put("no.such", task_id="t")
    lifoq_queue.put("no.such", task_id="later", delay=60)
    assert lifoq_run.why("t") == "It waits for the next run."
    lifoq_run()
    assert lifoq_run.why("t") == "It waits: the worker has no handler for task type no.such."
    item = SimpleNamespace(funcargs={"lifoq_run": lifoq_run})
    for failed in (False, True):
        report = SimpleNamespace(when="call", failed=failed, sections=[])
        hook = plugin.pytest_runtest_makereport(item)
        next(hook)
        with pytest.raises(StopIteration):
            hook.send(SimpleNamespace(get_result=lambda report=report: report))
        told = [text for _, text in report.sections]
        assert bool(told) is failed
    assert told[0].splitlines()[0] == f"t: {lifoq_run.why('t')}"
    assert told[0].splitlines()[1].startswith("later: It is delayed until ")


def test_a_limit_over_all_workers_that_is_used_up_is_told(host):
    queue = Queue(
        Store(MemoryTable(), host=host),
        host=host,
        shared_limits=SharedLimits(total_in_flight=2, rate_limit=None),
    )
    queue.put("a", task_id="t")
    renewal = Renewal(
        worker="w1",
        number=1,
        keeps=NONE,
        wants=Amount(2, 0),
        insists=False,
        returns=0.0,
        lease=microseconds(30),
        renew=True,
    )
    tables = QuotaTables(queue.store, host=host)
    tables.take("", SharedLimit(in_flight=2), renewal)
    tables.take("a", SharedLimit(in_flight=3), replace(renewal, wants=Amount(1, 0)))
    a_worker_tells(queue)
    assert [one.says for one in queue.explain("t").reasons] == [
        "the queue is at its limit over all workers: 2 of 2 places are held by 1 worker"
    ]
    tables.take("a", SharedLimit(in_flight=3), replace(renewal, number=2, wants=Amount(3, 0)))
    tables.take("a", SharedLimit(in_flight=3), replace(renewal, worker="w2", insists=True))
    assert [one.says for one in queue.explain("t").reasons][1:] == [
        "task type a is at its limit over all workers: 3 of 3 places are held by 1 worker"
    ]
