"""``report.html``: one page that opens offline, with everything that it needs inside."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from analytics import charts, series, times
from analytics.series import Points
from analytics.tasks import Outcome

Answers = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Series:
    """What the charts draw."""

    over_time: Points
    waits: Points
    ages: Points


@dataclass(frozen=True, kw_only=True)
class Headline:
    key: str
    """Where the number stands in ``summary.json``."""
    name: str
    value: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    id: str
    title: str
    caption: str
    nothing: str
    """Why there is nothing to draw, where there is nothing."""
    spec: dict[str, Any]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def render(answers: Answers, drawn: Series) -> str:
    """The whole page. ``answers`` is ``summary.json``."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analytics", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(moment=_moment, count=_count)
    shown = _charts(answers, drawn)
    specs = {chart.id: chart.spec for chart in shown if chart.rows}
    return environment.get_template("page.html.j2").render(
        answers=answers,
        notes=_notes(answers),
        headlines=_headlines(answers),
        outcomes=[outcome.value for outcome in Outcome],
        charts=shown,
        outlook=_outlook(answers),
        tables=_tables(answers),
        covers=_covers(answers),
        specs=Markup(json.dumps(specs).replace("<", "\\u003c")),  # noqa: S704 - no element can begin
        library=_library(),
    )


def _library() -> Markup:
    """Vega, with nothing in it that could end the script element that it stands in."""
    code = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return Markup(code.replace("</script", "<\\/script"))  # noqa: S704 - the library's own code


def _headlines(answers: Answers) -> list[Headline]:
    tasks, backlog, wait = answers["tasks"], answers["backlog"], answers["wait_seconds"]
    peak = (
        "Nothing ever waited." if backlog["max_at"] is None else f"At {_moment(backlog['max_at'])}."
    )
    return [
        Headline(
            key="tasks.succeeded",
            name="Succeeded",
            value=_count(tasks["succeeded"]),
            meaning=f"Of {_count(tasks['created'])} tasks that were created.",
        ),
        Headline(
            key="tasks.shed",
            name="Shed",
            value=_count(tasks["shed"]),
            meaning="Not finished by their deadline, and dropped so that newer ones were served.",
        ),
        Headline(
            key="shedding_rate",
            name="Shedding rate",
            value=_share(answers["shedding_rate"]),
            meaning="Of the tasks that left the line, how many left it unserved.",
        ),
        Headline(
            key="backlog.end",
            name="Backlog now",
            value=_count(backlog["end"]),
            meaning="Tasks that wait for their first claim at the end.",
        ),
        Headline(
            key="backlog.max", name="Largest backlog", value=_count(backlog["max"]), meaning=peak
        ),
        Headline(
            key="oldest_waiting_seconds",
            name="Oldest waiting",
            value=_seconds(answers["oldest_waiting_seconds"]),
            meaning="Age of the task that has waited longest and still does.",
        ),
        Headline(
            key="wait_seconds.p50",
            name="Typical wait",
            value=_seconds(wait["p50"]),
            meaning="Half of the claimed tasks waited no longer.",
        ),
        Headline(
            key="wait_seconds.p99",
            name="Long wait",
            value=_seconds(wait["p99"]),
            meaning="99 % of the claimed tasks waited no longer."
            + ("" if wait["max"] is None else f" The longest: {_seconds(wait['max'])}."),
        ),
    ]


def _charts(answers: Answers, drawn: Series) -> list[Chart]:
    over_time = drawn.over_time if answers["tasks"]["created"] else []
    no_tasks = "there is no task in these exports."
    return [
        Chart(
            id="backlog",
            title="Backlog by status",
            caption="Tasks in the queue: those that wait for their first claim, and those claimed "
            "but not finished (running, or between two attempts).",
            nothing=no_tasks,
            spec=charts.backlog(over_time),
            columns=("time", "waiting", "claimed, not finished"),
            rows=[
                (_moment(point["until"]), _count(point["waiting"]), _count(point["claimed"]))
                for point in over_time
            ],
        ),
        Chart(
            id="flows",
            title="Arrivals, first claims and shed tasks",
            caption="Per second. Where arrivals stay above first claims, the difference is shed "
            "one deadline later.",
            nothing=no_tasks,
            spec=charts.flows(over_time),
            columns=("time", "arrivals/s", "first claims/s", "shed/s"),
            rows=[
                (
                    _moment(point["time"]),
                    *(_rate(point[name]) for name in series.RATES),
                )
                for point in over_time
            ],
        ),
        Chart(
            id="waits",
            title="Wait of the tasks that were served",
            caption="Percentiles of the wait of those first claimed at each time, in seconds. "
            "Newest first keeps the median low while the backlog grows.",
            nothing="no task was claimed.",
            spec=charts.waits(drawn.waits),
            columns=("time", "p50", "p95", "p99"),
            rows=[
                (
                    _moment(point["time"]),
                    *(_seconds(point[name]) for name in ("p50", "p95", "p99")),
                )
                for point in drawn.waits
            ],
        ),
        Chart(
            id="ages",
            title="How long tasks waited",
            caption="Until their first claim, until they were shed, or until now.",
            nothing=no_tasks,
            spec=charts.ages(drawn.ages),
            columns=("time waited", "what then", "tasks"),
            rows=[(point["age"], point["kind"], _count(point["tasks"])) for point in drawn.ages],
        ),
        Chart(
            id="types",
            title="Outcomes by task type",
            caption="Where the tasks of each type are now.",
            nothing=no_tasks,
            spec=charts.outcomes(answers["by_type"]),
            columns=("task type", *(outcome.value for outcome in Outcome)),
            rows=[
                (task_type, *(_count(counts[outcome.value]) for outcome in Outcome))
                for task_type, counts in answers["by_type"].items()
            ],
        ),
    ]


def _tables(answers: Answers) -> list[Table]:
    operations = answers["cost"]["operations"]
    return [
        Table(
            title="By task type",
            caption="Counts, shedding rate and waits of each type.",
            columns=("task type", "created", "shed", "shedding rate", "wait p50", "wait p99"),
            rows=[
                (
                    task_type,
                    _count(counts["created"]),
                    _count(counts["shed"]),
                    _share(counts["shedding_rate"]),
                    _seconds(counts["wait_seconds"]["p50"]),
                    _seconds(counts["wait_seconds"]["p99"]),
                )
                for task_type, counts in answers["by_type"].items()
            ],
        ),
        Table(
            title="Freshness",
            caption="Newest first serves fresh work even under overload: the share of first "
            "claims that came before the task reached an age.",
            columns=("younger than", "share of first claims"),
            rows=[(f"{age} s", _share(share)) for age, share in answers["fresh_claims"].items()],
        ),
        Table(
            title="Oldest waiting tasks",
            caption="The far end of the line, those between two attempts included.",
            columns=("task", "task type", "in the queue since", "age", "attempts"),
            rows=[
                (
                    task["task_id"],
                    task["task_type"],
                    _moment(task["enqueued_at"]),
                    _seconds(task["age_seconds"]),
                    str(task["attempts"]),
                )
                for task in answers["oldest_waiting"]
            ],
        ),
        Table(
            title="Largest sheddings",
            caption="The stretches of time in which most tasks of a type were shed.",
            columns=("task type", "from", "shed"),
            rows=[
                (row["task_type"], _moment(row["bucket_start"]), _count(row["shed"]))
                for row in answers["largest_sheddings"]
            ],
        ),
        Table(
            title="Why tasks failed",
            caption="The commonest errors of tasks that are in failure. "
            f"{_count(answers['attempts']['retried'])} tasks needed more than one attempt.",
            columns=("task type", "error", "tasks"),
            rows=[
                (row["task_type"], row["reason"], _count(row["tasks"]))
                for row in answers["failure_reasons"]
            ],
        ),
        Table(
            title="Cost in the database",
            caption=f"{_count(answers['cost']['write_units'])} write units, "
            f"${answers['cost']['usd']:,.4f}. {answers['cost']['assumption']}",
            columns=("operation", "number"),
            rows=[(name, _count(number)) for name, number in operations.items()],
        ),
    ]


def _outlook(answers: Answers) -> list[str]:
    forecast, utilisation = answers["forecast"], answers["utilisation"]
    rates = (
        f"{forecast['arrivals_per_second']:.4g} tasks arrive and "
        f"{forecast['first_claims_per_second']:.4g} are first claimed per second. "
    )
    if answers["backlog"]["end"] == 0:
        prospect = "Nothing waits now."
    elif forecast["clears_in_seconds"] is not None:
        prospect = f"The backlog clears in {_seconds(forecast['clears_in_seconds'])}."
    else:
        prospect = "The backlog does not clear."
    shed = forecast["shed_per_hour"]
    if shed:
        prospect += f" {shed:,.0f} tasks per hour are going to be shed."
    busy = utilisation["busy_slots"]
    sentences = [f"At current rates: {rates}{prospect} {forecast['assumption']}"]
    if busy is not None:
        sentences.append(
            f"On average {busy:.3g} tasks were in service at a time (last attempts only)."
        )
    if utilisation["share"] is not None:
        sentences.append(
            f"That is {_share(utilisation['share'])} of {_count(utilisation['slots'])} slots."
        )
    return sentences


def _notes(answers: Answers) -> list[str]:
    """A sentence for each thing that makes the numbers less than the whole truth."""
    coverage, read = answers["coverage"], answers["input"]
    notes = [
        f"No export covers {_stretch(gap)}: what was put and deleted in that time is unknown."
        for gap in coverage["gaps"]
    ]
    notes += [
        f"The window {_stretch(window)} is longer than the shortest shedding deadline: tasks put "
        "and deleted within it left no trace. Export shorter windows."
        for window in coverage["long_windows"]
    ]
    if not coverage["starts_with_full_export"]:
        notes.append(
            "The exports do not begin with a full one: tasks that nothing happened to since "
            f"{_moment(coverage['from'])} are unknown."
        )
    notes += [f"Left out: {complaint}." for complaint in read["missing"]]
    if read["bad_rows"]:
        notes.append(
            f"{_count(read['bad_rows'])} of {_count(read['rows'])} lines are not tasks; "
            "quarantine.parquet holds them, with the reasons."
        )
    return notes


def _covers(answers: Answers) -> str:
    coverage, read = answers["coverage"], answers["input"]
    return (
        f"{_count(read['exports'])} exports with {_count(read['files'])} files and "
        f"{_count(read['rows'])} lines, from {_moment(coverage['from'])} to "
        f"{_moment(coverage['to'])} (UTC). Of the time before, only what was still in the table "
        "is known."
    )


def _stretch(stretch: Mapping[str, str]) -> str:
    return f"{_moment(stretch['from'])} to {_moment(stretch['to'])}"


def _moment(iso: str) -> str:
    """A time for people: no fraction where it is nought."""
    text = times.to_iso(times.from_iso(iso)).removesuffix("Z").replace("T", " ")
    return text.removesuffix(".000000")


def _count(number: int) -> str:
    return f"{number:,}"


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.4g}"


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:,.3f} s"
