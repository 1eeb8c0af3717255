"""A gate: one thing that may hold a waiting task back.

A gate answers one question, how long until this task may pass, and says why in words that the owner
of the task understands. Most gates need no more. A limit is also told what passes: a task enters,
and leaves when its handler has returned; or its entry is undone, since it was not started after
all.

    wait ──▶ enter ──┬──▶ undo                      not claimed, or too late to begin
                     └──▶ [started] ──▶ [hangs] ──▶ leave

``all_gates`` lists all gates in their order, and ``gates`` asks them.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, ClassVar

from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim


class About(StrEnum):
    """The tasks that a gate holds back together. It is asked once for all of them."""

    WORKER = "worker"
    """All tasks of the worker."""
    TYPE = "type"
    """The tasks of one task type; or those of a scheduling class, which is a part of a type."""
    KEY = "key"
    """The tasks of one type with the same key."""
    TASK = "task"
    """Each task by itself."""


class LoadSignal(Enum):
    """The news of the downstream's load that the end of an attempt gives."""

    DONE = auto()
    """The handler has returned a value, for one of its tasks at the least: its time tells how busy
    the downstream is. The outcome is not written yet."""
    OVERLOADED = auto()
    """The handler raised for all of its tasks, and took longer than the timeout, or raised a
    TimeoutError of its own."""
    UNTOLD = auto()
    """The attempt tells nothing of the load: it failed in another way, perhaps at once, or was
    refused. The gate ``busy_downstream`` counts those."""


@dataclass(frozen=True, kw_only=True)
class HowItLeft:
    """The way in which a task has left: for gates that learn from it. A gate of the process learns
    it as the handler returns, before the outcome is written; a gate about a key once it is
    (``seconds``, ``confirmed``)."""

    refused: bool = False
    """True if the downstream had no room for it."""
    failed: bool = False
    """True if the handler failed for one of its tasks: it was not refused or told to stop."""
    signal: LoadSignal = LoadSignal.UNTOLD
    """The news of the downstream's load that the end of the attempt gives."""
    hung: bool = False
    """True if the task had been counted as hanging."""
    seconds: float | None = None
    """Seconds that the attempt took, for gates about a key; None if it was not started."""
    confirmed: bool = True
    """False if the outcome may not be written: the claim may still stand."""


class Gate:
    """One thing that may hold a waiting task back. A gate overrides the methods that it needs.

    A gate lives as long as the process (``of_process`` of its row in ``all_gates``), or as long as
    one run. A gate of the process is entered once for each call of a handler, which a batch shares,
    and is left by the thread of the handler: ``Gates`` has the lock. A gate of a run is used by the
    run's thread alone, but for ``may_begin``; of these, only gates about a key are entered, by each
    task. ``now`` is always in monotonic microseconds.
    """

    name = ""
    """The gate's name in ``all_gates``."""
    about = About.WORKER
    """The tasks that it holds back together, as ``all_gates`` has it."""
    can_grow: ClassVar[bool] = False
    """True if the gate may open because a task asks for more room (``ask_for_room``)."""

    def wait(self, row: Candidate, now: int) -> float:
        """Return the seconds until the task may pass: 0 if it may now, inf if only something that
        happens can open the gate, such as another task's end. ``row``: the first of the tasks that
        the gate is about."""
        raise NotImplementedError

    def why(self, row: Candidate, now: int) -> str:
        """Say why the task waits, in one sentence without a full stop, for its owner. Asked only if
        ``wait`` is not 0."""
        raise NotImplementedError

    def wait_of_any(self, now: int) -> float:
        """Return the seconds for which a poll would be useless, whatever task it finds. Asked of
        all gates about the worker, and of those about a type that live as long as the process."""
        raise NotImplementedError

    def may_begin(self, row: Candidate, claim: Claim | None, now: int) -> bool:
        """Return False if a task that has entered must not begin after all. Asked in the thread of
        its attempt: before the claim (``claim`` is None) and after it."""
        return True

    # More room

    def ask_for_room(self, row: Candidate, now: int) -> bool:
        """Ask for more room: the task is the next, and is held back by such gates alone. Return
        True if the run should wait for the answer. Asked only if the gate ``can_grow``."""
        raise NotImplementedError

    def answer_due(self, now: int) -> float:
        """Return the seconds for which the run should still wait for an answer; 0 if for none."""
        return 0.0

    # Waiting for one task

    def kept_out(self, row: Candidate) -> None:
        """Note that the task is the next, and does not pass since this gate or another is
        closed."""

    @property
    def awaited(self) -> Candidate | None:
        """The task that passes before all others of its type, since it came first and had no
        room; None if there is none."""
        return None

    def awaits_no_more(self) -> None:
        """Let the others pass: the awaited task cannot start."""

    # Passing

    def may_join(self, row: Candidate, now: int) -> bool:
        """Return True if the task may share the call of one that has entered. Asked only where the
        type has a weight: other tasks of a batch share a call without more ado."""
        return True

    def enter(self, row: Candidate, now: int) -> Any:
        """Let the task in, after ``wait`` has returned 0. Return a receipt: the gate is given it
        again when the task leaves."""
        return None

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        """Undo an ``enter`` that is so many seconds ago: the task was not started. ``error``: the
        reason, for gates about a key."""

    def weighed(self, receipt: Any, weight: int, now: int) -> Any:
        """Note what the tasks of the call weigh together, by what is known now. Return the receipt
        from now on."""
        return receipt

    def started(self, receipt: Any) -> None:
        """Note that the task is claimed, for gates about a key."""

    def hangs(self, receipt: Any) -> None:
        """Note that the handler goes on, though its time is over. The task keeps its place."""

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        """Let the task out: its handler has returned. A gate about a key: its outcome is
        written."""

    @property
    def is_stuck(self) -> bool:
        """True if nothing passes any more, since handlers that hang have all the places."""
        return False
