"""Answers in parts: emitted by task code, read in order while it runs, none lost, none twice."""

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from unittest import mock

import pytest

from lifoq import (
    Cells,
    Context,
    InvalidInput,
    Processor,
    Queue,
    Registry,
    Status,
    StoreUnavailable,
    TaskFailed,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
    WorkerSettings,
)
from lifoq.client import async_calls
from lifoq.client.stream import Stream
from lifoq.items.answer_parts_in_checkpoint import checkpoint_of, parts_of
from lifoq.store.large_values import LargeValues, MemoryBlobs
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost, TurnableHost
from lifoq.worker.handlers import emitted_answer_parts
from tests.fixtures import noise


@pytest.fixture
def here() -> TurnableHost:
    return TurnableHost()


@pytest.fixture
def queue(here) -> Queue:
    return Queue(Store(MemoryTable(), host=here), host=here)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(emitted_answer_parts, "EMIT_APART", 0.001)


def run(queue: Queue, host: TurnableHost, handler: Callable, **terms):
    registry = Registry()
    registry.task("a", **{"max_attempts": 3, **terms})(handler)
    return Processor(queue.store, registry, WorkerSettings(linger=0), host=host).run()


async def listed(stream) -> list:
    return [part async for part in stream]


def both(queue: Queue, task_id: str, timeout: float = 0) -> list:
    plain = list(queue.stream(task_id, timeout=timeout))
    assert plain == asyncio.run(listed(queue.stream(task_id, timeout=timeout)))
    return plain


def says(*parts):
    def handler(_payload, context: Context):
        for part in parts:
            context.emit(part)

    return handler


@pytest.mark.parametrize("is_async", [False, True])
def test_parts_come_in_order_and_all_of_them_when_the_task_has_ended(queue, here, is_async):
    async def handler(_payload, context: Context):
        for n in range(50):
            context.emit({"n": n})
        return "whole"

    queue.put("a", task_id="t")
    plain = says(*({"n": n} for n in range(50)))
    assert run(queue, here, handler if is_async else plain).succeeded == 1
    assert both(queue, "t") == [{"n": n} for n in range(50)]
    assert queue.wait("t", timeout=0) == ("whole" if is_async else None)


def test_a_part_is_read_while_the_handler_runs_and_does_not_wait_for_the_next(queue, here):
    heard = threading.Event()

    def handler(_payload, context: Context):
        context.emit("first")
        assert heard.wait(60)
        context.emit("second")

    queue.put("a", task_id="t")
    worker = threading.Thread(target=run, args=(queue, here, handler))
    worker.start()
    parts = []
    for part in queue.stream("t", timeout=120):
        parts.append(part)
        heard.set()
    worker.join()
    assert parts == ["first", "second"]


def test_parts_that_come_quickly_share_a_write(queue, here, monkeypatch):
    monkeypatch.setattr(emitted_answer_parts, "EMIT_APART", 30)
    queue.put("a", task_id="t")
    with mock.patch.object(queue.store, "checkpoint", wraps=queue.store.checkpoint) as writes:
        assert run(queue, here, says(*range(200))).succeeded == 1
    assert writes.call_count <= 2, "the first at once, the rest at the end"
    assert both(queue, "t") == list(range(200))


def test_one_thread_writes_the_parts_and_waits_between_two_writes(monkeypatch):
    monkeypatch.setattr(emitted_answer_parts, "EMIT_APART", 30)
    host, threads, written = ManualHost(), [], []
    monkeypatch.setattr(host, "spawn", lambda call, _name: threads.append(call))
    began = host.monotonic()
    emitted = emitted_answer_parts.EmittedParts(
        None, write=lambda _parts: written.append(host.monotonic() - began), host=host
    )
    for _ in range(2):
        emitted.add("first")
        emitted.add("second")
        (write,) = threads
        threads.clear()
        write()
    assert written == [0, 30_000_000]


def test_what_has_refused_the_parts_is_raised_at_the_next_part(monkeypatch):
    host, threads = ManualHost(), []
    monkeypatch.setattr(host, "spawn", lambda call, _name: threads.append(call))
    write = mock.Mock(side_effect=InvalidInput("emitted", 1, "finds no room"))
    emitted = emitted_answer_parts.EmittedParts(None, write=write, host=host)
    emitted.add("too large")
    (write_soon,) = threads
    write_soon()
    with pytest.raises(InvalidInput, match="finds no room"):
        emitted.add("next")
    assert emitted.parts == ["too large"]


def test_a_later_attempt_finds_what_was_emitted_and_goes_on_behind_it(queue, here):
    found = []

    def handler(_payload, context: Context):
        found.append(context.emitted)
        for word in ["I", "do", "not", "know"][len(context.emitted) :]:
            context.emit(word)
            if word == "do" and context.attempt == 1:
                raise ConnectionError("the model is gone")

    queue.put("a", task_id="t")
    assert run(queue, here, handler).retried == 1
    reader = iter(queue.stream("t", timeout=3600))
    assert [next(reader), next(reader)] == ["I", "do"]
    here.advance(600)
    queue.run_now("t")
    assert run(queue, here, handler).succeeded == 1
    assert list(reader) == ["not", "know"]
    assert found == [(), ("I", "do")]


def test_what_could_not_be_written_is_emitted_again_by_the_next_attempt(queue, here):
    queue.put("a", task_id="t")
    down = mock.patch.object(queue.store, "checkpoint", side_effect=StoreUnavailable("no answer"))
    with down:
        assert run(queue, here, says("I", "know")).retried == 1
    assert queue.get("t").error.type == "StoreUnavailable"
    here.advance(600)
    queue.run_now("t")
    assert run(queue, here, says("I", "know")).succeeded == 1
    assert both(queue, "t") == ["I", "know"]


def test_the_end_is_raised_after_all_parts(queue, here):
    def handler(_payload, context: Context):
        context.emit("I")
        raise ValueError("boom")

    queue.put("a", task_id="t")
    assert run(queue, here, handler, max_attempts=1).failed == 1
    reader = iter(queue.stream("t", timeout=0))
    assert next(reader) == "I"
    with pytest.raises(TaskFailed, match="boom"):
        next(reader)
    with pytest.raises(TaskFailed, match="boom"):
        asyncio.run(listed(queue.stream("t", timeout=0)))


def test_a_reader_waits_between_its_looks_and_for_nothing_once_the_answer_has_ended(queue, here):
    queue.put("a", task_id="t")
    slept: list[float] = []

    async def look(task_id):
        here.advance(1)
        return queue.store.get(task_id)

    async def sleep(seconds):
        slept.append(seconds)
        run(queue, here, says("I", "know"))

    calls = SimpleNamespace(look=look, sleep=sleep)
    stream = Stream("t", patience=60, store=queue.store, host=here, calls=lambda: calls)
    assert asyncio.run(listed(stream)) == ["I", "know"]
    assert len(slept) == 1


def test_a_stream_ends_with_the_readers_patience_or_with_the_tasks_deadline(monkeypatch):
    host = ManualHost()
    queue = Queue(Store(MemoryTable(), host=host), host=host)
    queue.put("a", task_id="t", deadline=20)
    with pytest.raises(WaitTimeout):
        list(queue.stream("t", timeout=10))
    assert sum(host.slept) == pytest.approx(10)
    with pytest.raises(TaskShed):
        list(queue.stream("t", timeout=60))
    with pytest.raises(TaskNotFound):
        list(queue.stream("nobody", timeout=60))
    with pytest.raises(InvalidInput, match="timeout=-1"):
        queue.stream("t", timeout=-1)


def test_a_silent_task_is_looked_at_every_second_and_one_that_waits_long_every_five():
    host = ManualHost()
    queue = Queue(Store(MemoryTable(), host=host), host=host)
    queue.put("a", task_id="t")
    for longest in (5, 1):
        with pytest.raises(WaitTimeout):
            list(queue.stream("t", timeout=200))
        assert max(host.slept) == longest
        host.slept.clear()
        if queue.get("t").status is Status.PENDING:
            queue.store.claim("t", claim_id="c", lease=600)
    queue.store.succeed(queue.get("t"), "1")
    assert (list(queue.stream("t", timeout=200)), host.slept) == ([], [])


def test_a_newer_put_of_the_id_is_another_answer(queue, here):
    queue.put("a", task_id="t", if_exists="replace")
    run(queue, here, says(*"abc"))
    reading = iter(queue.stream("t", timeout=0))
    assert next(reading) == "a"
    queue.put("a", task_id="t", if_exists="replace")
    run(queue, here, says(*"xyz"))
    assert [*reading, *both(queue, "t")] == ["b", "c", "x", "y", "z"]


def test_whoever_reads_when_a_newer_put_takes_the_place_reads_all_of_the_new_answer(queue, here):
    def breaks_off(_payload, context: Context):
        context.emit("a")
        context.emit("b")
        raise ConnectionError("the model is gone")

    queue.put("a", task_id="t", if_exists="replace")
    assert run(queue, here, breaks_off).retried == 1
    reading = iter(queue.stream("t", timeout=3600))
    assert [next(reading), next(reading)] == ["a", "b"]
    queue.put("a", task_id="t", if_exists="replace")
    run(queue, here, says(*"xyz"))
    assert [*reading] == ["x", "y", "z"]


def test_parts_that_do_not_fit_the_item_fail_the_attempt_with_a_sentence_or_go_to_the_bucket(
    queue, here
):
    parts = [noise(90_000) + str(n) for n in range(6)]
    queue.put("a", task_id="t")
    run(queue, here, says(*parts), max_attempts=1)
    with pytest.raises(TaskFailed, match="checkpoint"):
        list(queue.stream("t", timeout=0))
    large = LargeValues(MemoryBlobs(), host=here)
    roomy = Queue(Store(MemoryTable(), host=here, large=large), host=here)
    roomy.put("a", task_id="t")
    assert run(roomy, here, says(*parts)).succeeded == 1
    assert both(roomy, "t") == parts


@pytest.mark.parametrize("emits_first", [False, True])
def test_parts_and_a_checkpoint_exclude_each_other(queue, here, emits_first):
    def handler(_payload, context: Context):
        calls = [lambda: context.emit("I"), lambda: context.checkpoint(1)]
        for call in calls if emits_first else reversed(calls):
            call()

    queue.put("a", task_id="t")
    run(queue, here, handler, max_attempts=1)
    assert queue.get("t").error.type == "TypeError"


def test_what_is_no_json_is_refused_where_it_is_emitted(queue, here):
    queue.put("a", task_id="t")
    run(queue, here, says({1, 2}), max_attempts=1)
    assert queue.get("t").error.message.startswith("part=")


@pytest.mark.parametrize("checkpoint", [None, 7, ["a"], {"parts": 7}, {"parts": [], "more": 1}])
def test_a_checkpoint_of_another_kind_has_no_parts(checkpoint):
    assert parts_of(checkpoint) == []
    assert parts_of(checkpoint_of([checkpoint])) == [checkpoint]


def test_streams_of_cells_and_of_one_loop_share_their_looks(here):
    cells = Cells(
        [Queue(Store(MemoryTable(name), host=here), host=here) for name in ("north", "south")],
        host=here,
    )
    ids = [f"t{n}" for n in range(30)]
    for task_id in ids:
        cells.put("a", task_id=task_id)
    for queue in cells.queues.values():
        run(queue, here, says("I", "know"))

    async def read_all():
        return await asyncio.gather(*(listed(cells.stream(one, timeout=30)) for one in ids))

    north = cells.queues["north"].store
    with mock.patch.object(north, "read_each", wraps=north.read_each) as looks:
        assert asyncio.run(read_all()) == [["I", "know"]] * len(ids)
    assert looks.call_count <= 2
    assert len(ids) > async_calls.THREADS
