"""One dashboard for all queues of an account and region, which finds them by their metrics."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from lifoq.metrics import DIMENSION, NAMESPACE, Metric
from lifoq_cdk.metrics import MINUTE

_THIRD: Final = 8
"""A third of a dashboard's 24 columns."""
_SUM: Final = cloudwatch.Stats.SUM
_MOST: Final = cloudwatch.Stats.MAXIMUM
_P95: Final = cloudwatch.Stats.percentile(95)
_CHARTS: Final = {
    "Done per minute": (Metric.TASKS_SUCCEEDED, _SUM),
    "Age of the newest waiting task, seconds": (Metric.NEWEST_WAITING_AGE, _MOST),
    "Age of the oldest waiting task, seconds": (Metric.OLDEST_WAITING_AGE, _MOST),
    "Shed per minute": (Metric.TASKS_SHED, _SUM),
    "Tasks that wait": (Metric.TASKS_PENDING, _MOST),
    "Tasks at work": (Metric.TASKS_TAKEN, _MOST),
    "Failed per minute": (Metric.TASKS_FAILED, _SUM),
    "Tasks in FAILURE": (Metric.TASKS_IN_FAILURE, _MOST),
    "Attempts that another will follow, per minute": (Metric.TASKS_RETRIED, _SUM),
    "Wait for the first attempt, p95, seconds": (Metric.WAIT, _P95),
    "Attempt of a success, p95, seconds": (Metric.SERVICE, _P95),
    "Tasks of unknown types": (Metric.TASKS_OF_UNKNOWN_TYPES, _MOST),
}
"""The metric and the statistic of each chart, from top to bottom."""


class LifoqDashboard(Construct):
    """A dashboard of all queues of the account and region that it is deployed in: each chart has a
    line for each queue. A queue that comes later shows by itself; one that had nothing to do for
    two weeks does not, since CloudWatch's search leaves it out. Deploy one, in a stack of its own.

    Examples:
        >>> dashboard = LifoqDashboard(stack, "Queues")
    """

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        charts = [_chart(title, *one) for title, one in _CHARTS.items()]
        self.dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            period_override=cloudwatch.PeriodOverride.INHERIT,
            default_interval=cdk.Duration.hours(3),
            widgets=[charts[first : first + 3] for first in range(0, len(charts), 3)],
        )


def _chart(title: str, metric: Metric, statistic: str) -> cloudwatch.GraphWidget:
    found = cloudwatch.SearchExpression(
        # Metrics of one queue have this dimension alone; those of a part of it have one more.
        expression=f"SEARCH('{{{NAMESPACE},{DIMENSION}}} MetricName=\"{metric}\"', '{statistic}')",
        # The queue, by the dimension that tells it from others.
        label=f"${{PROP('Dim.{DIMENSION}')}}",
        period=MINUTE,
    )
    return cloudwatch.GraphWidget(
        title=title, left=[found], left_y_axis=cloudwatch.YAxisProps(min=0), width=_THIRD
    )
