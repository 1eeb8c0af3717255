"""Several queues as one client: where an id lives, and that each call reaches its queue."""

import inspect
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import astuple, replace
from unittest import mock

import pytest

from lab import dynamodb_local
from lifoq import (
    Cells,
    Count,
    InvalidInput,
    NewTask,
    Queue,
    QueueMisconfigured,
    Status,
    StoreUnavailable,
    TaskError,
    Wanted,
    WrongStatus,
)
from lifoq.health import pressure
from lifoq.health.pressure import Starts
from lifoq.health.statistics import together
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq_cli.app import main
from tests.contract.conftest import NAMES, cells_named

CALLS = [name for name, call in vars(Queue).items() if inspect.isfunction(call) and name[0] != "_"]


# Where an id lives


def test_a_cell_that_is_added_takes_its_share_of_the_ids_and_moves_no_other_in_whichever_order():
    small, large = cells_named(NAMES), cells_named(("east", *reversed(NAMES)))
    shares: Counter[str] = Counter()
    for number in range(2_000):
        was, now = (each.home(f"order-{number}").store.table.name for each in (small, large))
        assert now in (was, "east")
        shares[now] += 1
    assert all(abs(share - 500) < 6 * 500**0.5 for share in shares.values())


def test_homes_are_the_same_in_every_release(cells):
    homes = [cells.home(f"d-{n}").store.table.name[0] for n in range(8)]
    assert "".join(homes) == "nwssnwsw"


def test_a_cell_is_the_same_by_its_tables_name_and_by_its_arn():
    arns = [f"arn:aws:dynamodb:eu-west-1:123456789012:table/{name}" for name in NAMES]
    by_name, by_arn = cells_named(NAMES), cells_named(arns)
    for n in range(100):
        name = by_name.home(f"t{n}").store.table.name
        assert by_arn.home(f"t{n}").store.table.name.endswith(f"/{name}")


@pytest.mark.parametrize("names", [(), ("same", "same")])
def test_no_cell_and_the_same_cell_twice_are_refused(names):
    with pytest.raises(InvalidInput, match="cells="):
        cells_named(names)


# The calls of a queue


@pytest.mark.parametrize("call", CALLS)
def test_each_call_takes_what_the_queues_own_takes(call):
    def terms(function):
        signature = inspect.signature(function)
        told = [
            (one.name, one.kind, one.annotation, inspect.isfunction(one.default) or one.default)
            for one in signature.parameters.values()
        ]
        return told, signature.return_annotation

    assert terms(getattr(Cells, call)) == terms(getattr(Queue, call))


def attempt(queue: Queue | Cells, task_id: str, *, fails: bool) -> None:
    home = queue.home(task_id) if isinstance(queue, Cells) else queue
    task = home.store.claim(task_id, claim_id=task_id, lease=30)
    if fails:
        home.store.fail(task, TaskError(type="ValueError", message="boom"))
    else:
        home.store.succeed(task, "7")


def listed(queue: Queue | Cells, status: Status) -> Iterator[str]:
    start = None
    while True:
        page = queue.search(Wanted(status=status), limit=5, start=start)
        assert len(page.tasks) <= 5
        yield from (task.task_id for task in page.tasks)
        start = page.next
        if start is None:
            return


def put_and_looked_at(queue: Queue | Cells, host: ManualHost) -> Iterator[object]:
    for n in range(12):
        yield queue.put("a" if n % 4 else "b", n, task_id=f"t{n}" if n % 3 else None)
        queue.put("a", task_id=f"later {n}", delay=100 - 2 * n)
        host.advance(1)
    yield queue.put("a", "again", task_id="t1")
    yield queue.get("t2")
    yield queue.peek(5)
    yield queue.peek(5, status=Status.DELAYED)
    yield list(listed(queue, Status.PENDING))
    yield list(listed(queue, Status.DELAYED))
    yield queue.stats()
    yield queue.stats(cap=1).pending.capped
    yield queue.waiting()


def ended_and_redriven(queue: Queue | Cells, host: ManualHost) -> Iterator[object]:
    attempt(queue, "t1", fails=False)
    yield queue.wait("t1", timeout=1)
    yield queue.delete("t1")
    yield queue.cancel("t2")
    yield {one.task_id: one.task for one in queue.wait_many(["t4", "t2"], timeout=0)}
    yield queue.run_now("later 3")
    for number in (4, 5, 7, 8, 10, 11):
        attempt(queue, f"t{number}", fails=True)
    yield queue.redrive("t5")
    yield queue.redrive_many(task_type="b", error_type="KeyError")
    yield queue.redrive_many(task_type="b", error_type="ValueError")
    yield queue.redrive_many(limit=2, per_second=4)
    yield host.slept
    yield queue.redrive_many()


def put_in_many_and_purged(queue: Queue | Cells, _: ManualHost) -> Iterator[object]:
    done: list[int] = []
    new = [NewTask(task_type="a", payload=n, task_id=f"m{n}" if n % 2 else None) for n in range(60)]
    outcomes = queue.put_many(new, on_progress=done.append)
    yield [(one.created, one.task.payload) for one in outcomes]
    yield done == sorted(done), done[-1]
    yield [queue.get(one.task.task_id) == one.task for one in outcomes]
    asked: list[Count] = []
    yield queue.purge(confirm=lambda waiting: bool(asked.append(waiting)))
    yield queue.purge(confirm=lambda waiting: asked.append(waiting) is None)
    yield asked
    yield queue.stats()


def pressed(queue: Queue | Cells, host: ManualHost) -> Iterator[object]:
    stores = [
        each.store for each in (queue.queues.values() if isinstance(queue, Cells) else [queue])
    ]
    yield queue.pressure()
    for store, number, wait in ((stores[0], 10, 4.0), (stores[-1], 30, 2.0)):
        pressure.note(store, Starts(seconds=20.0, number=number, wait=wait), host=host)
    queue.put_many([NewTask(task_type="a", deadline=10)] * 30)
    host.advance(12)
    yield tuple(round(each, 6) for each in astuple(queue.pressure()))


def test_cells_answer_each_call_as_one_queue_does(cells, host):
    alone = ManualHost()
    one = Queue(Store(MemoryTable(), host=alone), host=alone)
    for calls in (pressed, put_and_looked_at, ended_and_redriven, put_in_many_and_purged):
        for answer, expected in zip(calls(cells, host), calls(one, alone), strict=True):
            assert answer == expected
    assert all(queue.stats().pending.value == 0 for queue in cells.queues.values())
    assert {cells.home(f"t{n}").store.table.name for n in range(12)} == set(NAMES)


def test_a_task_that_runs_is_cancelled_or_left_alone_by_cells_as_well(cells):
    cells.put("a", task_id="t")
    cells.home("t").store.claim("t", claim_id="c", lease=30)
    with pytest.raises(WrongStatus):
        cells.cancel("t", running=False)
    assert cells.get("t").cancel_asked is None
    assert cells.cancel("t").cancel_asked is not None


def test_the_limit_of_a_redrive_holds_over_all_cells(cells):
    for n in range(12):
        cells.put("a", task_id=f"t{n}")
        attempt(cells, f"t{n}", fails=True)
    assert cells.redrive_many(limit=9) == cells.waiting().value == 9


def test_many_tasks_of_which_one_is_refused_are_put_into_no_cell(cells):
    new = [*(NewTask(task_type="a") for _ in range(20)), NewTask(task_type="")]
    with pytest.raises(InvalidInput, match=r"tasks\[20\]"):
        cells.put_many(new)
    assert cells.waiting().value == 0


def test_the_entry_of_a_transaction_is_of_the_cell_of_its_task_whose_id_is_drawn(cells):
    for _ in range(9):
        (entry,) = cells.transaction_item(NewTask(task_type="a")).values()
        home = cells.home(entry["Item"]["taskId"]["S"])
        assert entry["TableName"] == home.store.table.name


def test_when_a_task_was_shed_last_is_told_if_each_cell_that_has_shed_some_knows_it():
    nothing = Queue.in_memory().stats()
    long_ago = replace(nothing, shed_lately=Count(value=3, capped=False), last_shed_seconds=9.0)
    just_now = replace(long_ago, last_shed_seconds=2.0)
    unknown = replace(long_ago, last_shed_seconds=None)
    assert together(nothing, long_ago).last_shed_seconds == 9.0
    assert together(long_ago, just_now).last_shed_seconds == 2.0
    assert together(long_ago, unknown).last_shed_seconds is None
    assert together(nothing, nothing).last_shed_seconds is None


def test_what_sweeps_found_in_two_cells_is_told_as_of_one_queue():
    nothing = Queue.in_memory().stats()
    one = replace(nothing, unknown_types=("b", "a"), unknown_waiting=2, deadline_seconds=60.0)
    other = replace(nothing, unknown_types=("c", "b"), unknown_waiting=3, stalled=True)
    found = {"unknown_types": ("a", "b", "c"), "unknown_waiting": 5, "stalled": True}
    expected = replace(nothing, **found)
    assert together(one, other) == together(other, one) == expected
    assert not together(one, one).stalled


def test_a_cell_that_is_read_slowly_keeps_the_older_tasks_of_the_others_back(cells, host):
    north, south = cells.queues["north"], cells.queues["south"]
    south.put("b", task_id="oldest")
    host.advance(1)
    north.put("b", task_id="older")
    host.advance(1)
    north.put_many([NewTask(task_type="a") for _ in range(150)])
    wanted = Wanted(status=Status.PENDING, task_type="b")
    first = cells.search(wanted, scan=100)
    assert first.tasks == []
    rest = cells.search(wanted, scan=100, start=first.next)
    assert [task.task_id for task in rest.tasks] == ["older", "oldest"]


def test_a_page_of_cells_is_full_where_one_cell_has_the_newest_tasks(cells, host):
    for n, name in enumerate(("south", "north", "north", "north")):
        cells.queues[name].put("a", task_id=f"t{n}")
        host.advance(1)
    wanted = Wanted(status=Status.PENDING)
    first = cells.search(wanted, limit=2)
    rest = cells.search(wanted, limit=2, start=first.next)
    pages = [[task.task_id for task in page.tasks] for page in (first, rest)]
    assert (pages, rest.next) == ([["t3", "t2"], ["t1", "t0"]], None)


def test_the_command_line_takes_the_tables_of_all_cells(
    dynamodb_local_endpoint, new_dynamo_table, capsys
):
    tables = [new_dynamo_table(dynamodb_local_endpoint).name for _ in range(2)]
    options = {"endpoint_url": dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS}
    cells = Cells.connect(tables=tables, **options)
    cells.put_many([NewTask(task_type="a", task_id=f"t{n}") for n in range(20)])
    words = [word for table in tables for word in ("--table", table)]

    def lifoq(*command):
        assert main([*words, "--json", "--endpoint-url", dynamodb_local_endpoint, *command]) == 0
        return json.loads(capsys.readouterr().out)

    assert {cells.home(f"t{n}").store.table.name for n in range(20)} == set(tables)
    assert lifoq("cancel", "t7")["status"] == "CANCELLED"
    assert lifoq("purge", "--yes") == {"cancelled": 19}


# A cell that is down


@pytest.mark.parametrize("down", [None, *NAMES])
def test_cells_are_checked_each(cells, monkeypatch, down):
    refuses = nullcontext()
    if down is not None:
        found = mock.Mock(side_effect=QueueMisconfigured(f"{down} is no queue's table"))
        monkeypatch.setattr(cells.queues[down].store.table, "check", found)
        refuses = pytest.raises(QueueMisconfigured, match=f"{down} is no queue's table")
    with refuses:
        cells.check()


@pytest.mark.parametrize("error", [StoreUnavailable("down"), QueueMisconfigured("no table")])
def test_a_cell_that_is_down_refuses_its_own_ids_only(cells, monkeypatch, error):
    down = cells.queues["north"]
    for call in ("get", "put", "put_batch"):
        monkeypatch.setattr(down.store.table, call, mock.Mock(side_effect=error))
    new = [NewTask(task_type="a", payload=n, task_id=f"t{n}") for n in range(30)]
    refused = {task.task_id for task in new if cells.home(task.task_id) is down}
    assert refused

    for task, outcome in zip(new, cells.put_many(new), strict=True):
        assert outcome.created == (task.task_id not in refused)
        assert isinstance(outcome.error, type(error)) == (task.task_id in refused)
    for task in new:
        told = pytest.raises(type(error)) if task.task_id in refused else nullcontext()
        with told:
            assert cells.put("a", task_id=task.task_id) == cells.get(task.task_id)
        with told:
            cells.get(task.task_id)
