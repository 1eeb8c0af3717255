"""Emits the queue's metrics, in CloudWatch's Embedded Metric Format."""

from collections.abc import Mapping

from aws_lambda_powertools import Metrics

from lifoq.metrics import OF_TYPE, Metric

metrics = Metrics()
"""Namespace and service are Powertools' own environment variables."""


def emit(values: Mapping[Metric, float]) -> None:
    """Write metrics, each with its unit, when the invocation ends."""
    for metric, value in values.items():
        metrics.add_metric(name=metric.value, unit=metric.unit.value, value=value)


def emit_by_type(metric: Metric, values: Mapping[str, float]) -> None:
    """Emit at once, with the task type as a dimension beside the queue's."""
    for name, value in values.items():
        from aws_lambda_powertools.metrics import EphemeralMetrics  # noqa: PLC0415 - where one is

        of_type = EphemeralMetrics()
        of_type.add_dimension(name=OF_TYPE, value=name)
        of_type.add_metric(name=metric.value, unit=metric.unit.value, value=value)
        of_type.flush_metrics()
