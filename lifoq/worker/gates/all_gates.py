"""All that may hold a waiting task back, in the order in which it is asked before the claim.

Each row is a gate with a file of its own beside this one. The order is that for one task. Before
that, a poll is sent only where all gates about the worker and those of the process about a type say
that some task could start (``Gate.wait_of_any``). ``BY_DYNAMODB`` names the conditions of
the claim itself. Right before the claim and after it the thread of the attempt asks five gates once
more (``Gate.may_begin``): ``time_left``, ``key_rate``, ``cancelled_or_replaced``, ``quota`` and
``unit_quota``. Then a payload that lies in the bucket is read, and a batch is gathered.

A gate is imported only where it is on. The recipe to add one is in ``lifoq.worker``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from lifoq.worker.gates.gate import About, Gate
from lifoq.worker.handlers.registry import TaskType
from lifoq.worker.settings import WorkerSettings


def _always(_settings: WorkerSettings, _kind: TaskType) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class GateRow:
    """A gate: its file, and where it is on."""

    name: str
    """The name of the file, and of the gate where its reason is told."""
    about: About
    says: str
    """The reason why a task waits, for the page that lists them."""
    on: Callable[[WorkerSettings, Any], bool] = _always
    """Takes the worker's settings and a task type (None for a gate of no type). Returns True if the
    gate is on."""
    each_type: bool = True
    """False for a gate about keys that does not depend on the type."""
    of_process: bool = False
    """True if the gate lives as long as the process, else as long as the run. Only a gate about the
    worker or a type can."""

    @property
    def of_types(self) -> bool:
        """True if each task type has a gate of its own."""
        return self.each_type and self.about in (About.TYPE, About.KEY)

    def make(self, setup: Any, kind: TaskType | None = None) -> Gate:
        """Make the gate."""
        gate: Gate = import_module(f"{__package__}.{self.name}").make(setup, kind)
        gate.name, gate.about = self.name, self.about
        return gate


ROWS: Final = (
    # Asked of each row that is read.
    GateRow(
        name="damaged",
        about=About.TASK,
        says="The item cannot be read as a task. It goes to FAILURE with the reason.",
    ),
    GateRow(
        name="known_type",
        about=About.TASK,
        says="The worker has no handler for the task type.",
    ),
    GateRow(
        name="already_claimed_or_refused",
        about=About.TASK,
        says="The worker has the task already, was just refused it, or has too little time left "
        "for it in this run.",
    ),
    GateRow(
        name="expired",
        about=About.TASK,
        says="The task's deadline is over: it is shed.",
    ),
    # Asked before the next task is chosen.
    GateRow(
        name="run_over",
        about=About.WORKER,
        says="The worker claims no more: its run is about to end, the database does not answer, or "
        "no slot or thread can be had.",
    ),
    GateRow(
        name="too_many_unsettled",
        about=About.WORKER,
        says="Too many calls are claimed and not settled: outcomes are written slowly.",
    ),
    GateRow(
        name="time_left",
        about=About.TYPE,
        says="The run has less time left than the task may take. The next run starts it.",
    ),
    GateRow(
        name="suspected_poison",
        about=About.TYPE,
        says="A worker has died with the task, and another such task is at work, of any type. They "
        "run one by one; the other tasks of the type pass.",
    ),
    GateRow(
        name="hours",
        about=About.TYPE,
        on=lambda _, kind: kind.hours is not None,
        says="The type runs in a window of the day only (`hours`).",
    ),
    GateRow(
        name="batch",
        about=About.TYPE,
        on=lambda _, kind: bool(kind.batch and kind.batch_wait),
        says="The task's batch is not full yet (`batch_wait`).",
    ),
    GateRow(
        name="key_slots",
        about=About.KEY,
        on=lambda _, kind: kind.per_key is not None,
        says="As many tasks of the same key are at work as `per_key` allows, here or elsewhere.",
    ),
    GateRow(
        name="key_rate",
        about=About.KEY,
        on=lambda _, kind: kind.rate_per_key is not None,
        says="A task of the same key has just started (`rate_per_key`).",
    ),
    GateRow(
        name="fair_share",
        about=About.KEY,
        each_type=False,
        on=lambda settings, _: settings.fair_share,
        says="The task's key has had more than its share of the slots, and the worker first reads "
        "on for other keys (`fair_share`).",
    ),
    # Entered by the task that was chosen.
    GateRow(
        name="slots",
        about=About.WORKER,
        of_process=True,
        says="All slots of the worker are taken (`in_flight`).",
    ),
    GateRow(
        name="rate",
        about=About.WORKER,
        of_process=True,
        on=lambda settings, _: settings.rate_limit is not None and not settings.shared_limits,
        says="The worker has started as many tasks as its `rate_limit` allows.",
    ),
    GateRow(
        name="quota",
        about=About.WORKER,
        of_process=True,
        on=lambda settings, _: (
            settings.shared_limits
            and (settings.total_in_flight, settings.rate_limit) != (None, None)
        ),
        says="This worker's part of the queue's limit over all workers is used "
        "(`shared_limits`, `total_in_flight`).",
    ),
    GateRow(
        name="slots",
        about=About.TYPE,
        of_process=True,
        on=lambda settings, kind: kind.in_flight is not None and not settings.shared_limits,
        says="All slots of the task type are taken (`in_flight` of the type).",
    ),
    GateRow(
        name="rate",
        about=About.TYPE,
        of_process=True,
        on=lambda settings, kind: kind.rate_limit is not None and not settings.shared_limits,
        says="The worker has started as many tasks of the type as its `rate_limit` allows.",
    ),
    GateRow(
        name="units_in_flight",
        about=About.TYPE,
        of_process=True,
        on=lambda settings, kind: kind.units_in_flight is not None and not settings.shared_limits,
        says="Tasks of the type are at work that weigh as much as `units_in_flight` allows; or a "
        "heavy one comes first, and is waited for.",
    ),
    GateRow(
        name="cooldown",
        about=About.TYPE,
        of_process=True,
        on=lambda _, kind: kind.cooldown is not None,
        says="A task of the type has just failed on this worker (`cooldown`).",
    ),
    GateRow(
        name="busy_downstream",
        about=About.TYPE,
        of_process=True,
        says="The downstream has refused tasks of the type (`Busy`).",
    ),
    GateRow(
        name="adaptive_concurrency",
        about=About.TYPE,
        of_process=True,
        on=lambda _, kind: kind.adaptive_concurrency,
        says="As many tasks of the type are at work as the downstream was found to take "
        "(`adaptive_concurrency`).",
    ),
    GateRow(
        name="quota",
        about=About.TYPE,
        of_process=True,
        on=lambda settings, kind: (
            settings.shared_limits
            and (kind.in_flight is not None or any(rate.of is None for rate in kind.rates))
        ),
        says="This worker's part of the type's limit over all workers is used.",
    ),
    GateRow(
        name="unit_quota",
        about=About.TYPE,
        of_process=True,
        on=lambda settings, kind: settings.shared_limits and kind.weight is not None,
        says="This worker's part of the type's limit in units over all workers has no room for the "
        "task; or a heavy one comes first, and is waited for.",
    ),
    # Asked once the task is claimed.
    GateRow(
        name="cancelled_or_replaced",
        about=About.TASK,
        says="After the claim: the task was cancelled, or put anew as another type.",
    ),
)
"""The gates. Between them and the start of a task stand the order
(``backlog.newest_or_oldest_first``, and the excess of ``fair_share``) and ``BY_DYNAMODB``."""

BY_DYNAMODB: Final = {
    "waits": "The task is still PENDING, and its deadline is not over.",
    "as_shown": "Where tasks have limits by key: its type and its key are those of the row.",
    "key_slots": "One of the key's slots is free, or was left behind by a claim that has ended.",
    "key_rate": "The key's last start is long enough ago.",
}
"""The conditions under which DynamoDB grants a claim, for the page (``items.transitions`` and
``store.keyed_claims`` have them). A gate may be out of date, and an index may
lag: such a claim is refused here, and nothing starts."""
