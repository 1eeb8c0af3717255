"""Emits the queue's metrics, in CloudWatch's Embedded Metric Format."""

from collections.abc import Mapping

from aws_lambda_powertools import Metrics

from lifoq.metrics import Metric

metrics = Metrics()
"""Namespace and service are Powertools' own environment variables."""


def emit(values: Mapping[Metric, float]) -> None:
    """Each with its unit, when the invocation ends."""
    for metric, value in values.items():
        metrics.add_metric(name=metric.value, unit=metric.unit.value, value=value)
