"""The share of tasks that began in time, and the alarm that rings when too few do for too long.

The objective is a share, such as 99 %. What is left to be shed, 1 %, is the error budget, and the
burn rate is how many times as fast as that tasks are shed. The alarm rings by the last hour alone.

With detailed monitoring it rings by two pairs of windows, as Google's SRE workbook has them
(https://sre.google/workbook/alerting-on-slos/, "Multiwindow, Multi-Burn-Rate Alerts"): a long
window says that it matters, a short one that it still goes on. That is five alarms in place of one,
and costs six times as much. The hour alone rings for what the pairs ring for, since where 6 % of
six hours are shed, 6 % of one of them are; but not for a queue so small that it sheds its ten tasks
in six hours. It also rings earlier, and for a single bad hour, and ends up to an hour after the
shedding.
"""

from dataclasses import dataclass
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from lifoq.errors import InvalidInput
from lifoq.metrics import Metric
from lifoq_cdk.metrics import QueueMetrics

Rule = cloudwatch.IAlarmRule


@dataclass(frozen=True, kw_only=True)
class Window:
    """A window, and the burn rate in it from which on the alarm rings."""

    window: cdk.Duration
    burn_rate: float


@dataclass(frozen=True, kw_only=True)
class Windows:
    """A pair of windows, and the burn rate in both of them from which on the alarm rings."""

    name: str
    long: cdk.Duration
    short: cdk.Duration
    """A twelfth of the long one: the alarm ends so soon after the shedding does."""
    burn_rate: float


LONG: Final = Window(window=cdk.Duration.hours(1), burn_rate=6)
"""The one window of a queue without detailed monitoring. The burn rate is that of the slow pair, so
that nothing is missed; an hour of it uses up 0.8 % of what may be shed in 30 days."""
FAST: Final = Windows(
    name="Fast",
    long=cdk.Duration.hours(1),
    short=cdk.Duration.minutes(5),
    burn_rate=14.4,
)
"""An hour of it uses up 2 % of what may be shed in 30 days."""
SLOW: Final = Windows(
    name="Slow",
    long=cdk.Duration.hours(6),
    short=cdk.Duration.minutes(30),
    burn_rate=6,
)
"""Six hours of it use up 5 % of what may be shed in 30 days."""


def check_objective(name: str, objective: float) -> None:
    """Raise InvalidInput for an objective that is no share, or that no window could miss fast
    enough: with 90 %, tasks are shed ten times as fast as they may be where all of them are."""
    is_number = isinstance(objective, int | float)
    if not is_number or not 0 < 1 - objective < 1 / FAST.burn_rate:
        problem = (
            f"must be a share above {1 - 1 / FAST.burn_rate:.3f} and below 1, such as 0.99; None "
            "for no such alarm, where more tasks are meant to be shed"
        )
        raise InvalidInput(name, objective, problem)


def begun_in_time(
    metrics: QueueMetrics, *, period: cdk.Duration, label: str | None = None
) -> cloudwatch.MathExpression:
    """Return the share of tasks that began in time, in per cent, of those that began for the first
    time or were shed in a period. None where there were none."""
    return _math(
        "100 * FILL(begun, 0) / (FILL(begun, 0) + FILL(shed, 0))",
        metrics,
        period=period,
        label=label,
    )


def burn_rate(
    metrics: QueueMetrics, *, window: cdk.Duration, objective: float, least: int
) -> cloudwatch.MathExpression:
    """Return the burn rate of a window; 0 where fewer than ``least`` tasks were shed."""
    share = "FILL(shed, 0) / (FILL(begun, 0) + FILL(shed, 0))"
    return _math(
        f"IF(FILL(shed, 0) >= {least}, {share}, 0) / {1 - objective:.6g}",
        metrics,
        period=window,
        label=f"burn rate of {window.to_human_string()}",
    )


def burns_too_fast(
    scope: Construct, *, metrics: QueueMetrics, objective: float, fewest_shed: int
) -> Rule:
    """Return the rule of the alarm on tasks that are shed so fast that the objective will be
    missed, with the alarm of each window in ``scope``. These tell nobody.

    ``fewest_shed``: tasks that must have been shed in a long window, so that one of a few tasks
    rings nobody.
    """

    def burns(name: str, window: cdk.Duration, threshold: float, least: int) -> Rule:
        alarm = cloudwatch.Alarm(
            scope,
            f"BurnRate{name}",
            alarm_description="A part of the alarm BurnRate, which tells.",
            metric=burn_rate(metrics, window=window, objective=objective, least=least),
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        return cloudwatch.AlarmRule.from_alarm(alarm, cloudwatch.AlarmState.ALARM)

    def burn(pair: Windows) -> Rule:
        return cloudwatch.AlarmRule.all_of(
            burns(f"{pair.name}Long", pair.long, pair.burn_rate, fewest_shed),
            burns(f"{pair.name}Short", pair.short, pair.burn_rate, 1),
        )

    return cloudwatch.AlarmRule.any_of(burn(FAST), burn(SLOW))


def in_words(window: Window, objective: float) -> str:
    """Say from which share on the alarm rings."""
    return f"Shed were more than {_share(window.burn_rate, window.window, objective)}."


def pairs_in_words(objective: float) -> str:
    """Say from which shares on the alarm of the pairs rings."""
    shares = (_share(pair.burn_rate, pair.long, objective) for pair in (FAST, SLOW))
    return f"Shed were more than {', or '.join(shares)}."


def _share(rate: float, window: cdk.Duration, objective: float) -> str:
    return f"{100 * rate * (1 - objective):.3g} % in {window.to_human_string()}"


def _math(
    expression: str, metrics: QueueMetrics, *, period: cdk.Duration, label: str | None
) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression=expression,
        # A wait is told at a task's first claim.
        using_metrics={
            "begun": metrics.samples(Metric.WAIT).with_(period=period),
            "shed": metrics.count(Metric.TASKS_SHED).with_(period=period),
        },
        period=period,
        label=label,
    )
