"""The parts of a worker that gates are made from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lifoq.basics.host import Host
from lifoq.store.candidate import Candidate
from lifoq.store.store import Store
from lifoq.worker.handlers.registry import Registry, TaskType
from lifoq.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from lifoq.store.key_starts_seen import KeyStarts
    from lifoq.worker.gates.gate import Gate
    from lifoq.worker.known_types import Types


@dataclass(frozen=True, kw_only=True)
class ProcessSetup:
    """The parts of a process, for gates that live as long as it does."""

    store: Store
    registry: Registry
    settings: WorkerSettings
    host: Host
    name: str
    """The name of the process, in its claims and in the quota tables."""
    of_worker: "dict[str, Gate]" = field(default_factory=dict)
    """The gates about the worker that were made before, by name."""
    from_run_to_run: dict[str, Any] = field(default_factory=dict)
    """The state that gates of a run leave to those of the next one, by name."""


class ClaimedFacts(Protocol):
    """The tasks that a run has, for gates that go by them."""

    def has(self, task_id: str, now: int) -> bool:
        """Return True if the run has this task, or was refused it a moment ago."""
        ...

    def of_key(self, task_type: str, key: str | None) -> tuple[int, int]:
        """Return how many tasks of a key are being claimed, and how many are at work."""
        ...

    @property
    def calls_not_settled(self) -> int:
        """The calls of handlers whose tasks are not all settled."""
        ...

    @property
    def has_suspected_poison(self) -> bool:
        """True if a suspected poison is being claimed or runs."""
        ...


class ClaimingFacts(Protocol):
    """The state of a run, for the gate that ends its claiming."""

    def claims_no_more(self, now: int) -> str | None:
        """Return why the run claims no more tasks; None while it does."""
        ...


@dataclass(frozen=True, kw_only=True)
class RunSetup:
    """The parts of one run, for gates that live as long as it does."""

    process: ProcessSetup
    kind_of: Callable[[str], TaskType]
    """The task type of a name, also of one that nobody has registered."""
    types: "Types"
    claimed: ClaimedFacts
    claiming: ClaimingFacts
    rows_like: Callable[[Candidate], Iterator[Candidate]]
    """Yields the waiting rows of the same scheduling class."""
    clock: Callable[[], int]
    """The queue's time, in epoch microseconds."""
    ends_at: int
    """Monotonic microseconds after which no handler is started and no outcome written."""
    key_starts: "KeyStarts | None"
    """The last starts of keys that claims have seen."""
