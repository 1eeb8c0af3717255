"""The page's tables, bars and sentences below its charts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics.times import iso
from lifoq.items.attempt_history import Ended
from lifoq_analytics import times
from lifoq_analytics.page import words
from lifoq_analytics.page.axes import Time
from lifoq_analytics.page.words import NONE

Answers = Mapping[str, Any]
Points = Sequence[Mapping[str, Any]]

OUTCOMES: Final = ("succeeded", "failed", "cancelled", "shed", "waiting", "taken")
_COLORS: Final = {"succeeded": "served", "claimed": "served"}
"""The names of colours that are not their outcome's own."""
_RATES: Final = ("arrivals", "first_claims", "shed")
_SHOWN: Final = 5
"""Rows of a table of the worst."""
_KINDS: Final = {"claimed": "served", "shed": "shed", "waiting": "still waiting"}
_ENDED: Final = {
    Ended.RETRIED: "failed, was retried",
    Ended.FAILED: "failed for good",
    Ended.NOT_COUNTED: "did not count",
    Ended.LEASE_EXPIRED: "its worker was lost",
    Ended.SUCCEEDED: "done, but replaced",
    Ended.CANCELLED: "cancelled",
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """A bar's share of the whole width."""

    color: str
    share: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A place where tasks are, in the account of them all."""

    key: str
    name: str
    color: str
    tasks: int
    share: float


@dataclass(frozen=True, kw_only=True)
class BarRow:
    name: str
    parts: Sequence[Part]
    cells: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The numbers of one point of the charts."""

    at: float
    """The place of its middle on the time axis, 0 to 1."""
    cells: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def account(tasks: Mapping[str, int]) -> list[Outcome]:
    return [
        Outcome(
            key=f"tasks.{name}",
            name=name,
            color=_COLORS.get(name, name),
            tasks=tasks[name],
            share=tasks[name] / tasks["created"] if tasks["created"] else 0.0,
        )
        for name in OUTCOMES
    ]


MOMENT_COLUMNS: Final = (
    *("time (UTC)", "came in", "served", "shed", "median wait", "p95", "p99"),
    *("oldest waits", "waiting", "in work"),
)


def moments(
    time: Time, over_time: Points, waits: Points, *, say: Callable[[str], str]
) -> list[Moment]:
    per = words.per(max((point[name] or 0 for point in over_time for name in _RATES), default=0))
    known = {wait["time"]: wait for wait in waits}
    return [
        Moment(
            at=(time.at(times.from_iso(point["time"])) + time.at(times.from_iso(point["until"])))
            / 2,
            cells=(
                say(max(point["time"], iso(time.start))),
                *(per.rate(point[name]) for name in _RATES),
                *(
                    words.duration(known.get(point["time"], {}).get(name))
                    for name in ("p50", "p95", "p99")
                ),
                words.duration(point["oldest_waiting_seconds"]),
                words.count(point["waiting"]),
                words.count(point["claimed"]),
            ),
        )
        for point in over_time
    ]


def ages(points: Points) -> list[BarRow]:
    """Draw how long tasks waited: a bar for each age."""
    bins: dict[int, dict[str, int]] = {}
    labels = {point["bin"]: point["age"] for point in points}
    for point in points:
        bins.setdefault(point["bin"], {})[point["kind"]] = point["tasks"]
    most = max((sum(kinds.values()) for kinds in bins.values()), default=1)
    return [
        BarRow(
            name=labels[key],
            parts=[
                Part(
                    color=_COLORS.get(kind, kind),
                    share=bins[key][kind] / most,
                    label=f"{_KINDS[kind]} {words.count(bins[key][kind])}",
                )
                for kind in _KINDS
                if kind in bins[key]
            ],
            cells=(words.count(sum(bins[key].values())),),
        )
        for key in sorted(bins)
    ]


def freshness(answers: Answers) -> str:
    """The youngest age before which most were served, and what the next ones add."""
    known = [
        (int(seconds), share)
        for seconds, share in answers["fresh_claims"].items()
        if share is not None
    ]
    shown = []
    for seconds, share in sorted(known):
        shown.append(f"{words.share(share)} before {words.duration(seconds)}")
        if share == 1:
            break
    return f"Of those that were served: {', '.join(shown)}." if shown else ""


def types(by_type: Mapping[str, Mapping[str, Any]]) -> list[BarRow]:
    """A bar for each task type; none for a single one, which is the whole."""
    if len(by_type) == 1:
        return []
    return [
        BarRow(
            name=name,
            parts=[
                Part(
                    color=_COLORS.get(outcome, outcome),
                    share=counts[outcome] / counts["created"],
                    label=f"{outcome} {words.count(counts[outcome])}",
                )
                for outcome in OUTCOMES
                if counts[outcome]
            ],
            cells=(
                words.count(counts["created"]),
                words.share(counts["shedding_rate"]),
                words.duration(counts["wait_seconds"]["p50"]),
                words.duration(counts["wait_seconds"]["p99"]),
            ),
        )
        for name, counts in by_type.items()
    ]


def now(answers: Answers) -> list[str]:
    """Return sentences on where the queue is going, at the rates of the report's last moments."""
    forecast, utilisation = answers["forecast"], answers["utilisation"]
    say = words.teller(answers["window"])
    if forecast["from"] is None or not answers["tasks"]["created"]:
        return []
    came, served = forecast["arrivals_per_second"], forecast["first_claims_per_second"]
    per = words.per(max(came, served))
    rates = (
        f"From {say(forecast['from'])} to {say(forecast['to'])}, "
        f"{per.number(came)} tasks a {per.name} came in and {per.number(served)} were served."
    )
    sentences = [rates]
    if not answers["backlog"]["end"]:
        sentences.append("Nothing waits.")
    elif forecast["clears_in_seconds"] is not None:
        sentences.append(
            f"At these rates the line is empty in {words.duration(forecast['clears_in_seconds'])}."
        )
    else:
        sentences.append("At these rates the line does not become shorter.")
    if forecast["shed_per_hour"]:
        sentences.append(
            f"About {words.count(round(forecast['shed_per_hour']))} tasks an hour are then going "
            "to be shed, one deadline after they come in."
        )
    if utilisation["share"] is not None:
        sentences.append(
            f"Over the whole time, {words.share(utilisation['share'])} of "
            f"{words.counted(utilisation['slots'], 'slot')} were in use."
        )
    elif utilisation["busy_slots"]:
        sentences.append(
            f"Over the whole time, {words.number(utilisation['busy_slots'])} tasks were worked on "
            "at a time in the mean."
        )
    return sentences


def oldest(answers: Answers) -> Table:
    say = words.teller(answers["window"])
    return Table(
        columns=("task", "type", "since", "waits for", "attempts"),
        rows=[
            (
                task["task_id"],
                task["task_type"],
                say(task["enqueued_at"]),
                words.duration(task["age_seconds"]),
                str(task["attempts"]),
            )
            for task in answers["oldest_waiting"][:_SHOWN]
        ],
    )


def sheddings(answers: Answers) -> Table:
    say = words.teller(answers["window"])
    return Table(
        columns=("type", "from", "shed"),
        rows=[
            (row["task_type"], say(row["bucket_start"]), words.count(row["shed"]))
            for row in answers["largest_sheddings"][:_SHOWN]
        ],
    )


def keys(answers: Answers) -> Table:
    """The busiest."""
    found = answers["by_key"]
    return Table(
        columns=("key", "tasks", "shed", "mean wait", "longest"),
        rows=[
            (
                row["key"],
                words.count(row["tasks"]),
                words.share(row["shed"] / row["tasks"]),
                words.duration(row["mean_wait_seconds"]),
                words.duration(row["max_wait_seconds"]),
            )
            for row in (found["most_tasks"] if found else ())
        ],
    )


def spread_over_keys(answers: Answers) -> str | None:
    """Say how evenly the keys waited."""
    found = answers["by_key"]
    if found is None or found["mean_wait_seconds"]["max"] is None:
        return None
    spread = {name: words.duration(value) for name, value in found["mean_wait_seconds"].items()}
    return (
        f"{words.counted(found['keys'], 'key')}. The mean wait of a key's tasks is between "
        f"{spread['min']} and {spread['max']}, in the median {spread['median']}."
    )


def failures(answers: Answers) -> Table:
    return Table(
        columns=("type", "error", "tasks"),
        rows=[
            (row["task_type"], row["reason"], words.count(row["tasks"]))
            for row in answers["failure_reasons"]
        ],
    )


def attempts(answers: Answers) -> Table:
    """The past ones."""
    return Table(
        columns=("type", "ended", "error", "attempts"),
        rows=[
            (row["task_type"], _ENDED[row["how"]], row["reason"], words.count(row["attempts"]))
            for row in answers["past_attempts"]["by_reason"]
        ],
    )


def cost(found: Answers) -> Table:
    return Table(
        columns=("operation", "number"),
        rows=[
            (name, words.count(number)) for name, number in found["operations"].items() if number
        ],
    )


def notes(answers: Answers) -> list[str]:
    """A sentence for each thing that makes the numbers less than the whole truth."""
    coverage, read = answers["coverage"], answers["input"]
    found = [
        f"No export covers {_stretch(gap)}: what was put and deleted in that time is unknown."
        for gap in coverage["gaps"]
    ]
    found += [
        f"The window {_stretch(window)} is longer than the shortest shedding deadline: tasks put "
        "and deleted within it left no trace. Export shorter windows."
        for window in coverage["long_windows"][:_SHOWN]
    ]
    if (more := len(coverage["long_windows"]) - _SHOWN) > 0:
        found.append(f"So are {more} more windows.")
    if not coverage["starts_with_full_export"]:
        found.append(
            "The exports do not begin with a full one: tasks that nothing happened to since "
            f"{words.moment(coverage['from'])} are unknown."
        )
    found += [f"Left out: {complaint}." for complaint in read["missing"]]
    if read["bad_rows"]:
        found.append(
            f"{words.count(read['bad_rows'])} of {words.count(read['rows'])} lines are not tasks; "
            "quarantine.parquet holds them, with the reasons."
        )
    return found


def covers(answers: Answers) -> str:
    coverage, read = answers["coverage"], answers["input"]
    return (
        f"{words.counted(read['exports'], 'export')} of the table {answers['table'] or NONE}, with "
        f"{words.counted(read['files'], 'file')} and {words.counted(read['rows'], 'line')}, from "
        f"{words.moment(coverage['from'])} to {words.moment(coverage['to'])} (UTC). Of the time "
        "before, only what was still in the table is known."
    )


def _stretch(stretch: Mapping[str, str]) -> str:
    return f"{words.moment(stretch['from'])} to {words.moment(stretch['to'])}"
