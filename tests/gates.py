"""Gates of one worker, for tests that ask them without a run."""

from collections.abc import Iterable
from typing import Any

from lifoq import WorkerSettings
from lifoq.basics.host import SYSTEM, Host
from lifoq.items.schema import Preview
from lifoq.store.candidate import Candidate
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.gates.gates import Gates
from lifoq.worker.handlers.registry import Registry


def row(task_type: str = "a", *, weight: int | None = None, **terms: Any) -> Candidate:
    """Return a row of the index: a task that waits."""
    preview = {} if weight is None else {"preview": {Preview.WEIGHT: weight}}
    usual = {"task_id": "t", "task_type": task_type, "created": 1, "expires_at": 10**18}
    return Candidate(**{**usual, **preview, **terms})


def gates_of(
    kinds: Iterable[tuple[str, dict[str, Any]]],
    *,
    host: Host = SYSTEM,
    store: Store | None = None,
    **settings: Any,
) -> Gates:
    """Return the gates of a worker with these task types, each with its terms, and settings."""
    registry = Registry()
    for name, terms in kinds:
        registry.task(name, **terms)(lambda _payload, _context: None)
    return Gates(
        ProcessSetup(
            store=store or Store(MemoryTable(), host=host),
            registry=registry,
            settings=WorkerSettings(**settings),
            host=host,
            name=host.new_id(),
        )
    )
