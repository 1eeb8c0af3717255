"""Is fresh work being done? In one sentence, and in numbers."""

from dataclasses import dataclass

from lifoq.tables.stats import QueueStats
from lifoq.tables.table import Count
from lifoq_console.traffic import Traffic
from lifoq_console.words import duration


@dataclass(frozen=True, kw_only=True)
class Verdict:
    sentence: str
    is_well: bool


def verdict(stats: QueueStats, traffic: Traffic | None, *, paused: bool) -> Verdict:
    """``traffic`` is None where CloudWatch did not answer."""
    waits = stats.live.value > 0
    if paused:
        tasks = _waiting(stats) if waits else "nothing waits"
        return _bad(f"Paused: no task starts until somebody resumes; {tasks}.")
    if problem := _left_undone(stats, traffic):
        return _bad(problem)
    if not waits:
        return _well("Nothing waits: each task has a worker as soon as it comes.")
    ages = (
        f"the newest waiting task is {duration(stats.newest_waiting_seconds)} old, "
        f"the oldest {duration(stats.oldest_waiting_seconds)}"
    )
    if traffic is None:
        return _well(f"{_waiting(stats)}; {ages}.")
    done, shed = traffic.lately("done"), traffic.lately("shed")
    if shed:
        part = f"{100 * shed / (shed + done):.0f} %"
        return _bad(f"Overloaded: {part} was shed in the last 5 minutes; {ages}.")
    return _well(f"Keeping up: {_waiting(stats)}, nothing was shed lately; {ages}.")


def _left_undone(stats: QueueStats, traffic: Traffic | None) -> str | None:
    if traffic is not None and traffic.is_stalled:
        return "Stalled: tasks wait, and none has been claimed for five minutes or longer."
    if stats.unknown_types:
        return f"No worker is known to have task type {', '.join(stats.unknown_types)}."
    return None


def _waiting(stats: QueueStats) -> str:
    return (
        "1 task waits" if stats.live == Count(value=1, capped=False) else f"{stats.live} tasks wait"
    )


def _well(sentence: str) -> Verdict:
    return Verdict(sentence=sentence, is_well=True)


def _bad(sentence: str) -> Verdict:
    return Verdict(sentence=sentence, is_well=False)
