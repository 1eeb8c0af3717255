"""``report.html``: one page that opens offline, with everything that it needs inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from analytics import times
from analytics.page import about, details, verdict, words
from analytics.page.axes import Time
from analytics.page.charts import Plot, Plots, Stretch
from analytics.times import MICROS

Answers = Mapping[str, Any]
Points = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Series:
    """What the charts draw: few points, however many tasks there are. All is JSON."""

    over_time: Points
    """``time`` and ``until`` (ISO), rates per second of ``arrivals``, ``arrivals_shed`` (those of
    them that were shed, whenever that was), ``first_claims`` and ``shed``, which are None where too
    little of the time is known; at ``until``: ``waiting``, ``claimed``,
    ``oldest_waiting_seconds``."""
    waits: Points
    """Seconds, ``p50``, ``p95`` and ``p99``, of those first claimed in the point that begins at
    ``time``."""
    ages: Points
    """How many ``tasks`` of a ``kind`` (claimed, shed, waiting) waited for an ``age``; ``bin``
    orders the ages."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number, with where it stands in ``summary.json``."""

    key: str
    name: str
    value: float | None
    shown: str
    meaning: str = ""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """An event on the time axis."""

    number: int
    at: float
    clock: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Everything that shares the one time axis."""

    time: Time
    phases: Sequence[Stretch]
    marks: Sequence[Mark]
    overloads: Sequence[Stretch]
    plots: Sequence[Plot]
    numbers: Sequence[details.Moment]


def render(answers: Answers, drawn: Series) -> str:
    """The whole page. ``answers`` is ``summary.json``."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analytics.page", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(
        moment=words.moment, count=words.count, share=words.share, duration=words.duration
    )
    environment.filters["letter"] = _letter
    known = {**about.NOTHING, **(answers.get("about") or {})}
    return environment.get_template("page.html.j2").render(
        answers=answers,
        queue=known["queue"] or answers["table"],
        stage=known["stage"],
        verdict=verdict.sentence(answers),
        period=words.period(answers["window"]["from"], answers["window"]["to"]),
        notes=details.notes(answers),
        figures=_figures(answers),
        facts=_facts(answers),
        account=details.account(answers["tasks"]),
        timeline=_timeline(answers, drawn, known),
        moment_columns=details.MOMENT_COLUMNS,
        ages=details.ages(drawn.ages),
        fresh=details.freshness(answers),
        types=details.types(answers["by_type"]),
        now=details.now(answers),
        oldest=details.oldest(answers),
        sheddings=details.sheddings(answers),
        failures=details.failures(answers),
        cost=details.cost(answers["cost"]),
        covers=details.covers(answers),
    )


def _most(waiting: int) -> str:
    return f"most wait: {words.count(waiting)}"


def _letter(number: int) -> str:
    """A for the first."""
    return chr(ord("A") + (number - 1) % 26)


def _figures(answers: Answers) -> list[Figure]:
    """The numbers that matter most."""
    tasks, wait = answers["tasks"], answers["wait_seconds"]
    if not tasks["created"]:
        return []
    figures = [
        _failed(tasks)
        if tasks["failed"] and not tasks["shed"]
        else Figure(
            key="shedding_rate",
            name="shed",
            value=answers["shedding_rate"],
            shown=words.share(answers["shedding_rate"]),
            meaning=f"{words.counted(tasks['shed'], 'task')} passed the deadline unfinished."
            if tasks["shed"]
            else "No task passed its deadline.",
        ),
        Figure(
            key="wait_seconds.p50",
            name="median wait of the served",
            value=wait["p50"],
            shown=words.duration(wait["p50"]),
            meaning=f"99 of 100 waited no longer than {words.duration(wait['p99'])}."
            if wait["p99"] is not None
            else "Nobody was served.",
        ),
        Figure(
            key="longest_wait_seconds",
            name="longest wait",
            value=answers["longest_wait_seconds"],
            shown=words.duration(answers["longest_wait_seconds"]),
            meaning="Of any task, served or not.",
        ),
    ]
    return [figure for figure in figures if figure.value is not None]


def _failed(tasks: Mapping[str, int]) -> Figure:
    ended = words.counted(tasks["succeeded"] + tasks["failed"], "task")
    return Figure(
        key="tasks.failed",
        name="failed",
        value=tasks["failed"],
        shown=words.count(tasks["failed"]),
        meaning=f"Of {ended} that ended. Nothing was shed.",
    )


def _facts(answers: Answers) -> list[Figure]:
    """What else is worth a look, smaller."""
    backlog, oldest = answers["backlog"], answers["oldest_waiting_seconds"]
    if not answers["tasks"]["created"]:
        return []
    peak = "" if backlog["max_at"] is None else f"at {words.clock(backlog['max_at'])}"
    facts = [
        Figure(
            key="backlog.max",
            name="most that waited",
            value=backlog["max"],
            shown=words.count(backlog["max"]),
            meaning=peak,
        ),
        Figure(
            key="backlog.end",
            name="waiting at the end",
            value=backlog["end"],
            shown=words.count(backlog["end"]),
            meaning="" if oldest is None else f"the oldest for {words.duration(oldest)}",
        ),
        *(
            Figure(
                key=f"{measure}_seconds.{percentile}",
                name=name,
                value=answers[f"{measure}_seconds"][percentile],
                shown=words.duration(answers[f"{measure}_seconds"][percentile]),
                meaning=meaning,
            )
            for measure, percentile, name, meaning in (
                ("wait", "p95", "p95 of the wait", "of the served"),
                ("service", "p50", "median service", "last claim to end"),
                ("sojourn", "p50", "median sojourn", "put to end"),
            )
        ),
        Figure(
            key="attempts.retried",
            name="tried more than once",
            value=answers["attempts"]["retried"],
            shown=words.count(answers["attempts"]["retried"]),
        ),
    ]
    return [fact for fact in facts if fact.value is not None]


def _timeline(answers: Answers, drawn: Series, known: Mapping[str, Any]) -> Timeline | None:
    """None where there is nothing to draw: no task, or no time."""
    start, end = (times.from_iso(answers["window"][name]) for name in ("from", "to"))
    if not answers["tasks"]["created"] or start >= end or not drawn.over_time:
        return None
    time = Time(start=start, end=end)
    plots = Plots(time, drawn.over_time, drawn.waits)
    alarm = known["alarms"].get("oldest_waiting_seconds")
    return Timeline(
        time=time,
        phases=[
            Stretch(
                at=time.at(times.from_iso(phase["from"])),
                to=time.at(times.from_iso(phase["to"])),
                label=phase["name"],
            )
            for phase in known["phases"]
        ],
        marks=_marks(answers, known["events"], time),
        overloads=plots.overloads(last_until=_overloaded_until(answers, drawn.over_time)),
        plots=[
            plots.patience(deadlines=answers["deadline_seconds"], alarm=alarm),
            plots.flows(),
            plots.backlog(),
        ],
        numbers=details.moments(time, drawn.over_time, drawn.waits),
    )


def _overloaded_until(answers: Answers, points: Points) -> int | None:
    """What came in within the last deadline is not shed yet: an overload that goes on, goes on to
    the end."""
    deadline = answers["deadline_seconds"]["min"]
    if deadline is None or not answers["forecast"]["shed_per_hour"]:
        return None
    end = times.from_iso(answers["window"]["to"])
    since = end - 2 * deadline * MICROS
    recent = [point for point in points if times.from_iso(point["until"]) > since]
    return end if any(point["arrivals_shed"] for point in recent) else None


def _marks(answers: Answers, events: Points, time: Time) -> list[Mark]:
    backlog, shed = answers["backlog"], answers["shed_at"]
    named = [
        *((event["at"], event["name"]) for event in events),
        (shed["first"], "the first task is shed"),
        (shed["last"], "the last task is shed"),
        (backlog["max_at"] if backlog["max"] > 1 else None, _most(backlog["max"])),
    ]
    if shed["first"] == shed["last"]:
        named.remove((shed["last"], "the last task is shed"))
    within = sorted(
        (times.from_iso(at), at, name)
        for at, name in named
        if at is not None and time.start <= times.from_iso(at) <= time.end
    )
    return [
        Mark(number=number, at=time.at(micros), clock=words.clock(at), name=name)
        for number, (micros, at, name) in enumerate(within, start=1)
    ]
