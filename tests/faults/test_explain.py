"""Why does my task wait? Each situation, told in one sentence by what lies in the table; where a
worker meets it, in virtual time."""

from dataclasses import asdict, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from lifoq import InvalidInput, NewTask, Queue, TaskError
from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.client import explaining
from lifoq.client.cells import Cells
from lifoq.client.connection import SharedLimits
from lifoq.client.explanation import Explanation
from lifoq.health import pause_note, sweep_note, worker_notes
from lifoq.health.pressure import NOTE
from lifoq.health.worker_notes import MOST_TELLING, Hold
from lifoq.items import key_slots
from lifoq.items.change import Change
from lifoq.items.quota_table import NONE, Amount, Renewal, SharedLimit, quota_table_id
from lifoq.items.schema import Attribute
from lifoq.store.memory_table import MemoryTable
from lifoq.store.quota_tables import QuotaTables
from lifoq.store.store import Store
from lifoq.testing import plugin
from lifoq.testing.hosts import START, ManualHost
from tests.conftest import on_dynamodb_too
from tests.virtual.bench import Bench


def pause(queue: Queue, *, passing: bool = False) -> None:
    note = pause_note.PauseNote(
        by="lifoq pause", who="ada@laptop", at=queue.store.now(), passing=passing
    )
    told = {Attribute.PAYLOAD: jsontext.encode(asdict(note), "note")}
    queue.store.table.update(pause_note.ITEM, Change(when=(), creates=True, set=told))


AT_WORK = {
    # What is told of the task that came first: the names of its reasons, what ends the worst, the
    # type's terms, the number of tasks, their terms, and the worker's settings.
    "the worker is at its limit: 2 of 2 at work": ("slots", None, {}, 3, {}, {"in_flight": 2}),
    "the worker starts 0.1 tasks per second, and no more": (
        *("rate order", None, {}, 9, {}, {"rate_limit": 0.1}),
    ),
    "task type a is at its limit: 1 of 1 at work": ("slots", None, {"in_flight": 1}, 2, {}, {}),
    "its key k is busy: task machine-1.2 of the same key is at work": (
        *("key_slots", "the end of task machine-1.2", {"per_key": 1}, 2, {"key": "k"}, {}),
    ),
    "its key k is busy: tasks machine-1.2 and machine-1.3 of the same key are at work": (
        *("key_slots", "the end of one of them", {"per_key": 2}, 3, {"key": "k"}, {}),
    ),
    "a task of its key k has just started, and the type limits how often they may": (
        *("key_rate", "16 s at the most", {"rate_per_key": 0.05}, 3, {"key": "k"}, {}),
    ),
    "its batch of 5 is not full yet; it waits 50 s at the most": (
        *("batch order", None, {"batch": 5, "batch_wait": 50}, 8, {}, {}),
    ),
}


def test_what_a_worker_holds_back_is_told_by_what_it_noted(subtests):
    for says, (names, ends, terms, number, of_task, settings) in AT_WORK.items():
        with subtests.test(says):
            bench, found = Bench(1), list[Explanation]()
            if "batch" in terms:
                bench.registry.task("a", **terms)(lambda payloads, _contexts: payloads)
            else:
                bench.handle("a", 40, **terms)
            first, *_ = [bench.put("a", n, **of_task) for n in range(number)]
            bench.beside(lambda b=bench, t=first, f=found: f.append(b.queue.explain(t)), at=25)
            bench.run(**settings)
            bench.scheduler.close()
            worst = found[0].reasons[0]
            assert [one.name for one in found[0].reasons] == names.split()
            assert (worst.says, worst.ends) == (says, ends)
            seen = "" if worst.seen_by is None else f" (as worker {worst.seen_by} saw it 5 s ago)"
            assert bool(seen) is (ends is None), "a worker tells what the table does not"
            assert found[0].summary == f"It has waited for 25 s: {says}{seen}."


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


NO_WORKER = "no worker is at work, as far as the table tells: no worker has told of itself yet"
WORKER = worker_notes.made_here(worker="w1", since=1, slots=2, at=START, ended=False)


@pytest.fixture
def queue(store: Store, host: ManualHost) -> Queue:
    return Queue(store, host=host)


def a_worker_tells(queue: Queue, *, worker: str = "w1", **more: Any) -> None:
    before = worker_notes.of(queue.store.table.get(NOTE))
    told = replace(WORKER, worker=worker, at=queue.store.now(), place="laptop, process 7", **more)
    note = {Attribute.CHECKPOINT: worker_notes.encoded(told, before=before)}
    queue.store.table.update(NOTE, Change(when=(), creates=True, set=note))


def told_of(queue: Queue, task_id: str | None = None, **of: str) -> list[tuple[str, str]]:
    """The reasons with their names, the worst first."""
    return [(one.name, one.says) for one in queue.explain(task_id, **of).reasons]


@on_dynamodb_too
def test_the_table_itself_tells_why_a_task_waits_the_worst_first(queue, host):
    queue.put("a", task_id="t", key="k")
    host.advance(12)

    def told() -> str:
        return queue.explain("t").summary.removeprefix("It has waited for 12 s: ")

    assert told() == f"{NO_WORKER}."
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
    assert queue.explain(task_type="c") == Explanation(
        task_type="c", summary="No task of type c waits."
    )
    sweep_note.write(queue.store, sweep_note.Note(unknown_types=("a",), unknown_waiting=1))
    assert told() == "no worker has a handler for task type a."
    pause(queue)
    assert told() == "the queue is paused, by lifoq pause (ada@laptop)."
    assert [one.name for one in queue.explain("t").reasons] == ["paused", "unknown_type", "order"]


def test_each_reason_that_the_table_tells_says_what_ends_it(queue):
    for n in range(2):
        queue.put("a", task_id=f"t{n}")
    unknown = tuple("abcd")
    sweep_note.write(queue.store, sweep_note.Note(unknown_types=unknown, unknown_waiting=2))
    pause(queue, passing=True)
    now, deploy = queue.store.now(), "a deployment of a worker that has one"
    of_queue = [
        ("paused", now, "the end of what paused it"),
        ("no_worker", None, "a worker that starts"),
    ]
    of_type, order = ("unknown_type", None, deploy), "their starts, or their deadlines"
    for told, expected in (
        (queue.explain("t0"), [*of_queue, of_type, ("order", None, order)]),
        (queue.explain(task_type="a"), [*of_queue, of_type]),
        (queue.explain(), [*of_queue, *[of_type] * explaining.TYPES_NAMED]),
    ):
        assert [(one.name, one.since, one.ends) for one in told.reasons] == expected
    assert queue.explain("t0").reasons[3].says == (
        "1 newer task stands before it, and the newest come first"
    )
    pause(queue)
    assert queue.explain().reasons[0].ends == "lifoq resume"


def test_tasks_are_counted_up_to_a_bound_and_the_sentence_says_so(queue, host, monkeypatch):
    monkeypatch.setattr(explaining, "MOST_COUNTED", 3)
    queue.put("b", task_id="oldest")
    queue.put_many([NewTask(task_type="a", task_id=f"t{n}") for n in range(4)])
    host.advance(2)
    a_worker_tells(queue)
    known = "nothing is known to hold it back, and a worker starts it within seconds."
    assert queue.explain().summary == f"at least 3 tasks wait, the oldest for 2 s: {known}"
    assert queue.explain(task_type="c").summary == "No task of type c waits among the 3 newest."
    assert queue.explain(task_type="a") == Explanation(
        task_type="a", summary=f"at least 3 tasks of type a wait, the oldest for 2 s: {known}"
    )
    assert queue.explain(task_type="b").summary == (
        f"tasks of type b behind the 3 newest wait, the oldest for 2 s: {known}"
    )
    assert queue.explain("oldest").reasons[0].says == (
        "at least 3 newer tasks stand before it, and the newest come first"
    )


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
        task = queue.get(task_id)
        assert queue.explain(task_id) == Explanation(
            task_id=task_id,
            task_type=task and task.task_type,
            status=task and task.status,
            summary=told,
        )
    damaged = (
        "Its item cannot be read as a task: attempts is str, but must be of type N. A "
        "worker puts it into FAILURE."
    )
    assert queue.explain("damaged") == Explanation(task_id="damaged", summary=damaged)
    host.advance(26)
    assert queue.explain("at work").summary == (
        "It has been at work for 30 s, in attempt 1, on worker w1 (laptop, process 7), but its "
        "lease ended 0 ms ago: the worker is lost, and the sweep brings the task back."
    )
    host.advance(60)
    assert queue.explain("delayed").summary == (
        "It was delayed until 2027-01-15T08:01:40Z: a worker or the sweep lets it in at once."
    )


def test_what_an_item_lacks_is_left_out_of_its_sentence(queue, past):
    for task_id in ("at work", "failed", "delayed", "tried"):
        queue.put("a", task_id=task_id, delay=9 if task_id == "delayed" else None)
    failed = queue.store.claim("failed", claim_id="w2:c", lease=9)
    queue.store.fail(failed, TaskError(type="E", message="no."))
    queue.store.claim("at work", claim_id="w2:c", lease=9)
    tried = queue.store.claim("tried", claim_id="w2:c", lease=9)
    queue.store.retry(tried, TaskError(type="E", message="no."), delay=9)
    a_worker_tells(queue)
    again = "It runs again only if it is redriven."
    at_work = (
        "It has been at work for 0 ms, in attempt 1, on worker w2; its lease lasts for 9 s more."
    )
    for told, task_id, *without in (
        (at_work, "at work"),
        (
            "It has been at work, in attempt 1, on a worker.",
            "at work",
            "takenAt",
            "leaseExpires",
            "claimId",
        ),
        (f"It failed 0 ms ago, in attempt 1: E: no. {again}", "failed"),
        (f"It failed, in attempt 1: no error is known. {again}", "failed", "finishedAt", "error"),
        ("It is delayed until 2027-01-15T08:00:09Z, for 9 s more.", "delayed", "dueAt"),
        ("It is delayed until 2027-01-15T08:00:09Z, for 9 s more.", "tried", "error"),
    ):
        item = queue.store.table.get(task_id)
        past.write({name: value for name, value in item.items() if name not in without})
        assert queue.explain(task_id).summary == told


def test_a_worker_that_is_silent_for_90_seconds_counts_no_more(queue, host):
    queue.put("a", task_id="t")
    silent = "no worker is at work, as far as the table tells: "
    for ended, seconds, told in (
        (False, 89, []),
        (False, 90, ["no worker has told of itself for 1 min 30 s"]),
        (True, 89, ["the latest worker ended 1 min 29 s ago"]),
        (True, 90, ["no worker has told of itself for 1 min 30 s"]),
    ):
        a_worker_tells(queue, ended=ended)
        at = queue.store.now()
        host.advance(seconds)
        found = queue.explain("t").reasons
        assert [(one.name, one.says) for one in found] == [
            ("no_worker", f"{silent}{each}") for each in told
        ]
        assert [one.since for one in found] == [at for _ in told]
    queue.put("a", task_id="newer")
    queue.store.claim("newer", claim_id="w1:c", lease=30)
    assert told_of(queue, "t") == [], "somebody works on the other"


def test_the_latest_worker_tells_what_holds_tasks_back_each_gate_once(queue, host):
    queue.put("a", task_id="t", key="k")
    hold = partial(Hold, since=1)
    late, full = hold(gate="slots", says="it was full"), hold(gate="slots", says="it is full")
    a_worker_tells(queue, worker="w2", held=(late, hold(gate="rate", says="it starts few")))
    host.advance(1)
    others = [
        hold(gate="slots", task_type="b", says="b is full"),
        hold(gate="batch", task_type="a", key="other", says="the other's batch is not full"),
    ]
    a_worker_tells(queue, held=(full, *others))
    (of_b, of_other), of_all = [(one.gate, one.says) for one in others], ("slots", "it is full")
    rate = ("rate", "it starts few")
    assert told_of(queue, "t") == [of_all, rate]
    assert told_of(queue, task_type="a") == [of_all, of_other, rate]
    assert told_of(queue) == [of_all, of_b, of_other, rate]
    told = queue.explain("t").reasons[1]
    assert (told.since, told.seen_by, told.seen_at) == (1, "w2", START)
    host.advance(89)
    assert told_of(queue, "t") == [of_all], "a note is of lately for 90 s"


def test_the_slots_of_a_key_tell_who_is_at_work_as_far_as_they_are_read(queue, past):
    for name in ("t", "first", "second", "ended", "beyond"):
        queue.put("a", task_id=name, key="k")
    queue.put("a", task_id="newest", key="None")
    queue.put("a", task_id="of no key")
    now = queue.store.now()
    slots = [("first", 0), ("second", explaining.SLOTS_READ - 1), ("beyond", explaining.SLOTS_READ)]
    for name, number in slots:
        queue.store.claim(name, claim_id="w1:c", lease=9)
        slot = key_slots.slot_id("a", "k", number)
        past.write(key_slots.held(slot, task_id=name, claim_id="w1:c", now=now))
    queue.store.claim("ended", claim_id="w1:c2", lease=9)
    for number, more in ((3, {"heldBy": "ended"}), (4, {}), (5, {"heldBy": "t"})):
        slot = key_slots.slot_id("a", "k", number)
        past.write({"taskId": slot, "claimId": "w1:c", "ttl": 1, **more})
    told = "its key k is busy: tasks first and second of the same key are at work"
    found = queue.explain("t").reasons[0]
    assert (found.says, found.ends, found.since) == (told, "the end of one of them", now)
    assert "key_slots" not in dict(told_of(queue, "of no key"))


def test_a_start_of_the_key_holds_tasks_back_until_the_next_is_allowed(queue, past):
    queue.put("a", task_id="t", key="k")
    a_worker_tells(queue)
    slot, now = key_slots.slot_id("a", "k", 0), queue.store.now()
    for interval, told in ((0, ["1 s at the most"]), (-1, [])):
        started = key_slots.started(slot, now=now, interval=microseconds(interval))
        past.write({**started, "takenAt": now - 1})
        found = queue.explain("t").reasons
        assert [(one.name, one.ends, one.since) for one in found] == [
            ("key_rate", ends, now - 1) for ends in told
        ]


def test_an_item_keeps_the_reasons_of_few_workers_and_a_release_before_reads_it():
    hold = Hold(gate="slots", says="it is full", since=1)
    notes = [replace(WORKER, worker=f"w{n}", at=START + n, held=(hold,)) for n in range(9)]
    text = worker_notes.encoded(notes[8], before=notes[:8])
    found = worker_notes.of({Attribute.CHECKPOINT: text})
    assert [bool(note.held) for note in found] == [True] * MOST_TELLING + [False] * 4
    assert found[0] == notes[8]


def test_cells_are_explained_together_and_two_questions_at_once_are_refused(host):
    one, other = (Queue(Store(MemoryTable(), host=host), host=host) for _ in range(2))
    one.store.table.name, other.store.table.name = "one", "other"
    cells = Cells([one, other])
    put = cells.put("b")
    assert cells.explain(put.task_id).task_id == put.task_id
    one.put("a", task_id="t")
    known = f"1 task of type a waits, the oldest for 0 ms: {NO_WORKER}."
    for found, told in (
        (cells.explain(task_type="a"), f"one: {known}"),
        (Cells([one]).explain(task_type="a"), known),
        (cells.explain(task_type="c"), "No task of type c waits."),
    ):
        assert (found.summary, bool(found.reasons)) == (told, known in told)
    other.put("a", task_id="t")
    both = cells.explain(task_type="a")
    assert (both.task_type, both.summary) == ("a", f"one: {known} other: {known}")
    assert [reason.says for reason in both.reasons] == [NO_WORKER] * 2
    for client in (one, Cells([one])):
        with pytest.raises(InvalidInput, match="leave one out"):
            client.explain("t", task_type="a")


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


def test_a_limit_over_all_workers_that_is_used_up_is_told(store, host, past):
    limits = SharedLimits(total_in_flight=2, rate_limit=None)
    queue = Queue(store, host=host, shared_limits=limits)
    queue.put("a", task_id="t")
    a_worker_tells(queue)
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
    of_type, of_units = SharedLimit(in_flight=3), SharedLimit(in_flight=1_000, unit="tokens")
    short, tight = partial(replace, renewal, insists=True), "is at its limit over all workers:"

    def told() -> list[tuple[str, str]]:
        return told_of(queue, "t")

    tables.take("", SharedLimit(in_flight=2), renewal)
    tables.take("a", of_type, replace(renewal, wants=Amount(1, 0)))
    of_queue = ("quota", f"the queue {tight} 2 of 2 places are held by 1 worker")
    assert told() == told_of(queue) == [of_queue], "nobody wants more of the type's"
    assert queue.explain("t").reasons[0].ends == "the end of one of their tasks"
    tables.take("a", of_type, replace(renewal, number=2, wants=Amount(2, 0)))
    tables.take("a", of_type, short(worker="w2", wants=Amount(3, 0)))
    first = ("quota", f"task type a {tight} 3 of 3 places are held by 2 workers")
    tables.take("a", of_units, replace(renewal, wants=Amount(1_000, 0)))
    assert told() == [of_queue, first], "all units are in use, and nobody wants more"
    tables.take("a", of_units, short(worker="w2", wants=Amount(50, 0)))
    units = ("unit_quota", f"task type a {tight} 1,000 of 1,000 tokens are held by 1 worker")
    assert told() == [of_queue, first, units]
    assert told_of(queue) == [of_queue], "of a type's limits its own tasks are told alone"
    assert told_of(Queue(store, host=host), "t") == [], "its workers share no limits"
    host.advance(5)
    assert told() == [of_queue, first, units], "a quota lasts for 5 s"
    host.advance(0.1)
    assert told() == [of_queue], "nobody is known to want more"
    host.advance(60)
    a_worker_tells(queue)
    assert told() == [], "the leases are over"


@pytest.mark.parametrize(("most", "told"), [(None, "2"), (2, "2 of 2")])
def test_a_limit_whose_table_keeps_no_terms_is_told_as_far_as_it_is_known(
    store, host, past, most, told
):
    limits = SharedLimits(total_in_flight=most, rate_limit=1)
    queue = Queue(store, host=host, shared_limits=limits)
    queue.put("a", task_id="t")
    a_worker_tells(queue)
    table = {"tokens": 0, "counted": 0, "quotas": {"w1": [2, 0, 3, 0, store.now(), 1, 1]}}
    for limit in ("", "a"):
        item = {"claimId": "v", "payload": jsontext.encode(table, "table")}
        past.write({"taskId": quota_table_id(limit), **item})
    used, by = "is at its limit over all workers:", "places are held by 1 worker"
    assert [says for _, says in told_of(queue, "t")] == [
        f"the queue {used} {told} {by}",
        f"task type a {used} 2 {by}",
    ]
