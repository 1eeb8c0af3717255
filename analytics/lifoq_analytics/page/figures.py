"""The two or three numbers that matter most, and the others, smaller."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lifoq_analytics.page import words

Answers = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number, with where it stands in ``summary.json``."""

    key: str
    name: str
    value: float
    shown: str
    meaning: str


def main(answers: Answers) -> list[Figure]:
    """Return the figures of the verdict. If nothing was shed and some tasks failed: how many
    failed."""
    tasks, longest = answers["tasks"], answers["wait_seconds"]["p99"]
    ended = words.counted(tasks["succeeded"] + tasks["failed"], "task")
    if tasks["failed"] and not tasks["shed"]:
        meaning = f"Of {ended} that ended. No task passed its deadline."
        worst = _figure(answers, "tasks.failed", "failed", words.count, meaning)
    elif tasks["shed"]:
        meaning = f"{words.counted(tasks['shed'], 'task')} passed the deadline unfinished."
        worst = _figure(answers, "shedding_rate", "shed", words.share, meaning)
    else:
        meaning = "No task passed its deadline."
        worst = _figure(answers, "shedding_rate", "shed", words.share, meaning)
    return _known(
        worst,
        _figure(
            answers,
            "wait_seconds.p50",
            "median wait of the served",
            words.duration,
            f"99 of 100 waited no longer than {words.duration(longest)}.",
        ),
        _figure(
            answers,
            "longest_wait_seconds",
            "longest wait",
            words.duration,
            "Of any task, served or not.",
        ),
    )


def others(answers: Answers) -> list[Figure]:
    if not answers["tasks"]["created"]:
        return []
    peak, oldest = answers["backlog"]["max_at"], answers["oldest_waiting_seconds"]
    at = "" if peak is None else f"at {words.teller(answers['window'])(peak)}"
    aged = "" if oldest is None else f"the oldest for {words.duration(oldest)}"
    return _known(
        _figure(answers, "backlog.max", "most that waited", words.count, at),
        _figure(answers, "backlog.end", "waiting at the end", words.count, aged),
        _figure(answers, "wait_seconds.p95", "p95 of the wait", words.duration, "of the served"),
        _figure(
            answers, "service_seconds.p50", "median service", words.duration, "last claim to end"
        ),
        _figure(answers, "sojourn_seconds.p50", "median sojourn", words.duration, "put to end"),
        _figure(answers, "attempts.retried", "tried more than once", words.count, ""),
    )


def _figure(
    answers: Answers, key: str, name: str, say: Callable[[Any], str], meaning: str
) -> Figure | None:
    """Return a figure; None where its number is not known."""
    value: Any = answers
    for part in key.split("."):
        value = value[part]
    if value is None:
        return None
    return Figure(key=key, name=name, value=value, shown=say(value), meaning=meaning)


def _known(*figures: Figure | None) -> list[Figure]:
    return [figure for figure in figures if figure is not None]
