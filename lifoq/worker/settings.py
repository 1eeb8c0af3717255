"""The settings of a processor."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from lifoq.basics.numbers import check_count, check_rate, check_seconds
from lifoq.errors import InvalidInput
from lifoq.items.lifetimes import LONGEST_LEASE
from lifoq.worker.handlers.backoff import Backoff

UnknownTypes = Literal["wait", "fail"]


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """The settings of a processor.

    Raises:
        InvalidInput: A value cannot work.

    Examples:
        >>> from lifoq import WorkerSettings
        >>> settings = WorkerSettings(in_flight=20, task_timeout=10, rate_limit=50)
    """

    window: float = 60.0
    """The time, in seconds, for which a run claims tasks."""
    task_timeout: float = 60.0
    """The longest time, in seconds, that an attempt may take; also the default of a task type."""
    lease: float = 30.0
    """The time, in seconds, for which a claim holds without a heartbeat: a dead worker keeps its
    task for so long."""
    heartbeat: float = 10.0
    """The time, in seconds, between two heartbeats. It is shorter than the lease."""
    in_flight: int = 10
    """The number of tasks that this worker runs at a time."""
    page: int = 10
    """The least number of rows that a poll reads first: it reads one for each slot, too."""
    max_attempts: int = 5
    """The claims until FAILURE, of task types that do not say."""
    backoff: Backoff = field(default_factory=Backoff)
    """The wait of a failed task before its next attempt, of task types that do not say."""
    rate_limit: float | None = None
    """The starts per second, over all task types; None: no limit."""
    adaptive_threshold: float | None = None
    """An age of the oldest waiting task, in seconds. Up to it the oldest task is served first,
    beyond it the newest. None: always the newest. It is for tasks that are all wanted for at least
    so long: then the oldest is the one whose time ends first. It is not for tasks with different
    deadlines."""
    shared_limits: bool = False
    """True if ``rate_limit``, and the ``in_flight``, ``units_in_flight`` and ``rate_limit`` of task
    types, hold over all workers of the queue together. Each worker leases its quota of them in the
    table, while it uses it."""
    total_in_flight: int | None = None
    """The number of tasks at a time over all workers together, if limits are shared. ``in_flight``
    is the number that one worker runs at a time."""
    fair_share: bool = False
    """True if the keys that wait share the slots evenly. Within a key, the order is as ever."""
    types_elsewhere: frozenset[str] = frozenset()
    """Task types that are passed over, since workers of another kind handle them, such as ``lifoq
    work``."""
    unknown_types: UnknownTypes = "wait"
    """The treatment of tasks for whose type no handler is registered. ``wait``: they are passed
    over, and wait for a worker that has one. ``fail``: they go to FAILURE at once."""
    linger: float = 0.2
    """The time, in seconds, for which an empty queue is polled before it is believed to be empty:
    indexes are eventually consistent. They lag by milliseconds as a rule. A task that appears later
    is found by its own kick or by the sweep. A run polls for longer while a retry of its own is due
    within five seconds; with 0, never."""
    settle_time: float = 5.0
    """The time, in seconds, that is kept at the end of a run, after the last timeout, for writing
    outcomes."""

    def __post_init__(self) -> None:
        self._check_choices()
        for name in ("window", "task_timeout", "lease", "heartbeat"):
            check_seconds(name, getattr(self, name))
        for name in ("linger", "settle_time"):
            check_seconds(name, getattr(self, name), zero=True)
        if self.lease > LONGEST_LEASE:
            problem = f"is longer than {LONGEST_LEASE:g} s; shorten it, heartbeats extend it"
            raise InvalidInput("lease", self.lease, problem)
        if self.heartbeat >= self.lease:
            problem = f"must be shorter than the lease, which is {self.lease:g} s"
            raise InvalidInput("heartbeat", self.heartbeat, problem)
        for name in ("in_flight", "page", "max_attempts"):
            check_count(name, getattr(self, name))
        if self.rate_limit is not None:
            check_rate("rate_limit", self.rate_limit)
        self._check_total(self.total_in_flight)
        if self.adaptive_threshold is not None:
            check_seconds("adaptive_threshold", self.adaptive_threshold)

    def _check_choices(self) -> None:
        if self.unknown_types not in get_args(UnknownTypes):
            raise InvalidInput("unknown_types", self.unknown_types, "must be 'wait' or 'fail'")
        for name in ("fair_share", "shared_limits"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(name, getattr(self, name), "must be True or False")

    def _check_total(self, total: int | None) -> None:
        if total is None:
            return
        check_count("total_in_flight", total)
        if not self.shared_limits:
            problem = "holds over all workers together: it needs shared_limits"
            raise InvalidInput("total_in_flight", total, problem)
