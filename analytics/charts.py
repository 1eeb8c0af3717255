"""The page's charts, as Vega-Lite specifications; the page decides on colours for dark and light.

Every chart has a description for screen readers; its numbers stand beside it in a table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from analytics import series
from analytics.series import Points
from analytics.tasks import Outcome

_COLORS: Final = {
    "arrivals": "#3b82c4",
    "first claims": "#2a9d74",
    "shed": "#d1622b",
    "waiting": "#c98a04",
    "claimed, not finished": "#3b82c4",
    "claimed": "#2a9d74",
    "still waiting": "#c98a04",
    "p50": "#3b82c4",
    "p95": "#c98a04",
    "p99": "#c2497f",
    Outcome.WAITING.value: "#c98a04",
    Outcome.TAKEN.value: "#3b82c4",
    Outcome.SUCCEEDED.value: "#2a9d74",
    Outcome.FAILED.value: "#c2497f",
    Outcome.CANCELLED.value: "#8a8f98",
    Outcome.SHED.value: "#d1622b",
}
"""One colour for one meaning in all charts, readable on white and on near-black, and distinct to
the colour-blind."""

_TIMES: Final = alt.Axis(
    labelExpr="utcFormat(datum.value, utchours(datum.value) + utcminutes(datum.value) + "
    "utcseconds(datum.value) == 0 ? '%d %b' : utcseconds(datum.value) == 0 ? '%H:%M' : '%H:%M:%S')",
    labelOverlap=True,
)
"""Twenty-four hours a day; a date at midnight."""


FEW: Final = 3


def backlog(points: Points) -> dict[str, Any]:
    names = {"waiting": "waiting", "claimed": "claimed, not finished"}
    return _over_time(
        _long(points, names, at="until"),
        names=list(names.values()),
        title="tasks",
        mark=alt.MarkDef(type="area", interpolate="linear", point=_few(points)),
        description="Tasks in the queue over time: waiting, and claimed but not finished.",
    )


def flows(points: Points) -> dict[str, Any]:
    names = {"arrivals": "arrivals", "first_claims": "first claims", "shed": "shed"}
    return _over_time(
        _long(points, names),
        names=list(names.values()),
        title="tasks per second",
        mark=alt.MarkDef(
            type="line", interpolate="step-after", strokeWidth=1.8, point=_few(points)
        ),
        description="Arrivals, first claims and shed tasks per second over time.",
    )


def waits(points: Points) -> dict[str, Any]:
    names = {name: name for name in ("p50", "p95", "p99")}
    return _over_time(
        _long(points, names),
        names=list(names),
        title="seconds",
        mark=alt.MarkDef(type="line", point=True),
        description="Percentiles of the wait of the tasks first claimed at each time.",
    )


def ages(points: Points) -> dict[str, Any]:
    names = {"claimed": "claimed", "shed": "shed", "waiting": "still waiting"}
    rows = [{**point, "kind": names[point["kind"]]} for point in points]
    labels = series.age_labels()
    last = max((point["bin"] for point in points), default=0)
    chart = (
        alt.Chart(_values(rows))
        .mark_bar()
        .encode(
            x=alt.X(
                "age:O",
                title="time waited",
                scale=alt.Scale(domain=list(labels[: last + 1])),
                axis=alt.Axis(labelAngle=-40),
            ),
            xOffset=alt.XOffset("kind:N", scale=alt.Scale(domain=list(names.values()))),
            y=alt.Y("tasks:Q", title="tasks", axis=_whole_numbers()),
            color=_color("kind", list(names.values())),
            tooltip=["age:O", "kind:N", alt.Tooltip("tasks:Q", format=",")],
        )
    )
    return _finished(chart, "How long tasks waited: those claimed, shed, and still waiting.")


def outcomes(by_type: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    names = [outcome.value for outcome in Outcome]
    rows = [
        {"type": task_type, "outcome": name, "tasks": counts[name]}
        for task_type, counts in by_type.items()
        for name in names
    ]
    chart = (
        alt.Chart(_values(rows))
        .mark_bar()
        .encode(
            y=alt.Y("type:N", title=None, sort="-x"),
            x=alt.X("tasks:Q", title="tasks", axis=_whole_numbers()),
            color=_color("outcome", names),
            tooltip=["type:N", "outcome:N", alt.Tooltip("tasks:Q", format=",")],
        )
    )
    return _finished(chart, "Outcomes by task type.", height=60 + 26 * len(by_type))


def _over_time(
    rows: Points, *, names: Sequence[str], title: str, mark: alt.MarkDef, description: str
) -> dict[str, Any]:
    picked = alt.selection_point(fields=["series"], bind="legend")
    chart = (
        alt.Chart(_values(rows), mark=mark)
        .encode(
            x=alt.X("time:T", title="UTC", scale=alt.Scale(type="utc"), axis=_TIMES),
            y=alt.Y("value:Q", title=title, stack="zero" if mark.type == "area" else None),
            color=_color("series", names),
            opacity=alt.when(picked).then(alt.value(0.9)).otherwise(alt.value(0.12)),
            tooltip=[
                alt.Tooltip("utcyearmonthdatehoursminutesseconds(time):T", title="time (UTC)"),
                alt.Tooltip("series:N", title="series"),
                alt.Tooltip("value:Q", title=title, format=",.4~g"),
            ],
        )
        .add_params(picked)
    )
    return _finished(chart, description)


def _long(points: Points, names: Mapping[str, str], *, at: str = "time") -> Points:
    return [
        {"time": point[at], "series": shown, "value": point[name]}
        for name, shown in names.items()
        for point in points
    ]


def _color(field: str, names: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=list(names), range=[_COLORS[name] for name in names])
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=alt.Legend(orient="top"))


def _few(points: Points) -> bool:
    """Too few to be seen as a line."""
    return len(points) <= FEW


def _values(rows: Points) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _whole_numbers() -> alt.Axis:
    return alt.Axis(format=",d", labelExpr="datum.value % 1 ? '' : datum.label")


def _finished(chart: alt.Chart, description: str, *, height: int = 240) -> dict[str, Any]:
    chart = chart.properties(width="container", height=height, description=description)
    spec: dict[str, Any] = chart.to_dict()
    return spec
