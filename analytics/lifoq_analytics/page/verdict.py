"""The first thing on the page: what happened, in short sentences."""

from collections.abc import Mapping
from typing import Any, Final

from lifoq_analytics.page.words import count, counted, duration, share

_WORTH_SAYING: Final = 0.01
"""The share of failures in what was finished from which the first sentence tells of them."""

_ALONE: Final = {
    "waiting": "has not been served yet",
    "taken": "is being worked on",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "was cancelled",
    "shed": "was shed",
}


def sentence(answers: Mapping[str, Any]) -> str:
    tasks = answers["tasks"]
    if not tasks["created"]:
        return "No task came in."
    if tasks["created"] == 1:
        return _one(answers)
    if answers["wait_seconds"]["max"] is None:
        return _nobody_served(answers)
    failed = _failed(tasks)
    parts = [_shed(answers), _served(answers), failed, _left(answers)]
    if failed and not tasks["succeeded"]:
        parts = [failed, *parts[:2], parts[3]]
    return " ".join(f"{part}." for part in parts if part)


def _one(answers: Mapping[str, Any]) -> str:
    tasks, waited = answers["tasks"], answers["longest_wait_seconds"]
    if tasks["waiting"] and not answers["backlog"]["end"] and waited is None:
        return "The only task is not due yet."
    end = next(words for outcome, words in _ALONE.items() if tasks[outcome])
    if waited is None:
        return f"The only task {end}."
    first = "it has waited" if answers["backlog"]["end"] else "it waited"
    return f"The only task {end}; {first} {duration(waited)}."


def _nobody_served(answers: Mapping[str, Any]) -> str:
    tasks, waited = answers["tasks"], duration(answers["longest_wait_seconds"])
    waiting = answers["backlog"]["end"]
    ends = [
        f"{counted(tasks[name], 'task')} {'was' if tasks[name] == 1 else 'were'} {name}"
        for name in ("shed", "cancelled")
        if tasks[name]
    ]
    if waiting:
        wait = "waits" if waiting == 1 else "wait"
        ends.append(f"{counted(waiting, 'task')} {wait}, the oldest for {waited}")
    elif tasks["waiting"]:
        ends.append(f"{counted(tasks['waiting'], 'task')} {_are(tasks['waiting'])} not due yet")
    return f"Nobody was served: {' and '.join(ends)}."


def _shed(answers: Mapping[str, Any]) -> str:
    if answers["tasks"]["shed"]:
        return f"{share(answers['shedding_rate'])} of the tasks were shed"
    return "No task was shed"


def _served(answers: Mapping[str, Any]) -> str:
    median = duration(answers["wait_seconds"]["p50"])
    longest = duration(answers["longest_wait_seconds"])
    if median == longest:
        return f"Those served waited {median}"
    if answers["tasks"]["shed"] or answers["backlog"]["end"]:
        return f"Those served waited {median} (median), while the oldest waited {longest}"
    return f"The median wait was {median}, the longest {longest}"


def _failed(tasks: Mapping[str, int]) -> str:
    finished = tasks["succeeded"] + tasks["failed"]
    if not tasks["failed"] or tasks["failed"] < _WORTH_SAYING * finished:
        return ""
    if not tasks["succeeded"]:
        return f"None succeeded, {count(finished)} failed"
    return f"{share(tasks['failed'] / finished)} of those that ended failed"


def _left(answers: Mapping[str, Any]) -> str:
    left = answers["backlog"]["end"]
    return f"{count(left)} {'waits' if left == 1 else 'wait'} now" if left else ""


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
