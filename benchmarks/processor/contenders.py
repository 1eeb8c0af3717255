"""The processor, and what it is measured against: threads that do nothing but its two writes."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.processor.ground import Ground
from lifoq import Context, Processor, Registry, RunReport, WorkerSettings

Request = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Writes:
    """The two conditional writes of a task that succeeds, as the product sends them."""

    claim: Request
    settle: Request


def work_off(ground: Ground, *, in_flight: int) -> RunReport:
    """Run the processor, with an empty handler, until the queue is empty."""
    registry = Registry()
    registry.task("empty")(nothing)
    return Processor(ground.queue.store, registry, settings(in_flight)).run()


def settings(in_flight: int) -> WorkerSettings:
    """Those of a deployed stage, but that an empty queue is believed at once."""
    return WorkerSettings(in_flight=in_flight, linger=0)


def nothing(_payload: object, _context: Context) -> None:
    pass


def captured(ground: Ground) -> Writes:
    """Have one task worked off, and keep the requests."""
    ground.fill(1)
    with listening("UpdateItem", ground.client) as seen:
        work_off(ground, in_flight=1)
    claim, settle = seen
    return Writes(claim=claim, settle=settle)


@contextmanager
def listening(operation: str, *clients: Any) -> Iterator[list[Request]]:
    """The requests of this kind that the clients are asked to send during the block."""
    seen: list[Request] = []
    event = f"provide-client-params.dynamodb.{operation}"

    def see(params: Request, **_: Any) -> None:
        seen.append(dict(params))

    for client in clients:
        client.meta.events.register(event, see)
    try:
        yield seen
    finally:
        for client in clients:
            client.meta.events.unregister(event, see)


def bare_loop(ground: Ground, writes: Writes, task_ids: Sequence[str], *, threads: int) -> None:
    """Claim and settle each of these tasks. Nothing else: the requests are those of one task, but
    for the key; so nobody looks for a task, renders an expression or reads an answer."""
    client, left, lock = ground.client, iter(task_ids), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                task_id = next(left, None)
            if task_id is None:
                return
            key = {"taskId": {"S": task_id}}
            client.update_item(**{**writes.claim, "Key": key})
            client.update_item(**{**writes.settle, "Key": key})

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
