"""One look for all charts, readable on a white and on a dark page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import altair as alt
import vl_convert

from benchmarks.record import Row

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart

WIDTH: Final = 560
HEIGHT: Final = 260
INK: Final = "#767b82"
"""Some 4.2 : 1 in contrast to white, and to GitHub's dark page."""
FAINT: Final = "#767b8240"
COLORS: Final = ("#3b82c4", "#d1622b", "#2a9d74", "#c2497f", "#c98a04", "#8a8f98")
"""Distinct to the colour-blind in this order, on white and on near-black."""

TEXT: Final = {
    "labelColor": INK,
    "titleColor": INK,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
}
CONFIG: Final[dict[str, Any]] = {
    "background": "transparent",
    # A reader's font may be wider than the one that the layout was made with.
    "padding": {"left": 24, "top": 5, "right": 24, "bottom": 5},
    "font": "Helvetica, Arial, Liberation Sans, sans-serif",
    "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
    "axis": {
        **TEXT,
        "labelLimit": 260,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": FAINT,
        "titlePadding": 8,
    },
    "axisQuantitative": {"tickCount": 6},
    "legend": {
        "orient": "top",
        **TEXT,
        "columnPadding": 30,
        "labelLimit": 300,
        "symbolStrokeWidth": 2.5,
    },
    "header": {"labelColor": INK, "labelFontSize": 12},
    "range": {"category": list(COLORS)},
    "line": {"strokeWidth": 2},
    "point": {"filled": True, "size": 45},
}


def svg(chart: AnyChart, description: str) -> str:
    """``description``: for who cannot see it."""
    specification = chart.properties(description=description).to_dict()
    specification["config"] = CONFIG
    drawn: str = vl_convert.vegalite_to_svg(specification, vl_version=version())
    return drawn + "\n"


def version() -> str:
    """The version of Vega-Lite that Altair writes."""
    major, minor, *_ = alt.SCHEMA_VERSION.removeprefix("v").split(".")
    return f"v{major}_{minor}"


def values(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


def plain(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the rows as a chart reads them."""
    return [row.model_dump() for row in rows]


def color(field: str) -> alt.Color:
    """A colour for each value, in the order of the rows."""
    return alt.Color(f"{field}:N", title=None, sort=None, legend=alt.Legend(columns=3))


def x(field: str, title: str, rows: Iterable[Mapping[str, Any]]) -> alt.X:
    """A horizontal axis from the least to the greatest value, with a tick at each."""
    ticks = sorted({row[field] for row in rows})
    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(domain=[ticks[0], ticks[-1]], nice=False, padding=10),
        axis=alt.Axis(values=ticks, format=",~r", labelOverlap="parity"),
    )


def share(field: str, title: str) -> alt.Y:
    """A vertical axis in per cent of a share."""
    return alt.Y(f"{field}:Q", title=title, axis=alt.Axis(format=".0%"))


def lines(rows: Iterable[Mapping[str, Any]], **channels: Any) -> alt.Chart:
    """A line of each colour, with its points."""
    chart: alt.Chart = alt.Chart(values(rows)).mark_line(point=True).encode(**channels)
    return chart


def bars(
    rows: Sequence[Mapping[str, Any]], *, bar: str, value: str, part: str, title: str
) -> alt.Chart:
    """A horizontal bar for each ``bar``, stacked of its ``part``s in the order of the rows."""
    parts = list(dict.fromkeys(row[part] for row in rows))
    chart: alt.Chart = alt.Chart(values({**row, "_place": parts.index(row[part])} for row in rows))
    stacked: alt.Chart = chart.mark_bar().encode(
        y=alt.Y(f"{bar}:N", title=None, sort=None),
        x=alt.X(f"{value}:Q", title=title),
        color=color(part),
        order="_place:Q",
    )
    return stacked.properties(height=alt.Step(34))
