"""The sweep."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial

import pytest

from lifoq import Lifetimes, NewTask, Registry, Status, Sweeper, SweepReport
from lifoq.basics.clock import CLOCK_TOLERANCE
from lifoq.basics.host import microseconds
from lifoq.errors import QueueMisconfigured, StoreUnavailable
from lifoq.health import sweep_note as notes
from lifoq.health.statistics import QueueStats, measure
from lifoq.health.sweep_note import Note
from lifoq.items.change import Change
from lifoq.items.schema import DUE_INDEX, Attribute
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq.worker.known_types import Types

ONLY_A = Types(only=frozenset({"a"}))


@pytest.fixture
def new_sweeper(store: Store, host: ManualHost) -> Callable[..., Sweeper]:
    def create(store: Store = store, **terms) -> Sweeper:
        registry = Registry()
        registry.task("tried once", max_attempts=1)(lambda _, __: None)
        return Sweeper(store, registry, max_attempts=3, host=host, **terms)

    return create


@pytest.fixture
def sweeper(new_sweeper: Callable[..., Sweeper]) -> Sweeper:
    return new_sweeper()


def strand(store: Store, task_id: str, *, lease: float = 30, task_type: str = "a"):
    store.put(NewTask(task_type=task_type, task_id=task_id))
    store.claim(task_id, claim_id=f"claim of {task_id}", lease=lease)


def test_tasks_of_types_that_no_worker_has_call_for_no_processor_and_are_noted_when_they_change(
    store, new_sweeper, host, monkeypatch
):
    types = Types(only=frozenset({"a", "b"}), elsewhere=frozenset({"b", "long"}))
    sweeper = new_sweeper(types=types)
    for task_type in ("new", "new", "newer", "b", "long"):
        store.put(NewTask(task_type=task_type, task_id=f"{task_type} {host.new_id()}"))
    report = sweeper.run()
    assert (report.unknown, report.needs_processor) == ({"new": 2, "newer": 1}, False)
    assert measure(store, now=store.now()).unknown_types == ("new", "newer")
    assert notes.read(store).known_types == ("a", "b", "long")
    with monkeypatch.context() as patch:
        patch.setattr(store.table, "update", None)  # the types are noted
        assert sweeper.run().unknown == {"new": 2, "newer": 1}
    store.put(NewTask(task_type="new"))
    assert sweeper.run().stats.unknown_waiting == 4
    assert measure(store, now=store.now()).unknown_waiting == 4
    store.put(NewTask(task_type="a", task_id="a"))
    assert sweeper.run().needs_processor
    store.cancel("a")
    host.advance(3_601)
    assert sweeper.run().unknown == {}
    assert measure(store, now=store.now()).unknown_types == ()


def test_a_note_names_twenty_unknown_types_and_a_hundred_known_ones_at_the_most(store, new_sweeper):
    for n in range(21):
        store.put(NewTask(task_type=f"new {n:02}"))
    for known, named in ((100, 100), (101, 0)):
        types = Types(only=frozenset(f"known {n}" for n in range(known)))
        stats, note = new_sweeper(types=types).run().stats, notes.read(store)
        assert len(note.known_types) == named
        assert (len(stats.unknown_types), stats.unknown_waiting) == (20, 21)
        assert note.unknown_types == stats.unknown_types


def test_while_nothing_waits_a_sweep_looks_for_no_unknown_types(store, new_sweeper, monkeypatch):
    query, asked = store.table.query, []
    monkeypatch.setattr(store.table, "query", lambda *a, **b: asked.append(a) or query(*a, **b))
    new_sweeper().run()
    of_one_that_knows_all_types = len(asked)
    asked.clear()
    new_sweeper(types=ONLY_A).run()
    assert len(asked) == of_one_that_knows_all_types


def test_a_task_of_its_own_is_seen_among_others_that_come_while_the_sweep_counts(
    store, new_sweeper, host, monkeypatch
):
    def arriving(store: Store, *, now: int, note: Note) -> QueueStats:
        stats = measure(store, now=now, note=note)
        store.put_many([NewTask(task_type="new")] * 3)
        return stats

    monkeypatch.setattr("lifoq.worker.sweep.sweep.measure", arriving)
    store.put(NewTask(task_type="a"))
    assert new_sweeper(types=ONLY_A).run().needs_processor


def test_many_damaged_types_do_not_hold_up_a_sweep(store, new_sweeper, host, past, monkeypatch):
    for task_id in ("t", "u"):
        item = store.new_item(NewTask(task_type="a", task_id=task_id))
        past.write({**item, "taskType": None})
    dead_letter = store.dead_letter
    monkeypatch.setattr(
        store, "dead_letter", lambda *a, **k: host.advance(60) or dead_letter(*a, **k)
    )
    sweeper = new_sweeper(types=ONLY_A, time_budget=60)
    reports = [sweeper.run() for _ in range(3)]
    assert [report.dead_lettered for report in reports] == [1, 1, 0]
    assert [report.stats.failure.value for report in reports] == [0, 1, 2]


def test_whoever_waits_calls_for_a_processor(store, sweeper, host):
    assert SweepReport(promoted=1, runnable=False).needs_processor  # no index shows it yet
    assert not sweeper.run().needs_processor
    store.put(NewTask(task_type="a", delay=60))
    assert not sweeper.run().needs_processor
    host.advance(61)
    report = sweeper.run()
    assert (report.promoted, report.needs_processor) == (1, True)
    host.advance(3602)
    assert not sweeper.run().needs_processor
    store.put(NewTask(task_type="a"))
    assert sweeper.run().needs_processor


def test_a_sweep_goes_through_all_that_is_over_or_due_or_damaged_page_by_page_and_counts_it(
    store, new_sweeper, host, past, monkeypatch, caplog
):
    monkeypatch.setattr("lifoq.worker.sweep.sweep.PAGE", 2)
    for n in range(5):
        store.put(NewTask(task_type="a", task_id=f"due-{n}", delay=1))
        strand(store, f"lost-{n}")
    past.write({**store.table.get("due-0"), "expiresAt": "never"})
    lost = store.table.get("lost-0")
    past.write({name: value for name, value in lost.items() if name != "leaseExpires"})
    lost = store.table.get("lost-3")
    past.write({name: value for name, value in lost.items() if name != "claimId"})
    past.write({**store.table.get("lost-4"), "attempts": 3})
    strand(store, "lost-5", task_type="tried once")
    strand(store, "lost-6")
    store.cancel("lost-2")
    host.advance(31)
    report = new_sweeper(time_budget=60).run()
    assert (report.leases_expired, report.failed, report.cancelled) == (5, 2, 1)
    assert (report.promoted, report.dead_lettered, report.finished) == (4, 3, True)
    failed = {"due-0", "lost-0", "lost-3", "lost-4", "lost-5"}
    assert {row[0] for row in store.browse(Status.FAILURE)} == failed
    assert len(list(store.browse(Status.PENDING))) == 6
    assert caplog.text.count("lost its worker and is") == 5
    assert caplog.text.count("is damaged and went to FAILURE") == 3
    assert "due-0 is damaged and went to FAILURE: expiresAt" in caplog.text


def test_what_another_sweep_has_ended_first_is_neither_counted_nor_told(
    store, new_sweeper, host, past, monkeypatch, caplog
):
    for task_id in ("lost", "damaged"):
        strand(store, task_id)
    past.write({**store.table.get("damaged"), "attempts": "many"})
    host.advance(31)
    read = store.taken(limit=10, start=None)
    assert new_sweeper().run().leases_expired == 1
    told = caplog.text
    monkeypatch.setattr(store, "taken", lambda **_: read)
    report = new_sweeper().run()
    assert (report.leases_expired, report.dead_lettered, caplog.text) == (0, 0, told)


def test_where_the_database_failed_the_next_sweep_goes_on(store, sweeper, monkeypatch):
    monkeypatch.setattr("lifoq.worker.sweep.sweep.PAGE", 1)
    for n in range(3):
        strand(store, f"t{n}")
    read, places = store.taken, []

    def failing(*, limit, start):
        places.append(start)
        return unavailable() if len(places) == 2 else read(limit=limit, start=start)

    monkeypatch.setattr(store, "taken", failing)
    with pytest.raises(StoreUnavailable):
        sweeper.run()
    sweeper.run()
    assert places[1] == places[2] is not None


def test_tasks_that_a_sweep_has_ended_call_for_no_processor_and_those_that_it_revived_do():
    for revived, counts in (
        (True, {"promoted": 1}),
        (True, {"leases_expired": 2, "failed": 1}),
        (True, {"promoted": 1, "leases_expired": 1, "cancelled": 1}),
        (False, {"leases_expired": 3, "failed": 2, "cancelled": 1}),
    ):
        assert SweepReport(**counts, runnable=False).needs_processor is revived
    assert SweepReport().needs_processor


def test_a_sweep_that_is_out_of_time_says_so_and_the_next_goes_on(
    store, new_sweeper, host, monkeypatch
):
    monkeypatch.setattr("lifoq.worker.sweep.sweep.PAGE", 10)

    for name in ("taken", "reclaim"):
        slow = partial(lambda call, *a, **k: host.advance(1) or call(*a, **k), getattr(store, name))
        monkeypatch.setattr(store, name, slow)
    for n in range(10):
        strand(store, f"lives-{n}", lease=600)
    for n in range(25):
        strand(store, f"t{n:02}")
    host.advance(31)
    sweeper = new_sweeper(time_budget=9)
    report = sweeper.run()
    assert (report.finished, report.leases_expired) == (False, 10)
    assert (report.stats.taken.value, report.needs_processor) == (25, True)
    assert sweeper.run().leases_expired == 10
    host.advance(600)
    report = sweeper.run()
    assert (report.finished, report.leases_expired) == (False, 15), "from the beginning, too"
    report = sweeper.run()
    assert (report.finished, report.leases_expired) == (True, 0)


@pytest.mark.parametrize("status", ["TAKEN", "PENDING"])
def test_a_sweep_goes_on_behind_damaged_places_though_its_clock_is_set_back(
    store, sweeper, host, monkeypatch, status
):
    monkeypatch.setattr("lifoq.worker.sweep.sweep.PAGE", 1)
    monkeypatch.setattr("lifoq.worker.sweep.sweep.REACH_PAGES", 1)
    for n in range(25):
        place = Decimal(host.now() - 3_700_000_000 + n) + Decimal("0.5")
        damaged = {"taskId": f"t{n}", "taskStatus": status, "taskCreated": place}
        store.table.put({**damaged, "expiresAt": host.now() + 10**9})
    for _ in range(4):
        sweeper.run()
        host.advance(-30)
    failed = dict(store.browse(Status.FAILURE))
    assert len(failed) == 25


@pytest.mark.parametrize(
    ("ahead", "status"),
    [
        (86_400 + CLOCK_TOLERANCE, Status.TAKEN),
        (86_400 + CLOCK_TOLERANCE + 0.000_001, Status.FAILURE),
        (10**9, Status.FAILURE),
    ],
)
def test_a_lease_further_ahead_than_any_workers_is_damage(store, sweeper, host, ahead, status):
    strand(store, "t")
    lease = {Attribute.LEASE_EXPIRES: host.now() + microseconds(ahead)}
    store.table.update("t", Change(when=(), set=lease))
    sweeper.run()
    task = store.get("t")
    assert task.status is status
    told = f"leaseExpires lies {ahead:.0f} s ahead, further than any worker's lease"
    assert task.error is None or told in task.error.message


def test_a_lease_that_ends_in_this_microsecond_still_holds(store, sweeper, host):
    strand(store, "t", lease=30)
    host.advance(30)
    assert sweeper.run().leases_expired == 0
    host.advance(0.000_001)
    assert sweeper.run().leases_expired == 1


def test_behind_many_expired_tasks_a_sweep_looks_five_pages_far_for_one_out_of_reach(
    store, sweeper, host, monkeypatch
):
    monkeypatch.setattr("lifoq.worker.sweep.sweep.PAGE", 1)
    for n in range(60):
        item = {"taskId": f"t{n}", "taskStatus": "PENDING", "expiresAt": host.now() - 1}
        store.table.put({**item, "taskCreated": host.now() - 4_000_000_000 - n})
    beyond = {"taskId": "beyond", "taskStatus": "PENDING", "expiresAt": host.now() + 10**9}
    store.table.put({**beyond, "taskCreated": host.now() - 5_000_000_000})
    assert [sweeper.run().dead_lettered for _ in range(2)] == [0, 1]


@pytest.mark.parametrize(
    "lifetimes", [Lifetimes(shed_at_deadline=True), Lifetimes(task_tokens=True)]
)
def test_what_waited_beyond_its_deadline_is_shed_where_somebody_waits_to_be_told(
    store, new_sweeper, host, lifetimes
):
    telling = Store(store.table, lifetimes=lifetimes, host=host)
    sweeper = new_sweeper(telling)
    token = "token" if lifetimes.task_tokens else None
    for number in range(3):
        name = f"expired {number}"
        telling.put(NewTask(task_type="a", task_id=name, deadline=10, task_token=token))
    telling.put(NewTask(task_type="a", task_id="alive", deadline=60, task_token=token))
    host.advance(10.001)
    report = sweeper.run()
    assert (report.shed, report.dead_lettered) == (3, 0)
    assert telling.get("expired 0") is None
    assert telling.get("alive").status is Status.PENDING
    shed = ((telling.now(), 3),)
    host.advance(1)
    assert sweeper.run().shed == 0
    assert notes.read(telling).shed == shed
    assert measure(telling, now=telling.now()).shed_lately.value == 3  # though they are gone
    host.advance(300)
    sweeper.run()
    assert notes.read(telling).shed == ((telling.now(), 1),)


@pytest.fixture
def three_overdue(store: Store, host: ManualHost) -> Store:
    telling = Store(store.table, lifetimes=Lifetimes(shed_at_deadline=True), host=host)
    for number in range(3):
        telling.put(NewTask(task_type="a", task_id=f"{number}", deadline=10))
    host.advance(11)
    return telling


def shed_lately(store: Store) -> int:
    return measure(store, now=store.now()).shed_lately.value


def test_a_sweep_whose_time_is_up_tells_what_it_shed_and_measures(
    three_overdue, new_sweeper, host, monkeypatch
):
    shed = three_overdue.shed
    monkeypatch.setattr("lifoq.worker.sweep.sweep.PAGE", 2)
    monkeypatch.setattr(three_overdue, "shed", lambda task_id: host.advance(1) or shed(task_id))
    report = new_sweeper(three_overdue, time_budget=1.5).run()
    assert (report.finished, report.shed) == (False, 2)
    assert (report.stats.expired_present.value, report.stats.shed_lately.value) == (1, 3)
    assert shed_lately(three_overdue) == 3


def unavailable(*_, **__):
    raise StoreUnavailable("gone")


@pytest.mark.parametrize("call", ["out_of_reach", "count_live"])
def test_a_sweep_that_fails_tells_what_it_shed(three_overdue, new_sweeper, monkeypatch, call):
    monkeypatch.setattr(three_overdue, call, unavailable)
    with pytest.raises(StoreUnavailable):
        new_sweeper(three_overdue).run()
    monkeypatch.undo()
    assert shed_lately(three_overdue) == 3


@pytest.mark.parametrize("of_note", [StoreUnavailable("no note"), QueueMisconfigured("no note")])
def test_a_sweep_that_can_not_even_note_what_it_shed_tells_the_first_error(
    three_overdue, new_sweeper, monkeypatch, of_note
):
    def fails(*_):
        raise of_note

    monkeypatch.setattr(three_overdue, "out_of_reach", unavailable)
    monkeypatch.setattr(notes, "write", fails)
    with pytest.raises(StoreUnavailable, match="gone"):
        new_sweeper(three_overdue).run()


def test_what_a_sweep_shed_but_could_not_note_the_next_one_tells_once(
    three_overdue, new_sweeper, host, monkeypatch
):
    sweeper, write = new_sweeper(three_overdue), notes.write

    def written_unanswered(store, note):
        write(store, note)
        unavailable()

    for failing in (unavailable, written_unanswered):
        monkeypatch.setattr(notes, "write", failing)
        with pytest.raises(StoreUnavailable):
            sweeper.run()
        three_overdue.put(NewTask(task_type="a", deadline=10))
        host.advance(11)
    monkeypatch.undo()
    host.advance(60)
    assert (sweeper.run().shed, shed_lately(three_overdue)) == (1, 5)


def test_a_queue_that_tells_nobody_does_not_look_for_what_to_shed(
    store, sweeper, host, monkeypatch
):
    """It would cost a read each minute."""
    asked = []
    query = store.table.query
    monkeypatch.setattr(
        store.table, "query", lambda span, **how: asked.append(span) or query(span, **how)
    )
    store.put(NewTask(task_type="a", task_id="t", deadline=10))
    host.advance(10)
    sweeper.run()
    assert (DUE_INDEX, Status.PENDING) not in {(span.index, span.status) for span in asked}
    assert store.get("t") is not None
