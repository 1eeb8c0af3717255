"""The calls for asyncio: what the plain ones do, and thousands that wait share their reads."""

import asyncio
import gc
import inspect
import sys
import threading
import time
from unittest import mock

import pytest

from lifoq import (
    Cells,
    InvalidInput,
    NewTask,
    Queue,
    Status,
    StoreUnavailable,
    TaskCancelled,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
)
from lifoq.client import async_calls
from lifoq.store.large_values import LargeValues, MemoryBlobs
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from tests.contract.conftest import succeed
from tests.infrastructure.commands import run

PAIRS = {"aput": "put", "aget": "get", "await_result": "wait", "acancel": "cancel", "acall": "call"}


real_sleep = asyncio.sleep


@pytest.fixture(autouse=True)
def pauses(monkeypatch, host: ManualHost) -> list[float]:
    """Pauses take no time but the host's, and are noted; who waits goes on when all others do."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        until = host.time + round(seconds * 1e6)
        await real_sleep(0)
        host.time = max(host.time, until)
        host.on_sleep()

    made = async_calls.AsyncCalls.__init__
    monkeypatch.setattr(async_calls, "APART", 0.0)
    monkeypatch.setattr(
        async_calls.AsyncCalls, "__init__", lambda self, **given: made(self, **given, sleep=sleep)
    )
    return slept


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("client", [Queue, Cells])
def test_each_takes_what_the_plain_one_takes(client, name):
    one, plain = (inspect.signature(getattr(client, each)) for each in (name, PAIRS[name]))
    assert [*one.parameters.values()] == [*plain.parameters.values()]
    assert inspect.iscoroutinefunction(getattr(client, name))


def test_each_does_what_the_plain_one_does(queue, host):
    async def all_of_them():
        assert await queue.aget("t") is None
        put = await queue.aput("a", {"x": 1}, task_id="t", key="k")
        assert await queue.aget("t") == put == queue.get("t")
        once(host, lambda: succeed(queue, "t", '{"y":2}'))
        assert await queue.await_result("t", timeout=5) == {"y": 2}
        await queue.aput("a", task_id="u")
        assert (await queue.acancel("u", running=False)).status is Status.CANCELLED
        with pytest.raises(TaskCancelled):
            await queue.await_result("u", timeout=0)
        with pytest.raises(TaskNotFound):
            await queue.await_result("nobody", timeout=0)

    asyncio.run(all_of_them())


def test_each_hands_on_all_terms(queue):
    given = {name: object() for name in inspect.signature(queue.put).parameters}
    with mock.patch.object(Queue, "put") as put, mock.patch.object(Queue, "cancel") as cancel:
        asyncio.run(queue.aput(**given))
        asyncio.run(queue.acancel("t", running=False))
    cancel.assert_called_once_with("t", running=False)
    (task_type, payload), terms = put.call_args
    assert {"task_type": task_type, "payload": payload, **terms} == given


def once(host: ManualHost, does) -> None:
    """Do something in the next pause."""

    def paused() -> None:
        host.on_sleep = lambda: None
        does()

    host.on_sleep = paused


@pytest.mark.parametrize("name", ["await_result", "acall"])
def test_no_wait_and_no_id_are_refused_before_anything_is_asked(queue, name):
    with pytest.raises(InvalidInput, match="timeout=-1"):
        asyncio.run(getattr(queue, name)("t", timeout=-1))
    with pytest.raises(InvalidInput, match="task_id=''"):
        asyncio.run(queue.await_result("", timeout=1))
    assert queue.store.table.scan(limit=1).rows == ()


def test_the_pauses_are_those_of_the_plain_wait(queue, host, pauses):
    queue.put("a", task_id="t")
    with pytest.raises(WaitTimeout, match="within 30 s"):
        asyncio.run(queue.await_result("t", timeout=30))
    with pytest.raises(WaitTimeout):
        queue.wait("t", timeout=30)
    assert pauses == pytest.approx(host.slept)


def test_all_who_wait_share_their_reads_of_statuses_and_read_whole_what_has_ended(queue):
    ids = [f"t{n}" for n in range(250)]
    for task_id in ids:
        queue.put("a", task_id=task_id)

    async def wait_for_all():
        waits = [asyncio.create_task(queue.await_result(one, timeout=9)) for one in ids]
        return await asyncio.gather(*waits, return_exceptions=True)

    read = mock.Mock(wraps=queue.store.table.get_many)
    with mock.patch.object(queue.store.table, "get_many", read):
        ends = asyncio.run(wait_for_all())
    assert {type(end) for end in ends} == {WaitTimeout}
    reads = [
        (len(call.args[0]), bool(call.kwargs.get("only")), call.kwargs.get("lately", False))
        for call in read.call_args_list
    ]
    assert max(reads)[0] <= 100
    whole = [number for number, *how in reads if how == [False, False]]
    statuses = [number for number, *how in reads if how == [True, True]]
    assert len(whole) + len(statuses) == len(reads)
    assert sum(whole) == 2 * len(ids), "the first look, and the last"
    assert sum(statuses) > len(ids)
    assert sum(statuses) / len(statuses) > 50


def test_an_answer_that_is_a_moment_old_ends_no_wait(queue, host):
    """A read at half the units may show what was: only a whole, consistent one tells of an end."""
    queue.put("a", task_id="t")
    once(host, lambda: succeed(queue, "t"))
    with mock.patch.object(queue.store, "unended", return_value=set()):
        assert asyncio.run(queue.await_result("t", timeout=5)) == "done"
    queue.put("a", task_id="u")
    with mock.patch.object(queue.store, "unended", return_value=set()), pytest.raises(WaitTimeout):
        asyncio.run(queue.await_result("u", timeout=1))


def test_two_who_wait_for_the_same_task_have_its_result_and_one_who_leaves_takes_nobody_along(
    queue, host
):
    queue.put("a", task_id="t")

    async def wait_for_it():
        paused = asyncio.Event()
        host.on_sleep = paused.set
        waits = [asyncio.create_task(queue.await_result("t", timeout=500)) for _ in range(3)]
        await paused.wait()
        waits[1].cancel()
        succeed(queue, "t")  # on the loop: beside it, the pauses of who waits would use up the time
        return await asyncio.gather(*waits, return_exceptions=True)

    first, left, last = asyncio.run(wait_for_it())
    assert (first, type(left), last) == ("done", asyncio.CancelledError, "done")


def test_a_read_that_fails_is_told_to_those_who_asked_for_it_and_later_ones_are_made_anew(queue):
    for task_id in ("t", "u"):
        queue.put("a", task_id=task_id)

    async def wait_for_both():
        with mock.patch.object(queue.store, "read_each", side_effect=StoreUnavailable("down")):
            waits = [queue.await_result(one, timeout=5) for one in ("t", "u")]
            failed = await asyncio.gather(*waits, return_exceptions=True)
        await asyncio.to_thread(succeed, queue, "t")
        return failed, await queue.await_result("t", timeout=5)

    failed, result = asyncio.run(wait_for_both())
    assert [str(error) for error in failed] == ["down", "down"]
    assert result == "done"


def test_values_of_the_bucket_come_with_the_result(host):
    store = Store(MemoryTable(), host=host, large=LargeValues(MemoryBlobs(), host=host))
    queue, said = Queue(store, host=host), "x" * 50_000
    queue.put("a", task_id="t")
    once(host, lambda: succeed(queue, "t", f'"{said}"'))
    readers, whole = [], store.whole

    def read(*asked):
        readers.append(threading.current_thread())
        return whole(*asked)

    with mock.patch.object(store, "whole", read):
        assert asyncio.run(queue.await_result("t", timeout=5)) == said
    assert threading.main_thread() not in readers, "the event loop reads from no bucket"


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on where nothing else does."""

    seconds = 0.0

    def time(self) -> float:
        return self.seconds

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.seconds = max(self.seconds, self._scheduled[0].when())
        super()._run_once()


def test_a_single_look_takes_no_time_and_reads_are_apart_unless_a_hundred_ask(monkeypatch):
    """Reads are ten seconds apart here: one at 0 s, one for three ids at 10 s; a hundred ids have
    theirs at once, at 12 s, and the next comes ten seconds later."""
    monkeypatch.setattr(async_calls, "APART", 10.0)
    reads = []

    async def read(ids):
        reads.append((asyncio.get_running_loop().time(), len(ids)))
        if "leaves" in asked:
            asked.pop("leaves").cancel()  # while the read is under way
            await real_sleep(0)
        return dict.fromkeys(ids, "found")

    together, asked = async_calls.TogetherRead(read), {}

    def ask(*ids):
        asked.update((one, asyncio.create_task(together.of(one))) for one in ids)

    async def all_of_them():
        ask("first")
        await asked["first"]
        ask("leaves", "second", "third")
        await asyncio.wait(asked.values())
        ask("hundred")
        await real_sleep(2)
        ask(*range(99))
        await real_sleep(3)
        ask("last")
        assert {*await asyncio.gather(*asked.values())} == {"found"}
        await real_sleep(0)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(all_of_them())
    assert reads == [(0, 1), (10, 3), (12, 100), (22, 1)]
    assert not together._under_way


# Calls

TERMS = {"payload": {"x": 1}, "key": "k", "head_start": 5, "max_attempts": 2, "weight": 7}
TERMS["traceparent"] = f"00-{'a' * 32}-{'b' * 16}-01"


@pytest.mark.parametrize("name", ["call", "acall"])
def test_the_task_of_a_call_has_all_the_terms_that_the_call_was_given(queue, name):
    async def call():
        await getattr(queue, name)("a", timeout=9, task_id="t", **TERMS)

    with pytest.raises(TaskShed):
        asyncio.run(call())
    task = queue.get("t")
    assert {name: getattr(task, name) for name in TERMS} == {**TERMS, "head_start": 5e6}


def test_a_call_returns_the_result_and_is_shed_without_a_write(queue, host):
    once(host, lambda: succeed(queue, queue.peek(1)[0].task_id))
    assert asyncio.run(queue.acall("a", timeout=20)) == "done"
    with mock.patch.object(queue.store, "cancel") as cancel, pytest.raises(TaskShed):
        asyncio.run(queue.acall("a", timeout=20))
    assert not cancel.called


def test_an_attempt_that_outlasts_the_patience_is_told_to_stop(queue, host):
    once(host, lambda: queue.store.claim("t", claim_id="c", lease=60))
    with pytest.raises(WaitTimeout, match="within 20 s"):
        asyncio.run(queue.acall("a", task_id="t", timeout=20))
    assert queue.get("t").cancel_asked is not None


def test_a_coroutine_whose_loop_is_gone_withdraws_its_task(queue):
    async def left():
        steps = queue.acall("a", task_id="t", timeout=20).__await__()
        await asyncio.wait([next(steps)])
        await asyncio.wait([next(steps)])
        steps.close()
        calls = queue._on_loop()
        await asyncio.to_thread(calls._pool.shutdown)

    asyncio.run(left())
    assert queue.get("t").status is Status.CANCELLED


@pytest.mark.parametrize("begun", [False, True])
def test_a_coroutine_that_is_cancelled_withdraws_its_task_before_it_ends(queue, host, begun):
    def started() -> None:
        if begun:
            queue.store.claim("t", claim_id="c", lease=60)
        caller.cancel()

    async def left():
        nonlocal caller
        caller = asyncio.create_task(queue.acall("a", task_id="t", timeout=20))
        once(host, started)
        await caller

    caller = None
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(left())
    task = queue.get("t")
    assert (task.status, task.cancel_asked is not None) == (
        (Status.TAKEN, True) if begun else (Status.CANCELLED, False)
    )


async def left_over_by(call):
    """Return the number of tasks of the event loop that go on after a call."""
    with pytest.raises(TaskShed):
        await call
    await asyncio.sleep(0)  # in which those end that were cancelled
    return len(asyncio.all_tasks()) - 1


def test_a_coroutine_says_again_that_it_waits_for_as_long_as_it_does(queue, pauses):
    with mock.patch.object(queue.store, "want", wraps=queue.store.want) as wants:
        assert asyncio.run(left_over_by(queue.acall("a", timeout=60, while_waiting=True))) == 0
        assert 1 < wants.call_count <= pauses.count(async_calls.WANTED_ANEW) + 1
        wants.reset_mock()
        with pytest.raises(TaskShed):
            asyncio.run(queue.acall("a", timeout=60))
        assert wants.call_count == 0


@pytest.mark.parametrize("again", [False, True])
def test_a_coroutine_that_is_cancelled_while_its_put_is_under_way_leaves_nothing_behind(
    queue, again
):
    put, under_way, goes_on = queue.store.put_new, threading.Event(), threading.Event()

    def slow_put(new):
        under_way.set()
        assert goes_on.wait(30)
        return put(new)

    async def left():
        caller = asyncio.create_task(queue.acall("a", task_id="t", timeout=20))
        await asyncio.to_thread(under_way.wait, 30)
        caller.cancel()
        await asyncio.sleep(0)
        if again:  # as in a cancel scope of anyio: it ends at once, and the withdrawal goes on
            caller.cancel()
            await asyncio.wait([caller])
        goes_on.set()
        await asyncio.wait([caller])
        assert caller.cancelled()
        calls = queue._on_loop()
        await asyncio.to_thread(calls._pool.shutdown)

    with mock.patch.object(queue.store, "put_new", slow_put):
        asyncio.run(left())
    assert queue.get("t").status is Status.CANCELLED


def test_a_coroutine_that_is_cancelled_before_its_put_has_begun_puts_nothing(queue):
    call = queue._new_call(NewTask(task_type="a", task_id="t"), 20, kick=False)
    call.withdraw()
    call.put()
    assert queue.get("t") is None


def test_cells_wait_together_and_call(cells):
    ids = [f"t{n}" for n in range(20)]

    async def all_of_them():
        for task_id in ids:
            await cells.aput("a", task_id=task_id)
        waits = [asyncio.create_task(cells.await_result(one, timeout=50)) for one in ids]
        await asyncio.sleep(0)
        for task_id in ids:
            succeed(cells.home(task_id), task_id, f'"{task_id}"')  # on the loop: no pause goes by
        assert await asyncio.gather(*waits) == ids
        with pytest.raises(TaskShed):
            await cells.acall("a", timeout=5)

    asyncio.run(all_of_them())


# Threads and loops


def test_a_few_threads_serve_all_and_each_loop_has_its_own_that_go_with_it(queue):
    async def put_many():
        await asyncio.gather(*(queue.aput("a") for _ in range(200)))
        return {t.name for t in threading.enumerate() if t.name.startswith("lifoq-async")}

    first = asyncio.run(put_many())
    assert len(first) <= async_calls.THREADS
    asyncio.run(put_many())
    for _ in range(1_000):  # a thread holds the loop until it has put its last answer down
        gc.collect()
        if not len(queue._by_loop):
            return
        time.sleep(0.03)
    pytest.fail("the threads of a loop that has ended are still there")


def test_who_awaits_nothing_imports_no_asyncio():
    program = (
        "import sys; from lifoq import Queue, Context; Queue.in_memory().put('a', kick=True); "
        "print({'asyncio', 'lifoq.client.async_calls', 'lifoq.client.kicks', "
        "'lifoq.worker.handlers.emitted_answer_parts'} & {*sys.modules})"
    )
    assert run(sys.executable, "-c", program) == "set()\n"
