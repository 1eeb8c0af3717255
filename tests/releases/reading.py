"""Say, as JSON on standard output, what the lifoq of this process makes of samples on its standard
input: ``python reading.py < samples.json``.

A release's record holds this file as it was then, and runs it with the release's own packages. So
it imports from lifoq and Python alone. What it tells is compared by name: a name may be added, and
none may go.
"""

import base64
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from hashlib import sha256
from typing import Any

import lifoq
from lifoq import Queue, Registry, Sweeper, WorkerSettings
from lifoq.api import answers, requests
from lifoq.aws.dynamo_values import plain
from lifoq.client.connection import Connection
from lifoq.client.listing import LISTED, Wanted
from lifoq.ends.changes import was_shed
from lifoq.ends.end import end_of
from lifoq.environment import Environment, Variable
from lifoq.errors import InvalidInput
from lifoq.health import found_limits, pressure, sweep_note, worker_notes
from lifoq.health.open_tasks_of_worker_groups import decode as long_groups
from lifoq.ingest.mapping import IngestMapping
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import OWN_PREFIX, Status
from lifoq.items.task import Task
from lifoq.operating import pause_note_in_table
from lifoq.operating.deployment import Deployment
from lifoq.schedules.event import new_task
from lifoq.store.large_values import LargeValues, MemoryBlobs
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.targets.configured import decode as targets
from lifoq.testing import TurnableHost
from lifoq.worker.processor import Processor

LONGEST = 300
"""Characters of a text that are told; of a longer one its hash is."""
NOBODY_HAS = "nobody.has"
"""A task type without a handler."""
HOUR = 3600.0
"""Seconds by which time passes before what was due, or lost, is looked at."""


def told(samples: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is read of the samples, and what becomes of their tasks."""
    queue, host = _queue(samples)
    now = samples["now"]
    ids = [item["taskId"]["S"] for item in samples["items"]]
    tasks = {name: queue.get(name) for name in ids if not name.startswith(OWN_PREFIX)}
    return {
        "tasks": {name: _plain(task) for name, task in tasks.items()},
        "answers": {
            name: _plain(answers.whole(task, now=now)) for name, task in tasks.items() if task
        },
        "listings": {
            status: sorted(task.task_id for task in queue.search(Wanted(status=status)).tasks)
            for status in LISTED
        },
        "notes": _notes(queue, now),
        "ends": [_end(record) for record in samples["changes"]],
        "parameters": {
            name: _parameter(name, text) for name, text in samples["parameters"].items()
        },
        "environments": {name: _environment(one) for name, one in samples["environments"].items()},
        "schedules": {name: _scheduled(text) for name, text in samples["schedules"].items()},
        "requests": [_asked(partial(requests.new_task, body)) for body in samples["requests"]],
        # Last, since it changes them.
        "lives": _lives(queue, host, {name: task for name, task in tasks.items() if task}),
    }


def _queue(samples: Mapping[str, Any]) -> tuple[Queue, TurnableHost]:
    """Return a queue in memory with the samples' items, at the time at which they were written."""
    host = TurnableHost()
    host.advance((samples["now"] - host.now()) / 1e6)
    table, blobs = MemoryTable(), MemoryBlobs()
    for item in samples["items"]:
        table.damage(plain(item))
    for key, content in samples["objects"].items():
        blobs.put(key, base64.b64decode(content))
    lifetimes = Lifetimes(deadline=86_400, shed_at_deadline=True, task_tokens=True)
    large = LargeValues(blobs, host=host)
    return Queue(Store(table, lifetimes=lifetimes, host=host, large=large), host=host), host


def _notes(queue: Queue, now: int) -> dict[str, Any]:
    workers_item = queue.store.table.get(pressure.NOTE)
    return {
        "sweep": _plain(sweep_note.read(queue.store)),
        "starts": _plain(pressure.measure(queue.store, now=now)),
        "limits": _plain(found_limits.of(workers_item)),
        "workers": _plain(worker_notes.of(workers_item)),
        "pause": _plain(pause_note_in_table.read(_PauseTable(queue), "the table")),
    }


class _PauseTable:
    """Reads the one item that operators read past the library."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def call(self, _service: str, _operation: str, **asked: Any) -> dict[str, Any]:
        item = self._queue.store.table.get(asked["Key"]["taskId"]["S"]) or {}
        return {"Item": {name: {"S": value} for name, value in item.items()}}


def _end(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a change of the table tells, to whom it concerns."""
    end = end_of(record)
    message = {} if end is None else _plain(json.loads(end.message(queue="q")))
    attributes = {} if end is None else end.attributes()
    return {"shed": was_shed(record), "message": message, "attributes": attributes}


def _parameter(name: str, text: str) -> Any:
    kind = Deployment if name.endswith("/deployment") else Connection
    return _plain(kind.decode(text, source=name))


def _environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """Return what a function reads of its environment, as far as that has it."""
    environment = Environment(variables)
    read: dict[str, tuple[Variable, Callable[[], Any]]] = {
        "lifetimes": (Variable.LIFETIMES, environment.lifetimes),
        "worker": (Variable.WORKER, environment.worker),
        "deployed": (Variable.DEPLOYED, lambda: variables[Variable.DEPLOYED]),
        "mapping": (
            Variable.INGEST_MAPPING,
            lambda: _asked(lambda: IngestMapping.decode(environment.ingest_mapping)),
        ),
        "targets": (Variable.TARGETS, lambda: _asked(lambda: targets(environment.targets or "{}"))),
        "long tasks": (Variable.LONG_TASKS, lambda: long_groups(environment.long_tasks or "{}")),
        "queue": (Variable.QUEUE, lambda: environment.queue_name),
        "table": (Variable.TABLE, lambda: environment.table_name),
    }
    return {name: _plain(value()) for name, (key, value) in read.items() if key in variables}


def _scheduled(text: str) -> Any:
    """Return the task that a schedule's event puts; nothing of an event that is no put."""
    event = json.loads(text)
    is_put = isinstance(event, dict) and {"taskType", "load"} & event.keys()
    return _asked(partial(new_task, event)) if is_put else None


def _asked(read: Callable[[], Any]) -> dict[str, Any]:
    """Return what somebody asks for; nothing where it is refused. A term that a later release has
    an older one refuses: nothing is done by halves, and who asked tries again."""
    try:
        return {"is": _plain(read())}
    except (InvalidInput, TypeError):
        return {}


def _lives(queue: Queue, host: TurnableHost, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """Let the tasks live on, by every way that leads from where they are, and return how each of
    them ended. Those who hold a lease settle; an operator brings back what failed; the sweep comes
    by, and workers do what waits."""
    store = queue.store
    host_now = host.now()
    for task in tasks.values():
        holds = task.status is Status.TAKEN and (task.lease_expires or 0) > host_now + 60_000_000
        if holds and task.cancel_asked is None:
            store.extend(task, lease=HOUR)
            store.succeed(task, '"by who held it"')
        elif holds:
            store.end_cancelled(task)
        if task.status is Status.FAILURE:
            queue.redrive(task.task_id)
    host.advance(HOUR)
    registry = _registry(task.task_type for task in tasks.values())
    settings = WorkerSettings(linger=0, shared_limits=True, total_in_flight=8, rate_limit=1000.0)
    swept = Sweeper(store, registry, max_attempts=5, host=host).run()
    ran = Processor(store, registry, settings, host=host).run()
    after = {name: queue.get(name) for name in tasks}
    return {
        "swept": {
            "leases expired": swept.leases_expired,
            "failed": swept.failed,
            "cancelled": swept.cancelled,
            "promoted": swept.promoted,
            "damaged": swept.dead_lettered,
            "shed": swept.shed,
            "unknown": dict(swept.unknown),
        },
        "ran": {"succeeded": ran.succeeded, "failed": ran.failed, "retried": ran.retried},
        "tasks": {name: None if task is None else _fate(task) for name, task in after.items()},
    }


def _registry(types: Iterable[str]) -> Registry:
    """Return handlers of all these types. One that a later release has a sample of is done without
    the limits that it has there."""
    registry = Registry()

    def work(payload: Any, context: Any) -> dict[str, Any]:
        """Return what a handler is given of a task."""
        return {
            "payload": payload,
            "attempt": context.attempt,
            "checkpoint": context.last_checkpoint,
            "key": context.key,
        }

    limits: dict[str, Any] = {
        "check": {"in_flight": 8, "rate_limit": 1000.0},
        "keyed": {"per_key": 1},
        "paced": {"rate_per_key": 0.01},
    }
    for name in {*types} - {NOBODY_HAS}:
        registry.task(name, **limits.get(name, {}))(work)
    return registry


def _fate(task: Task) -> dict[str, Any]:
    """Return how a task ended, without times and ids, which differ from run to run."""
    return {
        "status": task.status.value,
        "attempts": task.attempts,
        "result": _plain(task.result),
        "error": task.error and task.error.type,
        "key": task.key,
        "head start": task.head_start,
        "preview": dict(task.preview),
        "max attempts": task.max_attempts,
        "timeout": task.timeout,
        "replaced": task.replaced,
        "history": [past.ended.value for past in task.history],
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON."""
    told = value
    if isinstance(value, Enum):
        told = value.value
    elif is_dataclass(value) and not isinstance(value, type):
        told = {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    elif isinstance(value, Mapping):
        told = {str(name): _plain(one) for name, one in value.items()}
    elif isinstance(value, list | tuple):
        told = [_plain(one) for one in value]
    elif isinstance(value, set | frozenset):
        told = sorted(map(_plain, value))
    elif isinstance(value, str) and len(value) > LONGEST:
        told = f"{len(value)} characters, {sha256(value.encode()).hexdigest()}"
    return told


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):  # for what else is printed
        found = told(json.load(sys.stdin)) | {"lifoq": lifoq.__file__}
    json.dump(found, sys.stdout)
