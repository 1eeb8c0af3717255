"""The alarm on the share of tasks that begin in time, by numbers: what CloudWatch would make of the
expressions and the rule in the template, minute by minute."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import aws_cdk as cdk
import numpy as np
import pytest
from aws_cdk import aws_sns as sns

from lifoq.errors import InvalidInput
from lifoq_cdk import AlarmThresholds, LifoQueue
from lifoq_cdk.alarms import AlarmBoard
from tests.infrastructure.deployments import ROOT, new_app

Minute = tuple[float, float]
"""Tasks that began for the first time, and tasks that were shed."""
TASKS = ROOT / "tests" / "constructs" / "thumbnails"
HOUR = 60
WELL: Minute = (100, 0)


class Monitoring:
    """Alarms of a template as CloudWatch evaluates them: every minute, each over the latest of its
    periods (its windows slide)."""

    def __init__(self, template: dict[str, Any]) -> None:
        resources = template["Resources"]
        self._alarms = {
            name: one["Properties"]
            for name, one in resources.items()
            if one["Type"] == "AWS::CloudWatch::Alarm" and "BurnRate" in name
        }
        composites = [
            one["Properties"]
            for one in resources.values()
            if one["Type"] == "AWS::CloudWatch::CompositeAlarm"
        ]
        if composites:
            (tells,) = composites
            parts = tells["AlarmRule"]["Fn::Join"][1]
            self._rule = "".join(p if isinstance(p, str) else p["Fn::GetAtt"][0] for p in parts)
        else:
            ((name, tells),) = self._alarms.items()
            self._rule = f'ALARM("{name}")'
        assert tells["AlarmActions"]

    def rings_after(self, minutes: Sequence[Minute]) -> list[int]:
        """The minutes at which the alarm begins and ends, in turn."""
        known = self._ringing(minutes)
        return [at for at in range(1, len(known)) if known[at] != known[at - 1]]

    def _ringing(self, minutes: Sequence[Minute]) -> Any:
        """Return True for the beginning and each minute's end at which the alarm rings."""
        so_far = np.vstack([np.zeros(2), np.cumsum(np.array(minutes, dtype=float), axis=0)])
        states = {name: self._states(alarm, so_far) for name, alarm in self._alarms.items()}
        rule = re.sub(r'ALARM\("(\w+)"\)', r"\1", self._rule)
        return eval(rule.replace("AND", "&").replace("OR", "|"), {}, states)  # noqa: S307

    @staticmethod
    def _states(alarm: dict[str, Any], so_far: Any) -> Any:
        assert (alarm["EvaluationPeriods"], alarm["TreatMissingData"]) == (1, "notBreaching")
        assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
        columns = {("WaitSeconds", "SampleCount"): 0, ("TasksShed", "Sum"): 1}
        values, expression = {}, ""
        for query in alarm["Metrics"]:
            if "Expression" in query:
                assert query["ReturnData"]
                expression = query["Expression"]
                continue
            read = query["MetricStat"]
            sums = so_far[:, columns[read["Metric"]["MetricName"], read["Stat"]]]
            begins = np.maximum(np.arange(len(sums)) - read["Period"] // 60, 0)
            within = sums - sums[begins]
            # What was not sent in the whole period is no number.
            values[query["Id"]] = np.where(within > 0, within, np.nan)
        return evaluated(expression, values) > alarm["Threshold"]


def evaluated(expression: str, values: dict[str, Any]) -> Any:
    """Metric math, as far as it is used here. What is divided by zero is no number."""
    functions: dict[str, Callable[..., Any]] = {
        "IF": np.where,
        "FILL": lambda value, instead: np.where(np.isnan(value), instead, value),
    }
    with np.errstate(all="ignore"):
        return np.float64(1) * eval(expression, {"__builtins__": {}}, {**functions, **values})  # noqa: S307


SETTINGS: dict[str, dict[str, Any]] = {
    "pairs": {},
    "hour": {"detailed": False},
    "none": {"begun_in_time": None},
    "noneofhour": {"begun_in_time": None, "detailed": False},
}
"""By the name of a stack."""
Templates = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def templates() -> Templates:
    """A queue with each of the settings. One stack has an alarm of its team's own."""
    app = new_app()
    for name, settings in SETTINGS.items():
        stack = cdk.Stack(app, name)
        thresholds = {key: value for key, value in settings.items() if key != "detailed"}
        queue = LifoQueue(
            stack,
            "Queue",
            tasks=TASKS,
            alarm_thresholds=AlarmThresholds(**thresholds),
            detailed_monitoring=settings.get("detailed", True),
        )
        if name == "none":
            board = AlarmBoard(stack, "Own", topic=sns.Topic(stack, "Topic"), detailed=False)
            share = queue.metric_begun_in_time()
            board.add("DeadLetters", meaning="Late.", metric=share, threshold=0)
    return {stack.stack_name: stack.template for stack in app.synth().stacks}


FEW = ([(1, 0)] + [(0, 0)] * 29 + [(0, 1)] + [(0, 0)] * 29) * 12
"""Two tasks an hour, of which one is shed: six in six hours."""


@pytest.mark.parametrize(
    ("minutes", "pairs", "hour"),
    [
        # Little is shed: 5 % of all, or one in a hundred, or nothing at all.
        *(([minute] * 7 * HOUR, [], []) for minute in (WELL, (0, 0), (99, 1), (95, 5))),
        ([(94.5, 5.5)] * 12 * HOUR, [], []),
        (FEW, [], []),
        ([(0, 0)] * HOUR + [(0, 1)] * 9, [], []),
        ([(0, 0)] * HOUR + [(0, 1)] * 10, [70], [70]),
        # A standstill rings after a quarter of an hour, and ends with it.
        ([WELL] * 7 * HOUR + [(0, 50)] * 20 + [WELL] * 2 * HOUR, [436, 444], [427, 494]),
        # A fifth is shed for an hour.
        ([WELL] * 7 * HOUR + [(80, 20)] * HOUR + [WELL] * HOUR, [464, 482], [439, 522]),
        # A slow burn of 7 %, too few for the pair of an hour.
        ([WELL] * 7 * HOUR + [(93, 7)] * 7 * HOUR + [WELL] * HOUR, [729, 845], [472, 849]),
    ],
)
def test_pairs_of_windows_ring_for_much_soon_and_for_little_late_and_the_hour_not_later(
    templates, minutes, pairs, hour
):
    """The minutes at which the alarm begins and ends. The hour is without detailed monitoring."""
    assert Monitoring(templates["pairs"]).rings_after(minutes) == pairs
    assert Monitoring(templates["hour"]).rings_after(minutes) == hour


def test_the_alarm_says_from_which_share_on_it_rings(templates):
    for name, words in (
        ("pairs", "Shed were more than 14.4 % in 1 hour, or 6 % in 6 hours. See"),
        ("hour", "Shed were more than 6 % in 1 hour. See"),
    ):
        assert words in str(templates[name]["Resources"])


def test_where_much_is_meant_to_be_shed_there_is_no_such_alarm(templates):
    for name in ("none", "noneofhour"):
        assert not [one for one in templates[name]["Resources"] if "BurnRate" in one]


@pytest.mark.parametrize("objective", [1, 0.93, 99, -1, "99 %"])
def test_an_objective_that_no_hour_could_miss_is_refused(objective):
    with pytest.raises(InvalidInput, match=r"begun_in_time=.*: must be a share above 0\.931 and"):
        AlarmThresholds(begun_in_time=objective)


def test_the_share_that_the_dashboard_shows_is_of_those_that_began_or_were_shed(templates):
    alarms = templates["none"]["Resources"].items()
    (own,) = [
        one["Properties"]
        for name, one in alarms
        if one["Type"] == "AWS::CloudWatch::Alarm" and name.startswith("Own")
    ]
    (expression,) = [query["Expression"] for query in own["Metrics"] if "Expression" in query]
    nothing = np.float64(np.nan)
    for begun, shed, share in ((98, 2, 98), (5, nothing, 100), (nothing, 5, 0)):
        values = {"begun": np.float64(begun), "shed": np.float64(shed)}
        assert evaluated(expression, values) == share
    assert np.isnan(evaluated(expression, {"begun": nothing, "shed": nothing}))
