"""Emits the queue's metrics, in CloudWatch's Embedded Metric Format."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from aws_lambda_powertools import Metrics

from lifoq.environment import Environment
from lifoq.metrics import OF_TYPE, Metric

Handler = Callable[[Any, Any], Any]
metrics = Metrics()
"""Namespace and service are Powertools' own environment variables."""
_zeros = Environment.of_this_process().detailed_metrics


def measured(handler: Handler) -> Handler:
    """Write what the handler emitted, however its invocation ends."""

    @wraps(handler)
    def handle(event: Any, context: Any) -> Any:
        try:
            return handler(event, context)
        finally:
            flush()

    return handle


def emit(values: Mapping[Metric, float]) -> None:
    """Have metrics written, each with its unit, at the next ``flush``. Zeros that say nothing are
    left out, unless the queue has detailed monitoring."""
    for metric, value in values.items():
        if value or _zeros or not metric.is_silent_at_zero:
            metrics.add_metric(name=metric.value, unit=metric.unit.value, value=value)


def flush() -> None:
    """Write what was emitted. Where nothing was, Powertools would warn of it."""
    if metrics.metric_set:
        metrics.flush_metrics()


def emit_by_type(metric: Metric, values: Mapping[str, float]) -> None:
    """Emit at once, with the task type as a dimension beside the queue's."""
    for name, value in values.items():
        from aws_lambda_powertools.metrics import EphemeralMetrics  # noqa: PLC0415 - where one is

        of_type = EphemeralMetrics()
        of_type.add_dimension(name=OF_TYPE, value=name)
        of_type.add_metric(name=metric.value, unit=metric.unit.value, value=value)
        of_type.flush_metrics()
