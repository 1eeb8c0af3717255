"""The charts over time: what is known is drawn where it belongs, and what is not is a gap."""

from typing import Any

import pytest

from lifoq.basics.times import iso
from lifoq_analytics.page import axes, charts
from lifoq_analytics.page.axes import Time
from lifoq_analytics.page.charts import Level, Plots, Shape

SECOND = 1_000_000
HUNDRED = Time(start=0, end=100 * SECOND)
ALIKE = {"min": 60.5, "max": 61.0}


def _points(**of: list[Any]) -> list[dict[str, Any]]:
    """Four points of 25 seconds."""
    return [
        {
            "time": iso(25 * n * SECOND),
            "until": iso(25 * (n + 1) * SECOND),
            **{name: values[n] for name, values in of.items()},
        }
        for n in range(4)
    ]


POINTS = _points(
    arrivals=[4, None, 2, 0],
    first_claims=[2, 1, 3, 3],
    shed=[None, None, 1, 0],
    waiting=[50, 0, 100, 100],
    claimed=[50, 0, 0, 100],
    oldest_waiting_seconds=[25.0, None, 40.0, None],
)
WAITS = [{"time": iso(25 * n * SECOND), "p50": 1.0, "p95": 2.0, "p99": 9.0} for n in (0, 1, 3)]
PLOTS = Plots(HUNDRED, POINTS, WAITS)


def _shapes(plot: charts.Plot) -> list[tuple[str, str, list[str]]]:
    """Return kind and colour, and each run's path."""
    return [
        (shape.kind, shape.color, [f"M{run}".strip() for run in shape.path.split("M")[1:]])
        for shape in plot.shapes
    ]


def test_rates_are_steps_and_a_time_without_a_rate_is_a_gap():
    plot = PLOTS.flows()
    assert plot.description == "Came in: 0/s to 4/s. Served: 1/s to 3/s. Shed: 0/s to 1/s."
    assert [tick.label for tick in plot.ticks] == [f"{n}/s" for n in range(5)]
    came = ["M0.0 0.0L250.0 0.0", "M500.0 50.0L750.0 50.0 750.0 100.0 1000.0 100.0"]
    served = "M0.0 50.0L250.0 50.0 250.0 75.0 500.0 75.0 500.0 25.0 750.0 25.0 750.0 25.0"
    assert _shapes(plot) == [
        ("line", "arrivals", came),
        ("line", "served", [f"{served} 1000.0 25.0"]),
        ("line", "shed", ["M500.0 75.0L750.0 75.0 750.0 100.0 1000.0 100.0"]),
    ]
    named = [(key.color, key.label) for key in plot.keys]
    assert named == [("arrivals", "came in"), ("served", "served"), ("shed", "shed")]
    assert plot.levels == []


def test_waits_stand_in_the_middle_of_their_time_and_the_oldests_age_at_its_end():
    plot = PLOTS.patience(deadlines=ALIKE, alarm=48)
    values = axes.durations(1, 60)
    said = "Median wait of the served: 1 s to 1 s. Age of the oldest that waits: 25 s to 40 s."
    assert plot.description.replace("\N{NO-BREAK SPACE}", " ") == said
    assert plot.ticks == values.ticks
    upper, first, then = (round(100 * (1 - values.at(seconds)), 1) for seconds in (9, 25, 40))
    band = f"M125.0 {upper}L375.0 {upper} 375.0 100.0 125.0 100.0"
    assert _shapes(plot) == [
        ("band", "served", [band, f"M875.0 {upper}L875.0 100.0"]),
        ("line", "served", ["M125.0 100.0L375.0 100.0"]),
        ("dots", "served", ["M875.0 100.0L875.0 100.0"]),
        ("dots", "waiting", [f"M{x} {y}L{x} {y}" for x, y in ((250.0, first), (750.0, then))]),
    ]
    assert plot.levels == [
        Level(at=values.at(60), color="shed", label="deadline 1\N{NO-BREAK SPACE}min"),
        Level(at=values.at(48), color="ink", label="alarm 48\N{NO-BREAK SPACE}s"),
    ]


def test_those_in_work_stand_on_those_that_wait_and_a_queue_begins_empty():
    plot = PLOTS.backlog()
    assert plot.description == "Waiting: 0 to 100. Waiting and in work: 0 to 200."
    assert [tick.label for tick in plot.ticks] == ["0", "50", "100", "150", "200"]
    line = ["0.0 100.0", "250.0 75.0", "500.0 100.0", "750.0 50.0", "1000.0 50.0"]
    top = ["0.0 100.0", "250.0 50.0", "500.0 100.0", "750.0 50.0", "1000.0 0.0"]
    floor = [f"{x}.0 100.0" for x in (0, 250, 500, 750, 1000)]
    assert _shapes(plot) == [
        ("area", color, [f"M{upper[0]}L{' '.join([*upper[1:], *lower[::-1]])}"])
        for color, upper, lower in (("taken", top, line), ("waiting", line, floor))
    ]
    assert plot.levels == []


def test_where_nothing_is_known_nothing_is_drawn():
    nobody = {"min": None, "max": None}
    none = [{**point, "oldest_waiting_seconds": None} for point in POINTS]
    plot = Plots(HUNDRED, none, []).patience(deadlines=nobody, alarm=None)
    assert plot.description == (
        "Median wait of the served: none. Age of the oldest that waits: none."
    )
    assert plot.shapes == [Shape(kind="band", color="served", path="")]
    assert plot.ticks == axes.durations(1, 1).ticks
    assert plot.levels == []
    rates = [{**point, "arrivals": None, "first_claims": None, "shed": None} for point in POINTS]
    flows = Plots(HUNDRED, rates, []).flows()
    assert flows.description == "Came in: none. Served: none. Shed: none."
    assert (flows.shapes, flows.ticks[-1].label) == ([], "0.5/s")
    backlog = Plots(HUNDRED, [], []).backlog()
    assert (backlog.description, [tick.label for tick in backlog.ticks]) == (
        "Waiting: none. Waiting and in work: none.",
        ["0", "1"],
    )


@pytest.mark.parametrize(
    ("rates", "stretches"),
    [
        ([(10, 1), (10, 0), (10, 0), (10, 0.9)], [(0, 25)]),
        ([(10, 0), (10, 1), (10, 0), (10, 1)], [(25, 100)]),
        ([(10, 1), (10, 0), (10, 1), (10, 0)], [(0, 75)]),
        ([(10, 1), (10, 0), (10, 0), (10, 1)], [(0, 25), (75, 100)]),
        ([(0, 0), (None, None), (0, 0), (10, 5)], [(75, 100)]),
    ],
)
def test_a_time_between_two_of_overload_is_one_too(rates, stretches):
    arrivals, shed = zip(*rates, strict=True)
    plots = Plots(HUNDRED, _points(arrivals=arrivals, arrivals_shed=shed), [])
    found = plots.overloads(last_until=None)
    assert [(100 * one.at, 100 * one.to) for one in found] == stretches
    assert [one.width for one in found] == [(end - begin) / 100 for begin, end in stretches]
    longer = plots.overloads(last_until=30 * SECOND)[-1]
    assert (longer.at, longer.to) == (found[-1].at, max(found[-1].to, 0.3))
