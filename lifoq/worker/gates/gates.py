"""Asks the gates: may the next task start, in how long, and why not?

``Gates`` has those of the process, ``RunGates`` those of one run beside them. Both ask in the order
of ``all_gates``. Where a limit holds over all workers together, a gate of the process is a quota.
"""

import itertools
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.worker.gates.all_gates import ROWS
from lifoq.worker.gates.gate import About, Gate, HowItLeft
from lifoq.worker.gates.gate_inputs import ProcessSetup, RunSetup

if TYPE_CHECKING:
    from lifoq.worker.gates.fair_share import FairShare

ANY_TASK: Final = Candidate(task_id="", task_type="", created=0, expires_at=0)
"""Stands for any task where gates about the worker are asked, which look at none."""


class Passage:
    """A task's passage through gates: it has entered them all, and leaves them all. A gate of the
    process is entered once for each call of a handler, which the tasks of a batch share."""

    def __init__(
        self, gates: "Gates", entered: list[tuple[Gate, Any]], weights: dict[str, int], now: int
    ) -> None:
        """``weights``: of each task of the call, by its id; empty if its type has no weight."""
        self._gates = gates
        self._entered = entered
        self._weights = weights
        self._since = now

    def join(self, row: Candidate, now: int) -> bool:
        """Let another task of the same batch in. Return False if it has to wait for the next
        call."""
        if not self._weights:
            return True
        with self._gates.lock:
            if not all(gate.may_join(row, now) for gate, _ in self._entered):
                return False
            self._weigh({**self._weights, row.task_id: row.weight}, now)
        return True

    def weighed(self, task_id: str, weight: int) -> None:
        """Note what a task of the call weighs in truth; 0 if it leaves the call. Nothing happens
        once the handler has returned."""
        if not self._weights:
            return
        with self._gates.lock:
            self._weigh({**self._weights, task_id: weight}, self._gates.host.monotonic())
        self._gates.tell_free()

    def _weigh(self, weights: dict[str, int], now: int) -> None:
        self._weights, whole = weights, sum(weights.values())
        self._entered = [
            (gate, gate.weighed(receipt, whole, now)) for gate, receipt in self._entered
        ]

    def undo(self) -> None:
        """Leave, since no task was started."""
        after = (self._gates.host.monotonic() - self._since) / MICROSECONDS
        with self._gates.lock:
            for gate, receipt in self._entered:
                gate.undo(receipt, after=after)
        self._gates.tell_free()

    def hangs(self) -> None:
        """Note that the handler goes on, though its time is over."""
        with self._gates.lock:
            for gate, receipt in self._entered:
                gate.hangs(receipt)

    def leave(self, left: HowItLeft) -> None:
        """Leave: the handler has returned."""
        with self._gates.lock:
            for gate, receipt in self._entered:
                gate.leave(receipt, left)
            self._entered = []
        self._gates.tell_free()


class Gates:
    """The gates of one process: about the worker, and about each task type. A task is inside from
    the moment that it is chosen until its handler has returned: also beyond the attempt's timeout,
    and beyond the end of the run. Thread-safe: the run enters, and the threads of handlers
    leave."""

    def __init__(self, setup: ProcessSetup) -> None:
        self.setup = setup
        self.host: Host = setup.host
        self.lock = threading.Lock()
        self.on_free: Callable[[], None] = lambda: None
        """Called in an attempt's thread when its slot is free, perhaps long after the run that
        started it has ended. The run that goes on by then sets it."""
        kept = [row for row in ROWS if row.of_process]
        for row in kept:
            if row.about is About.WORKER and row.on(setup.settings, None):
                setup.of_worker[row.name] = row.make(setup)
        self._of_worker = list(setup.of_worker.values())
        of_type = [row for row in kept if row.about is About.TYPE]
        self._of_type = {
            kind.name: [row.make(setup, kind) for row in of_type if row.on(setup.settings, kind)]
            for kind in setup.registry
        }
        self._of_task = {name: [*self._of_worker, *gates] for name, gates in self._of_type.items()}
        """The gates that a task passes, by its type."""
        every = itertools.chain(self._of_worker, *self._of_type.values())
        self._growing = [gate for gate in every if gate.can_grow]
        """The gates that can ask for more room. Only they may be waiting for an answer."""
        self._weighed = {kind.name: kind for kind in setup.registry if kind.weight is not None}
        """The task types that have a weight, by name."""

    def tell_free(self) -> None:
        """Tell the run that goes on that a task may start."""
        self.on_free()

    def of(self, task_type: str) -> list[Gate]:
        """Return the gates that a task of this type passes."""
        return self._of_task.get(task_type, self._of_worker)

    def named(self, name: str) -> dict[str, Any]:
        """Return the gates of one name, by task type; that of the worker has the name ''."""
        of_all = {"": self._of_worker, **self._of_type}
        found = ((about, gate) for about, gates in of_all.items() for gate in gates)
        return {about: gate for about, gate in found if gate.name == name}

    def enter(self, row: Candidate, now: int) -> Passage | None:
        """Let the next task in, if all gates are open. Where only gates that can grow stand in its
        way, they are asked for more room."""
        with self.lock:
            gates = self.of(row.task_type)
            closed = [gate for gate in gates if gate.wait(row, now) > 0]
            if closed:
                for gate in closed:
                    gate.kept_out(row)
                for gate in closed if all(gate.can_grow for gate in closed) else ():
                    if not gate.ask_for_room(row, now):
                        break  # it cannot have more, so the others are of no use
                return None
            kind = self._weighed.get(row.task_type)
            weights = {} if kind is None else {row.task_id: kind.weight_of(row)}
            return Passage(self, [(gate, gate.enter(row, now)) for gate in gates], weights, now)

    def awaited(self, task_type: str) -> Candidate | None:
        """Return the task that passes before all others of its type; None if there is none."""
        if task_type not in self._weighed:
            return None
        with self.lock:
            awaited = (gate.awaited for gate in self._of_type.get(task_type, ()))
            return next((row for row in awaited if row is not None), None)

    def awaits_no_more(self, task_type: str) -> None:
        """Let the others of the type pass: its awaited task cannot start."""
        with self.lock:
            for gate in self._of_type.get(task_type, ()):
                gate.awaits_no_more()

    def awaits_answer(self, task_type: str, now: int) -> bool:
        """Return True if more room was asked for, and the answer is still worth to be waited for.
        Until then nobody knows whether a task of this type may start."""
        with self.lock:
            return any(gate.answer_due(now) > 0 for gate in self.of(task_type))

    def wait(self, row: Candidate, now: int) -> float:
        """Return the seconds until the task could start; inf until something has changed."""
        with self.lock:
            return max(gate.wait(row, now) for gate in self.of(row.task_type))

    def wait_of_any(self, now: int) -> float:
        """Return the seconds until a task of some registered type could start; inf until one has
        ended."""
        with self.lock:
            of_worker = _poll_wait(self._of_worker, now)
            if of_worker == math.inf:
                return of_worker
            shortest = math.inf if self._of_type else 0.0
            for gates in self._of_type.values():
                shortest = min(shortest, _poll_wait(gates, now))
                if shortest <= of_worker:
                    break  # the others do not matter
            answers = (gate.answer_due(now) for gate in self._growing)
            return max(of_worker, shortest, *answers)

    @property
    def is_stuck(self) -> bool:
        """True if handlers that hang take all slots."""
        with self.lock:
            return any(gate.is_stuck for gate in self._of_worker)

    @property
    def stuck_types(self) -> list[str]:
        """Task types of which no task can start, since handlers that hang take all their slots."""
        with self.lock:
            found = self._of_type.items()
            return [name for name, gates in found if any(gate.is_stuck for gate in gates)]


class RunGates:
    """The gates of one run, beside those of its process. Used by the thread of the run only, but
    for ``refuses``."""

    def __init__(self, gates: Gates, setup: RunSetup) -> None:
        self._gates = gates
        self._setup = setup
        settings = setup.process.settings
        rows = [row for row in ROWS if not row.of_process]
        made = [
            (row.about, row.make(setup))
            for row in rows
            if not row.of_types and row.on(settings, None)
        ]
        self._of_worker = [gate for about, gate in made if about is About.WORKER]
        self._of_any_key = [gate for about, gate in made if about is About.KEY]
        self._of_task = [gate for about, gate in made if about is About.TASK]
        self._rows = [row for row in rows if row.of_types]
        self._of_type: dict[str, list[Gate]] = {}
        self._of_key: dict[str, list[Gate]] = {}
        self._inside: dict[str, list[tuple[Gate, Any]]] = {}
        """The gates about keys that each task has entered, by its id: from its claim until its
        outcome is written."""

    @property
    def fair_share(self) -> "FairShare | None":
        """The gate of fair shares; None where slots are not shared out."""
        found = (gate for gate in self._of_any_key if gate.name == "fair_share")
        return cast("FairShare | None", next(found, None))

    # Asking

    def worker_is_open(self, now: int) -> bool:
        """Return True if the gates of the run about the worker are open. There may be no slot."""
        for gate in self._of_worker:  # noqa: SIM110 - asked often: a loop takes half the time
            if gate.wait_of_any(now) > 0:
                return False
        return True

    def wait_of_any(self, now: int) -> float:
        """Return the seconds for which a poll would be useless; inf until something happens."""
        return self._gates.wait_of_any(now) if self.worker_is_open(now) else math.inf

    def class_is_open(self, row: Candidate, now: int) -> bool:
        """Return True if the gates of the run let tasks of the row's scheduling class start. Those
        of the process are asked as the task enters."""
        return _are_open(self._class_gates(row.task_type), row, now)

    def key_is_open(self, row: Candidate, now: int) -> bool:
        """Return True if a task of the row's key may start."""
        return _are_open(self._key_gates(row), row, now)

    def task_is_open(self, row: Candidate, now: int) -> bool:
        """Return True if this task may start."""
        return _are_open(self._of_task, row, now)

    def key_matters(self, row: Candidate) -> bool:
        """Return True if rows of other keys may have to start before this one."""
        return bool(self._key_gates(row))

    def class_wait(self, row: Candidate, now: int) -> float:
        """Return the seconds until the gates of the run and of the process let tasks of the row's
        class start; inf until something happens."""
        own = (gate.wait(row, now) for gate in self._class_gates(row.task_type))
        return max(self._gates.wait(row, now), *own)

    def key_wait(self, row: Candidate, now: int) -> float:
        """Return the seconds until a task of the row's key may start; inf until something
        happens."""
        return max((gate.wait(row, now) for gate in self._key_gates(row)), default=0.0)

    def awaited(self, task_type: str) -> Candidate | None:
        """Return the task that passes before all others of its type; None if there is none."""
        return self._gates.awaited(task_type)

    def awaits_no_more(self, task_type: str) -> None:
        """Let the others of the type pass: its awaited task cannot start."""
        self._gates.awaits_no_more(task_type)

    def awaits_answer(self, row: Candidate, now: int) -> bool:
        """Return True if nobody knows yet whether the row may start: more room was asked for."""
        return self._gates.awaits_answer(row.task_type, now)

    def reasons(self, row: Candidate, now: int) -> list[tuple[str, str]]:
        """Return why the task waits: the names of the gates that are closed, and what they say, in
        the order of the table."""
        return [(gate.name, says) for gate, says in self.closed(row, now)]

    def closed(self, row: Candidate | None, now: int) -> list[tuple[Gate, str]]:
        """Return the gates that hold the task back, each with what it says, in the order of the
        table. ``row``: None for those that hold back any task of the worker."""
        asked, own = row or ANY_TASK, self._of_worker
        if row is not None:
            of_row = (*self._class_gates(row.task_type), *self._key_gates(row))
            own = [*self._of_task, *self._of_worker, *of_row]
        found = _closed(own, asked, now)  # without the lock, which ``run_over`` takes itself
        with self._gates.lock:
            return found + _closed(self._gates.of(asked.task_type), asked, now)

    def refuses(self, row: Candidate, claim: Claim | None, now: int) -> str | None:
        """Return the name of the gate for which a task that has entered must not begin after all;
        None if it may. Asked in the thread of the attempt, before the claim (``claim`` is None) and
        after it."""
        own = (self._class_gates(row.task_type), self._key_gates(row), self._of_task)
        for gates in (*own, self._gates.of(row.task_type)):
            for gate in gates:
                if not gate.may_begin(row, claim, now):
                    return gate.name
        return None

    # Passing

    def enter(self, row: Candidate, now: int) -> Passage | None:
        """Let a call for this task in, if the gates of the process are open."""
        return self._gates.enter(row, now)

    def enter_key(self, row: Candidate, now: int) -> None:
        """Let the task in at the gates about its key. Those of the process count calls, and were
        entered before, once for all tasks of a batch."""
        gates = self._key_gates(row)
        self._inside[row.task_id] = [(gate, gate.enter(row, now)) for gate in gates]

    def not_started(self, task_id: str, error: Exception) -> None:
        """Note that the claim gave nothing to run."""
        for gate, receipt in self._inside.pop(task_id):
            gate.undo(receipt, after=0.0, error=error)

    def started(self, task_id: str) -> None:
        """Note that the claim was granted."""
        for gate, receipt in self._inside[task_id]:
            gate.started(receipt)

    def settled(self, task_id: str, left: HowItLeft) -> None:
        """Note that the attempt has ended."""
        for gate, receipt in self._inside.pop(task_id):
            gate.leave(receipt, left)

    def _class_gates(self, task_type: str) -> list[Gate]:
        if task_type not in self._of_type:
            self._of_type[task_type] = self._made(About.TYPE, task_type)
        return self._of_type[task_type]

    def _key_gates(self, row: Candidate) -> list[Gate]:
        if row.key is None:
            return self._of_any_key
        if row.task_type not in self._of_key:
            own = self._made(About.KEY, row.task_type)
            self._of_key[row.task_type] = [*own, *self._of_any_key]
        return self._of_key[row.task_type]

    def _made(self, about: About, task_type: str) -> list[Gate]:
        kind, settings = self._setup.kind_of(task_type), self._setup.process.settings
        rows = (row for row in self._rows if row.about is about and row.on(settings, kind))
        return [row.make(self._setup, kind) for row in rows]


def _are_open(gates: list[Gate], row: Candidate, now: int) -> bool:
    for gate in gates:  # noqa: SIM110 - asked often: a loop takes half the time
        if gate.wait(row, now) > 0:
            return False
    return True


def _closed(gates: list[Gate], row: Candidate, now: int) -> list[tuple[Gate, str]]:
    """Return the gates that hold the task back, each with what it says."""
    return [(gate, gate.why(row, now)) for gate in gates if gate.wait(row, now) > 0]


def _poll_wait(gates: list[Gate], now: int) -> float:
    """Return the seconds until a task could pass these gates, whatever task it is. A gate that can
    grow is not asked where another is closed until something happens."""
    wait = 0.0
    for gate in gates:
        wait = max(wait, gate.wait_of_any(now))
        if wait == math.inf:
            break
    return wait
