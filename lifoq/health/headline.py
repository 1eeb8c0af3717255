"""The state of a queue in one sentence, by what its table shows.

CloudWatch learns that a task was shed when DynamoDB deletes it, which may take days; the table
shows at once what is past its deadline. The alarms ring with the same words.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Self

from lifoq.basics.times import spoken
from lifoq.health.statistics import QueueStats
from lifoq.health.sweep_note import LATELY
from lifoq.store.table import Count

NEAR_DEADLINE: Final = 0.5
"""The part of its deadline after which a task comes near it: a queue that keeps up gets to its
oldest task before."""

WAKES_WITHIN: Final = 60.0
"""Seconds in which a worker comes to what waits, whatever kick was lost: a sweep's interval."""


class State(StrEnum):
    """The gravest first."""

    meaning: str

    def __new__(cls, title: str, meaning: str) -> Self:
        state = str.__new__(cls, title)
        state._value_ = title
        state.meaning = meaning
        return state

    PAUSED = "Paused", "no task starts until somebody resumes"
    STALLED = "Stalled", "tasks wait, and none has been claimed for five minutes or longer"
    WITHOUT_WORKER = "Without a worker", "tasks wait of a type that no worker is known to have"
    OVERLOADED = "Overloaded", "more comes in than is done, and tasks are shed"
    BEHIND = "Falling behind", "tasks come near their deadline"
    WAITING = "Waiting", "nothing is in work, though even the newest task has waited for a minute"
    FAILING = "Failing", "tasks ended in FAILURE and wait for a redrive"
    KEEPING_UP = "Keeping up", f"nothing was shed in the last {spoken(LATELY)}"
    IDLE = "Idle", "nothing waits and nothing is in work"

    @property
    def is_well(self) -> bool:
        return self in (State.KEEPING_UP, State.IDLE)

    @property
    def sentence(self) -> str:
        return f"{self}: {self.meaning}."


@dataclass(frozen=True, kw_only=True)
class Headline:
    state: State
    sentence: str


def headline(stats: QueueStats, *, paused: bool = False) -> Headline:
    state = _state(stats, paused=paused)
    said = [f"{state}: {state.meaning}", *_numbers(stats)]
    return Headline(state=state, sentence="; ".join(said) + ".")


def _state(stats: QueueStats, *, paused: bool) -> State:
    newest, oldest = stats.newest_waiting_seconds or 0.0, stats.oldest_waiting_seconds or 0.0
    holds = {
        State.PAUSED: paused,
        State.STALLED: stats.stalled and _some(stats.live),
        State.WITHOUT_WORKER: bool(stats.unknown_types),
        State.OVERLOADED: _some(stats.shed_lately),
        State.BEHIND: oldest >= NEAR_DEADLINE * stats.deadline_seconds,
        State.WAITING: newest >= WAKES_WITHIN and not _some(stats.taken),
        State.FAILING: _some(stats.failed_lately),
        State.KEEPING_UP: _some(stats.live) or _some(stats.taken),
    }
    return next((state for state, is_so in holds.items() if is_so), State.IDLE)


def _numbers(stats: QueueStats) -> list[str]:
    """Return the numbers in words; what there is none of is left out."""
    newest, oldest = stats.newest_waiting_seconds, stats.oldest_waiting_seconds
    ages = ""
    if newest is not None and oldest is not None:
        ages = f", the newest for {spoken(newest)}, the oldest for {spoken(oldest)}"
        if stats.live == Count(value=1, capped=False):
            ages = f", for {spoken(oldest)}"
    older = replace(
        stats.expired_present, value=max(0, stats.expired_present.value - stats.shed_lately.value)
    )
    said = (
        (stats.live, f"{stats.live} waiting{ages}"),
        (stats.taken, f"{stats.taken} in work"),
        (stats.delayed, f"{stats.delayed} delayed"),
        (stats.shed_lately, f"{stats.shed_lately} shed in the last {spoken(LATELY)}"),
        (older, f"{older} shed before, not deleted yet"),
        (stats.failure, f"{stats.failure} failed"),
    )
    types = f"of type {', '.join(stats.unknown_types)}"
    return [
        *([types] if stats.unknown_types else []),
        *(text for number, text in said if _some(number)),
    ]


def _some(count: Count) -> bool:
    return count.value > 0
