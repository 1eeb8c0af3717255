"""The state of a queue in words, by what its table shows: a title, a sentence, and what else holds.

CloudWatch learns that a task was shed when DynamoDB deletes it, which may take days; the table
shows at once what is past its deadline. The alarms ring with the same words.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from lifoq.basics.times import spoken
from lifoq.health.statistics import QueueStats
from lifoq.health.sweep_note import LATELY
from lifoq.store.table_protocol import Count

NEAR_DEADLINE: Final = 0.5
"""The part of its deadline after which a task comes near it: a queue that keeps up gets to its
oldest task before."""
WAKES_WITHIN: Final = 60.0
"""Seconds in which a worker comes to what waits, whatever kick was lost: a sweep's interval."""
OVER_AFTER: Final = 120.0
"""Seconds without a shed task after which an overload is over, though tasks wait: where the sweep
sheds, it tells of it once a minute."""
_MINUTE: Final = 60
"""Seconds from which a time is told in whole minutes."""
MOST_NAMED: Final = 3
"""Task types that a sentence names, at the most."""

# The cost of one task, beside that of a task that was shed, which is lost: 1.
FAILED: Final = 0.1
"""A failed task is kept, and can be redriven."""
WAITING: Final = 0.01
"""A waiting task may still be done in time."""
STANDSTILL: Final = math.inf
"""The cost of a standstill: no other number means much while no task starts."""


class State(StrEnum):
    """A state of a queue that people are told, with its meaning."""

    meaning: str

    def __new__(cls, title: str, meaning: str) -> Self:
        state = str.__new__(cls, title)
        state._value_ = title
        state.meaning = meaning
        return state

    PAUSED = "Paused", "no task starts until somebody resumes"
    STALLED = "Stalled", "tasks wait, and none has been claimed for five minutes or longer"
    OVERLOADED = "Overloaded", "more tasks come in than are done, and the oldest are shed"
    FAILING = "Failing", "tasks have failed, and wait for a redrive"
    WITHOUT_WORKER = "Without a worker", "tasks wait of a type that no worker is known to have"
    BEHIND = "Falling behind", "tasks come near their deadline"
    WAITING = "Waiting", "no task is in work, though even the newest has waited for a minute"
    WAS_OVERLOADED = "Was overloaded", "tasks were shed until then, and none is shed now"
    KEEPING_UP = "Keeping up", f"no task was shed in the last {spoken(LATELY)}"
    IDLE = "Idle", "no task waits, and none is in work"

    @property
    def is_well(self) -> bool:
        return self in (State.WAS_OVERLOADED, State.KEEPING_UP, State.IDLE)

    @property
    def sentence(self) -> str:
        return f"{self}: {self.meaning}."


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts that the rules go by."""

    stats: QueueStats
    paused: bool

    @property
    def stands_still(self) -> bool:
        return self.paused or self.is_stalled

    @property
    def is_stalled(self) -> bool:
        return self.stats.stalled and self.waiting > 0

    @property
    def waiting(self) -> int:
        return self.stats.live.value

    @property
    def without_worker(self) -> int:
        """Number of tasks that wait of a type without a worker. A sweep of an earlier release notes
        the types alone."""
        return max(self.stats.unknown_waiting, len(self.stats.unknown_types))

    @property
    def some_have_workers(self) -> bool:
        """True if some task waits of a type that a worker has."""
        return self.waiting > self.without_worker

    @property
    def sheds(self) -> bool:
        """True if tasks are shed at present."""
        ago = self.stats.last_shed_seconds
        lasts = self.waiting > 0 and (ago is None or ago < OVER_AFTER)
        return _some(self.stats.shed_lately) and lasts

    @property
    def is_near_deadline(self) -> bool:
        oldest = self.stats.oldest_waiting_seconds or 0.0
        return oldest >= NEAR_DEADLINE * self.stats.deadline_seconds

    @property
    def is_forgotten(self) -> bool:
        """True if no task is in work, and none of those that wait came in just now."""
        newest = self.stats.newest_waiting_seconds or 0.0
        return newest >= WAKES_WITHIN and not _some(self.stats.taken)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule of the headline: when it holds, what that costs, and the words for it."""

    state: State
    holds: Callable[[Facts], bool]
    cost: Callable[[Facts], float]
    """The cost while it holds, in shed tasks."""
    title: Callable[[Facts], str]
    """Six words at the most."""
    sentence: Callable[[Facts], str]


def _rule(
    state: State,
    *,
    holds: Callable[[Facts], bool],
    cost: Callable[[Facts], float],
    title: Callable[[Facts], str] | None = None,
    sentence: Callable[[Facts], str] | None = None,
) -> Rule:
    """Make a rule; without words of its own it has those of its state."""
    return Rule(
        state=state,
        holds=holds,
        cost=cost,
        title=title or (lambda _: str(state)),
        sentence=sentence or (lambda _: _sentence(state.meaning)),
    )


RULES: Final = (
    _rule(State.PAUSED, holds=lambda now: now.paused, cost=lambda _: STANDSTILL),
    _rule(
        State.STALLED,
        holds=lambda now: now.is_stalled and not now.paused,
        cost=lambda _: STANDSTILL,
    ),
    _rule(
        State.OVERLOADED,
        holds=lambda now: now.sheds,
        cost=lambda now: now.stats.shed_lately.value,
    ),
    _rule(
        State.FAILING,
        holds=lambda now: _some(now.stats.failed_lately),
        cost=lambda now: FAILED * now.stats.failed_lately.value,
    ),
    _rule(
        State.WITHOUT_WORKER,
        holds=lambda now: bool(now.stats.unknown_types),
        cost=lambda now: WAITING * now.without_worker,
        sentence=lambda now: without_worker(now.stats.unknown_types),
    ),
    _rule(
        State.BEHIND,
        holds=lambda now: (
            now.is_near_deadline and now.some_have_workers and not (now.sheds or now.stands_still)
        ),
        cost=lambda now: WAITING * now.waiting,
    ),
    _rule(
        State.WAITING,
        holds=lambda now: now.is_forgotten and now.some_have_workers and not now.stands_still,
        cost=lambda now: WAITING * now.waiting,
    ),
    _rule(
        State.WAS_OVERLOADED,
        holds=lambda now: _some(now.stats.shed_lately) and not now.sheds,
        cost=lambda _: 0.0,
        title=lambda now: (
            str(State.WAS_OVERLOADED)
            if now.stats.last_shed_seconds is None
            else f"Overloaded until {_briefly(now.stats.last_shed_seconds)} ago"
        ),
    ),
)
"""The rules, one row each; a queue for which none holds is well. Where several cost the same, the
first goes first."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A title and a sentence that say how a queue is doing."""

    state: State
    """The state that costs most."""
    title: str
    """Six words at the most."""
    sentence: str
    others: tuple[str, ...] = ()
    """The other rules that hold, the costlier first, in words."""


def headline(stats: QueueStats, *, paused: bool = False) -> Headline:
    """Return the headline of a queue: the state that costs most, with the others behind it."""
    now = Facts(stats=stats, paused=paused)
    holding = sorted(
        (rule for rule in RULES if rule.holds(now)), key=lambda rule: rule.cost(now), reverse=True
    )
    if not holding:
        busy = now.waiting > 0 or _some(stats.taken)
        state = State.KEEPING_UP if busy else State.IDLE
        return Headline(state=state, title=str(state), sentence=_sentence(state.meaning))
    worst, *others = holding
    return Headline(
        state=worst.state,
        title=worst.title(now),
        sentence=worst.sentence(now),
        others=tuple(f"{rule.title(now)}. {rule.sentence(now)}" for rule in others),
    )


def without_worker(types: tuple[str, ...]) -> str:
    """Say that no worker is known for these task types."""
    named, more = types[:MOST_NAMED], len(types) - MOST_NAMED
    *first, last = named if more <= 0 else (*named, "others")
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"No worker is known for the {'type' if len(types) == 1 else 'types'} {listed}."


def _briefly(seconds: float) -> str:
    """Return a duration in one unit: ``40 s``, ``3 min``."""
    if seconds < 1:
        return "a moment"
    return spoken(round(seconds if seconds < _MINUTE else round(seconds / _MINUTE) * _MINUTE))


def _sentence(meaning: str) -> str:
    return f"{meaning[0].upper()}{meaning[1:]}."


def _some(count: Count) -> bool:
    return count.value > 0
