"""Several queues as one client: where an id lives, and that each call reaches its queue."""

import inspect
import json
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import dynamodb_local
from lifoq import (
    Cells,
    Count,
    InvalidInput,
    NewTask,
    Pressure,
    Queue,
    QueueMisconfigured,
    Status,
    StoreUnavailable,
    TaskError,
    TaskNotFound,
    Wanted,
)
from lifoq.tables import pressure
from lifoq.tables.memory import MemoryTable
from lifoq.tables.pressure import Starts
from lifoq.tables.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq_cli.app import main

NAMES = ("north", "south", "west")
SHARED_CALLS = (
    *("put", "put_many", "transaction_item", "get", "wait", "cancel", "run_now", "delete"),
    *("redrive", "redrive_many", "peek", "search", "stats", "pressure", "waiting"),
    *("purge", "check"),
)


class DownTable:
    """A table that answers every call with this error."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self._error = error

    def clock_ahead(self) -> int:
        return 0

    def __getattr__(self, _call: str):
        def refuse(*_args, **_options):
            raise self._error

        return refuse


def cells_named(names: Iterable[str]) -> Cells:
    return Cells([Queue(Store(MemoryTable(name))) for name in names])


@pytest.fixture
def cells(host: ManualHost) -> Cells:
    return Cells(
        [Queue(Store(MemoryTable(name), host=host), host=host) for name in NAMES], host=host
    )


def with_one_down(cells: Cells, host: ManualHost, error: Exception) -> tuple[Cells, str]:
    """These cells, the first of them out of order; and its name."""
    down, *others = cells.queues
    broken = Queue(Store(DownTable(down, error), host=host), host=host)
    return Cells([broken, *(cells.queues[name] for name in others)], host=host), down


def fail(queue: Queue, task_id: str) -> None:
    task = queue.store.claim(task_id, claim_id="c", lease=30)
    queue.store.fail(task, TaskError(type="ValueError", message="boom"))


# Where an id lives

a_name = st.from_regex(r"[A-Za-z0-9_.-]{3,20}", fullmatch=True)  # what DynamoDB allows
names = st.lists(a_name, min_size=2, max_size=8, unique=True)
ids = st.lists(st.text(max_size=30), max_size=50)


@settings(deadline=None)
@given(names, ids, st.randoms(use_true_random=False))
def test_a_cell_that_is_added_takes_over_ids_and_moves_no_other_in_whichever_order_they_are_given(
    names, ids, random
):
    *before, added = names
    small, large = cells_named(before), cells_named(random.sample(names, len(names)))
    for one in ids:
        was, now = small.home(one).store.table.name, large.home(one).store.table.name
        assert now in (was, added)


@settings(deadline=None, max_examples=30)
@given(names)
def test_every_cell_gets_its_share_of_the_ids(names):
    number = 2_000
    cells = cells_named(names)
    shares = Counter(cells.home(f"order-{n}").store.table.name for n in range(number))
    fair = number / len(names)
    assert set(shares) == set(names)
    assert all(abs(share - fair) < 6 * fair**0.5 for share in shares.values())


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


@pytest.mark.parametrize("call", SHARED_CALLS)
def test_each_call_takes_what_the_queues_own_takes(call):
    def terms(function):
        signature = inspect.signature(function)
        named = [(one.name, one.kind, one.annotation) for one in signature.parameters.values()]
        return named, signature.return_annotation

    assert terms(getattr(Cells, call)) == terms(getattr(Queue, call))


def test_a_task_is_found_again_by_its_id_given_or_drawn(cells, host):
    tasks = [cells.put("a", n, task_id=f"t{n}") for n in range(10)]
    tasks += [cells.put("a", n) for n in range(10)]
    homes = {cells.home(task.task_id).store.table.name for task in tasks}
    assert homes == set(NAMES)
    for task in tasks:
        assert cells.get(task.task_id) == task
        assert cells.home(task.task_id).get(task.task_id) == task
    assert cells.put("a", "again", task_id="t3") == tasks[3]


def test_put_many_keeps_the_order_of_outcomes_and_finds_every_task(cells):
    told = []
    new = [
        NewTask(task_type="a", payload=n, task_id=f"t{n}" if n % 2 else None) for n in range(100)
    ]
    outcomes = cells.put_many(new, on_progress=told.append)
    assert [outcome.task.payload for outcome in outcomes] == list(range(100))
    assert all(outcome.created for outcome in outcomes)
    assert all(cells.get(outcome.task.task_id) == outcome.task for outcome in outcomes)
    assert told == sorted(told)
    assert told[-1] == 100


def test_wait_cancel_and_redrive_reach_the_tasks_own_cell(cells):
    for n in range(12):
        cells.put("a", task_id=f"t{n}")
        home = cells.home(f"t{n}")
        match n % 3:
            case 0:
                claimed = home.store.claim(f"t{n}", claim_id="c", lease=30)
                home.store.succeed(claimed, str(n))
                assert cells.wait(f"t{n}", timeout=1) == n
            case 1:
                assert cells.cancel(f"t{n}").status is Status.CANCELLED
            case _:
                fail(home, f"t{n}")
                assert cells.redrive(f"t{n}").status is Status.PENDING
    with pytest.raises(TaskNotFound):
        cells.wait("nobody", timeout=1)


def test_redrive_many_keeps_its_limit_and_rate_over_all_cells(cells, host):
    for n in range(12):
        cells.put("a" if n % 4 else "b", task_id=f"t{n}")
        fail(cells.home(f"t{n}"), f"t{n}")
    assert cells.redrive_many(task_type="b", error_type="KeyError") == 0
    assert cells.redrive_many(task_type="b", error_type="ValueError") == 3
    assert cells.redrive_many(limit=5, per_second=4) == 5
    assert host.slept == [0.25] * 5
    assert cells.redrive_many() == 4


def test_peek_shows_the_newest_of_all_cells(cells, host):
    for n in range(12):
        host.advance(1)
        cells.put("a", task_id=f"t{n}")
        cells.put("a", task_id=f"later{n}", delay=100 - n)
    assert [task.task_id for task in cells.peek(5)] == ["t11", "t10", "t9", "t8", "t7"]
    delayed = cells.peek(3, status=Status.DELAYED)
    assert [task.due_at for task in delayed] == sorted(
        (task.due_at for task in cells.peek(12, status=Status.DELAYED)), reverse=True
    )[:3]


def test_stats_add_up_and_ages_are_those_of_the_ends(cells, host):
    assert cells.stats().oldest_waiting_seconds is None
    for n in range(6):
        cells.put("a", task_id=f"t{n}")
        host.advance(1)
    cells.put("a", delay=60)
    found = cells.stats()
    assert (found.pending.value, found.live.value, found.delayed.value) == (6, 6, 1)
    assert found.newest_waiting_seconds == pytest.approx(1, abs=0.01)
    assert found.oldest_waiting_seconds == pytest.approx(6, abs=0.01)
    assert cells.stats(cap=1).pending.capped


def test_pressure_is_of_all_that_was_started_or_shed_in_the_cells(cells, host):
    assert cells.pressure() == Pressure(shed_share=0, starts_per_second=0, wait_seconds=None)
    north, south, _ = cells.queues.values()
    for _ in range(30):
        north.store.put(NewTask(task_type="a"))
    host.advance(3_601)
    for queue, number, wait in ((north, 10, 4.0), (south, 30, 2.0)):
        starts = Starts(seconds=20.0, number=number, wait=wait)
        pressure.note(queue.store, starts, host=host)
    found = cells.pressure()
    assert found.starts_per_second == pytest.approx(0.5 + 1.5)
    assert found.shed_share == pytest.approx(0.5 / (0.5 + 2.0))
    assert found.wait_seconds == pytest.approx(2.5)


def test_purge_asks_once_for_all_cells(cells):
    cells.put_many([NewTask(task_type="a", task_id=f"t{n}") for n in range(9)])
    asked: list[Count] = []
    assert cells.purge(confirm=lambda waiting: bool(asked.append(waiting))) == 0
    assert cells.purge(confirm=lambda waiting: asked.append(waiting) is None) == 9
    assert asked == [Count(value=9, capped=False)] * 2
    assert cells.stats().pending.value == 0


# A cell that is down


@pytest.mark.parametrize("error", [StoreUnavailable("down"), QueueMisconfigured("no table")])
def test_a_cell_that_is_down_refuses_its_own_ids_only(cells, host, error):
    partly, down = with_one_down(cells, host, error)
    new = [NewTask(task_type="a", payload=n, task_id=f"t{n}") for n in range(30)]
    refused = {task.task_id for task in new if cells.home(task.task_id) is cells.queues[down]}
    assert refused

    for task, outcome in zip(new, partly.put_many(new), strict=True):
        assert outcome.created == (task.task_id not in refused)
        assert isinstance(outcome.error, type(error)) == (task.task_id in refused)
    for task in new:
        told = pytest.raises(type(error)) if task.task_id in refused else nullcontext()
        with told:
            assert partly.put("a", task_id=task.task_id) == partly.get(task.task_id)
        with told:
            partly.get(task.task_id)


# The command line


def test_the_command_line_takes_the_tables_of_all_cells(
    dynamodb_local_endpoint, new_dynamo_table, capsys
):
    tables = [new_dynamo_table(dynamodb_local_endpoint).name for _ in range(2)]
    options = {"endpoint_url": dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS}
    cells = Cells.connect(tables=tables, **options)
    cells.put_many([NewTask(task_type="a", payload=n, task_id=f"t{n}") for n in range(20)])
    words = [word for table in tables for word in ("--table", table)]

    def lifoq(*command):
        assert main([*words, "--json", "--endpoint-url", dynamodb_local_endpoint, *command]) == 0
        return json.loads(capsys.readouterr().out)

    assert {cells.home(f"t{n}").store.table.name for n in range(20)} == set(tables)
    assert lifoq("stats")["pending"] == 20
    assert [lifoq("get", f"t{n}")["payload"] for n in range(3)] == [0, 1, 2]
    assert lifoq("cancel", "t7")["status"] == "CANCELLED"
    assert len(lifoq("list", "--limit", "30")) == 19
    assert lifoq("purge", "--yes") == {"cancelled": 19}


def test_a_search_over_cells_shows_the_newest_of_all_page_by_page(cells, host):
    for number in range(12):
        cells.put("a", task_id=f"t{number}")
        host.advance(1)
    shown, start = [], None
    while True:
        page = cells.search(Wanted(status=Status.PENDING), limit=5, start=start)
        shown.append([task.task_id for task in page.tasks])
        start = page.next
        if start is None:
            break
    assert [id_ for ids in shown for id_ in ids] == [f"t{11 - number}" for number in range(12)]
    assert max(map(len, shown)) == 5


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
