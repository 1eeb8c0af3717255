"""Async handlers, with a real event loop and real threads. (The simulation draws none: its clock
and its threads are its own, those of asyncio are not.)"""

import asyncio
import contextlib
import contextvars
import logging
import subprocess
import sys
import threading
import time

import pytest

from lifoq import (
    Backoff,
    Cancelled,
    Processor,
    ProcessUnusable,
    Queue,
    Registry,
    Retry,
    Status,
    WorkerSettings,
)
from lifoq.basics.host import SYSTEM
from lifoq.worker.handlers.async_handlers import LOOP, AsyncHandlers, _Daemons

FOREVER = 3_600.0
QUICK = {
    "window": 10.0,
    "task_timeout": 5.0,
    "linger": 0.1,
    "settle_time": 1.0,
    "backoff": Backoff.fixed(60),
}


class Bench:
    """A queue in memory, a registry, and this process's own threads to run what is in them."""

    def __init__(self):
        self.queue = Queue.in_memory()
        self.registry = Registry()

    def handle(self, name="a", **terms):
        return self.registry.task(name, **terms)

    def run(self, **settings):
        worker = WorkerSettings(**{**QUICK, **settings})
        return Processor(self.queue.store, self.registry, worker).run()

    def put(self, payload=None, task_type="a"):
        return self.queue.put(task_type, payload).task_id


@pytest.fixture
def bench():
    return Bench()


async def stopped(told, *, clean_up=0.0):
    """Wait to be cancelled, and say so."""
    try:
        await asyncio.sleep(FOREVER)
    except asyncio.CancelledError:
        await asyncio.sleep(clean_up)
        told.append("cleaned up")
        raise


def test_async_handlers_run_side_by_side_in_one_thread_beside_the_others(bench):
    seen, together = [], []

    @bench.handle()
    async def waits(payload, context):
        assert asyncio.current_task().get_name() == f"a {context.task_id}"  # for who debugs
        seen.append(threading.get_ident())
        while len(seen) < 5:  # noqa: ASYNC110 - without the others it never ends
            await asyncio.sleep(0.001)
        return payload

    bench.handle("plain")(lambda *_: together.append(threading.get_ident()))
    ids = [bench.put(n) for n in range(5)]
    bench.put(task_type="plain")
    assert bench.run().succeeded == 6
    assert [bench.queue.get(task_id).result for task_id in ids] == list(range(5))
    assert len(set(seen)) == 1
    assert not set(seen) & {*together, threading.get_ident()}


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), Retry(after=60), SystemExit(1), asyncio.CancelledError()]
)
def test_whatever_a_coroutine_raises_is_an_outcome_and_the_loop_goes_on(bench, error):
    @bench.handle()
    async def fails(payload, _context):
        if payload == "fails":
            raise error
        if payload == "leaves an exit behind":
            asyncio.get_running_loop().call_soon(sys.exit)

    failed, *fine = [bench.put(what) for what in ("fails", "leaves an exit behind", "fine")]
    report = bench.run(in_flight=1)
    assert (report.retried, report.succeeded) == (1, 2)
    assert bench.queue.get(failed).error.type == type(error).__name__
    assert all(bench.queue.get(task_id).status is Status.SUCCESS for task_id in fine)


def test_a_coroutine_that_takes_too_long_is_cancelled_cleans_up_and_leaves_its_slot(bench):
    told = []

    @bench.handle("slow", timeout=0.1)
    async def slow(_payload, _context):
        await stopped(told, clean_up=0.2)

    @bench.handle()
    async def quick(_payload, _context):
        told.append("the slot was free")

    bench.put()
    task_id = bench.put(task_type="slow")
    report = bench.run(in_flight=1)
    assert told == ["cleaned up", "the slot was free"]
    assert (report.timed_out, report.retried, report.succeeded) == (1, 1, 1)
    task = bench.queue.get(task_id)
    told = "attempt 1 took longer than its timeout, 100 ms"
    assert (task.error.type, task.error.message) == ("TimeoutError", told)


def test_a_coroutine_that_is_stopped_before_its_first_step_takes_none():
    begun, why = [], TimeoutError("too long")

    async def begins():
        begun.append(1)

    before, meanwhile = (
        AsyncHandlers("before it was started"),
        AsyncHandlers("between start and first step"),
    )
    assert before.stop(why)
    assert before.stop(OSError("said later"))
    with pytest.raises(TimeoutError):
        before.wait(begins())
    busy = threading.Event()
    LOOP.soon(busy.wait)  # so that its start and its stop come at once
    threading.Timer(0.1, lambda: (meanwhile.stop(why), busy.set())).start()
    with pytest.raises(TimeoutError):
        meanwhile.wait(begins())
    assert begun == []
    assert not meanwhile.stop(why)


def test_a_coroutine_that_is_stopped_while_its_task_is_made_ends_at_its_first_wait():
    handlers, why = AsyncHandlers("stopped while its task is made"), TimeoutError("too long")

    def stopped_and_made(loop, coroutine, **options):
        loop.set_task_factory(None)
        assert handlers.stop(why)
        return asyncio.Task(coroutine, loop=loop, **options)

    LOOP.soon(lambda: asyncio.get_running_loop().set_task_factory(stopped_and_made))
    waits = _Daemons().submit(handlers.wait, asyncio.sleep(FOREVER))
    assert waits.exception(timeout=60) is why


def test_a_coroutine_that_does_not_heed_it_hangs_as_a_thread_does(bench):
    release = []

    @bench.handle(timeout=0.1)
    async def stubborn(_payload, _context):
        while not release:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    task_id = bench.put()
    with pytest.raises(ProcessUnusable, match="handlers that hang") as unusable:
        bench.run(in_flight=1, settle_time=0.4)
    release.append(1)
    assert unusable.value.report.timed_out == 1
    assert bench.queue.get(task_id).error.type == "TimeoutError"


NO_MORE_ITS_OWN = {
    "cancelled": lambda queue, task_id: queue.cancel(task_id),
    "leases_lost": lambda queue, task_id: queue.store.table._remove(task_id),
}


@pytest.mark.parametrize("outcome", NO_MORE_ITS_OWN)
def test_a_coroutine_whose_task_is_cancelled_or_lost_is_cancelled_and_cleans_up(bench, outcome):
    told = []

    @bench.handle()
    async def waits(_payload, context):
        await asyncio.to_thread(NO_MORE_ITS_OWN[outcome], bench.queue, context.task_id)
        try:
            await stopped(told)
        finally:
            told.append(context.cancelled)

    bench.put()
    # Its timeout would cancel it, too, and is not to be what does.
    report = bench.run(heartbeat=0.05, lease=1, task_timeout=120)
    assert (getattr(report, outcome), report.timed_out) == (1, 0)
    assert told == ["cleaned up", outcome == "cancelled"]


def test_a_coroutine_that_has_heard_of_it_by_itself_is_left_to_clean_up(bench, caplog):
    told = []

    @bench.handle()
    async def asks(_payload, context):
        await asyncio.to_thread(bench.queue.cancel, context.task_id)
        try:
            await context.aheartbeat()
        except Cancelled:
            await asyncio.sleep(0.3)  # several heartbeats of the processor
            told.append("cleaned up")
            raise

    bench.put()
    assert bench.run(heartbeat=0.05, lease=1).cancelled == 1
    assert told == ["cleaned up"]
    assert "None" not in caplog.text  # such as the line in which the loop would be blocked


def test_checkpoints_and_heartbeats_are_awaited_and_what_would_block_is_refused(bench):
    starts = []

    @bench.handle()
    async def steps(_payload, context):
        starts.append(context.last_checkpoint)
        if context.attempt == 1:
            await context.acheckpoint({"step": 2})
            await context.aheartbeat()
            context.heartbeat()

    task_id = bench.put()
    bench.run(backoff=Backoff(immediate=1))
    assert starts == [None, {"step": 2}]
    (past,) = bench.queue.get(task_id).history
    assert (past.error_type, "await context.aheartbeat()" in past.message) == ("BlocksOthers", True)


def test_who_blocks_the_loop_is_told_with_the_line(bench, caplog):
    @bench.handle()
    async def blocks(_payload, _context):
        time.sleep(0.6)  # noqa: ASYNC251 - that is what it is about

    bench.put()
    with caplog.at_level(logging.WARNING, "lifoq.attempt"):
        assert bench.run(heartbeat=0.1, lease=2).succeeded == 1
    assert "time.sleep(0.6)" in caplog.text


def test_a_loop_that_comes_round_is_not_told_as_blocked():
    handlers = AsyncHandlers("asks")
    for _ in range(2):
        assert handlers.blocked_at() is None
        AsyncHandlers("comes round").wait(asyncio.sleep(0))


def test_a_stop_hands_back_what_is_cancelled_once_it_has_cleaned_up(bench):
    told, runs = [], threading.Semaphore(0)

    @bench.handle()
    async def endless(_payload, _context):
        runs.release()
        await stopped(told, clean_up=0.1)

    task_id = bench.put()
    worker = WorkerSettings(**{**QUICK, "task_timeout": FOREVER})
    processor = Processor(bench.queue.store, bench.registry, worker)
    served = threading.Thread(target=processor.serve, daemon=True)
    served.start()
    assert runs.acquire(timeout=300)
    processor.stop(grace=0.1)
    served.join(300)
    assert not served.is_alive()
    assert told == ["cleaned up"]
    left = bench.queue.get(task_id)
    assert (left.status, left.attempts) == (Status.PENDING, 0)


def test_what_surrounds_an_attempt_and_an_async_set_up_are_of_the_coroutines_world(bench):
    span = contextvars.ContextVar("span", default="none")
    seen, loops = [], []

    @bench.registry.setup
    async def connect():
        loops.append(asyncio.get_running_loop())

    @bench.registry.around_attempts
    @contextlib.contextmanager
    def traced(context):
        span.set(context.task_type)
        yield
        seen.append("left")

    @bench.handle()
    async def handler(_payload, _context):
        seen.append(span.get())
        loops.append(asyncio.get_running_loop())

    bench.put()
    bench.run()
    assert seen == ["a", "left"]
    assert loops[0] is loops[1]


RUNS = """
import sys, threading
from lifoq import Processor, Queue, Registry, WorkerSettings

registry, queue = Registry(), Queue.in_memory()
{handler}
queue.put("a")
report = Processor(queue.store, registry, WorkerSettings(linger=0, task_timeout=0.2)).run()
print(report.claimed, "asyncio" in sys.modules)
"""
PLAIN = "registry.task('a')(lambda payload, context: None)"
HANGS = """
import asyncio
@registry.task("a")
async def hangs(payload, context):
    await asyncio.to_thread(threading.Event().wait)
"""


@pytest.mark.parametrize(("handler", "answer"), [(PLAIN, "1 False"), (HANGS, "1 True")])
def test_a_process_without_async_handlers_has_no_asyncio_and_one_with_them_can_end(handler, answer):
    ended = subprocess.run(
        [sys.executable, "-c", RUNS.format(handler=handler)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert (ended.stdout.strip(), ended.stderr) == (answer, "")


def test_a_call_beside_a_coroutine_that_is_cancelled_before_it_begins_is_not_made(monkeypatch):
    waiting, made = [], []
    monkeypatch.setattr(SYSTEM, "spawn", lambda call, _name: waiting.append(call))
    future = _Daemons().submit(made.append, 1)
    assert future.cancel()
    waiting[0]()
    assert made == []


def test_what_was_done_all_the_same_when_it_was_cancelled_has_succeeded(bench):
    @bench.handle(timeout=0.1)
    async def finishes(_payload, _context):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(FOREVER)
        return "done"

    task_id = bench.put()
    assert bench.run().succeeded == 1
    assert bench.queue.get(task_id).result == "done"


# Batches


def test_an_async_handler_of_a_batch_gets_lists_and_its_coroutine_has_the_name_of_the_first(bench):
    @bench.handle(batch=10)
    async def sends(payloads, contexts):
        assert asyncio.current_task().get_name() == f"a {contexts[0].task_id}"
        await asyncio.sleep(0.001)
        return [payload * 10 for payload in payloads]

    ids = [bench.put(n) for n in range(3)]
    assert bench.run().succeeded == 3
    assert [bench.queue.get(task_id).result for task_id in ids] == [0, 10, 20]


def test_an_async_batch_is_stopped_once_the_time_of_all_of_its_tasks_is_over(bench):
    left = []

    @bench.handle(batch=10)
    async def hangs(_payloads, contexts):
        try:
            await asyncio.sleep(FOREVER)
        finally:
            left.extend(context.remaining for context in contexts)

    ids = [bench.queue.put("a", timeout=timeout).task_id for timeout in (0.1, 0.3)]
    assert bench.run().timed_out == 2
    assert left == [0, 0]
    assert {bench.queue.get(task_id).error.type for task_id in ids} == {"TimeoutError"}
