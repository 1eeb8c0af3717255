"""The queue's own metrics, under the names by which the functions emit them."""

from collections.abc import Mapping
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb

from lifoq.health import open_tasks_of_worker_groups
from lifoq.items import schema
from lifoq.metrics import DIMENSION, NAMESPACE, Metric, Unit, service

MINUTE: Final = cdk.Duration.minutes(1)


class QueueMetrics:
    """Metrics of one queue, by the minute."""

    def __init__(self, queue_name: str) -> None:
        self._dimensions = {DIMENSION: service(queue_name)}

    def of(self, metric: Metric) -> cloudwatch.Metric:
        """Gauges and durations by their highest value, events by their sum."""
        is_level = metric.gauge or metric.unit is Unit.SECONDS
        return self.most(metric) if is_level else self.count(metric)

    def count(self, metric: Metric, label: str | None = None) -> cloudwatch.Metric:
        """Count how often something happened in a minute."""
        return self._metric(metric, cloudwatch.Stats.SUM, label)

    def most(self, metric: Metric, label: str | None = None) -> cloudwatch.Metric:
        """The highest value of a minute: of a gauge, or of a duration."""
        return self._metric(metric, cloudwatch.Stats.MAXIMUM, label)

    def samples(self, metric: Metric, label: str | None = None) -> cloudwatch.Metric:
        """Count how many values came in a minute, of a duration."""
        return self._metric(metric, cloudwatch.Stats.SAMPLE_COUNT, label)

    def percentile(
        self, metric: Metric, percent: float, label: str | None = None
    ) -> cloudwatch.Metric:
        """The value that ``percent`` of the values did not exceed."""
        return self._metric(metric, cloudwatch.Stats.percentile(percent), label)

    def of_workers(
        self, workers: str, metric: Metric, label: str | None = None
    ) -> cloudwatch.Metric:
        """The highest value of a minute, of what waits for one group of long workers."""
        return self._metric(
            metric,
            cloudwatch.Stats.MAXIMUM,
            label,
            {open_tasks_of_worker_groups.DIMENSION: workers},
        )

    def _metric(
        self,
        metric: Metric,
        statistic: str,
        label: str | None,
        narrower: Mapping[str, str] | None = None,
    ) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=metric.value,
            dimensions_map={**self._dimensions, **(narrower or {})},
            statistic=statistic,
            period=MINUTE,
            label=label,
        )


def of_table(table: dynamodb.ITable, name: str) -> dict[str, cloudwatch.Metric]:
    """DynamoDB's own, by the minute, of the table and of each of its indexes, by their names."""
    places = {
        "table": {},
        **{
            index: {"GlobalSecondaryIndexName": index}
            for index in (schema.STATUS_CREATED_INDEX, schema.DUE_INDEX)
        },
    }
    return {
        place: cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name=name,
            dimensions_map={"TableName": table.table_name, **dimensions},
            statistic=cloudwatch.Stats.SUM,
            period=MINUTE,
        )
        for place, dimensions in places.items()
    }


def refused(table: dynamodb.ITable, operation: str) -> cloudwatch.Metric:
    """DynamoDB's count of requests that it throttled, for the table's capacity or an index's."""
    return cloudwatch.Metric(
        namespace="AWS/DynamoDB",
        metric_name="ThrottledRequests",
        dimensions_map={"TableName": table.table_name, "Operation": operation},
        statistic=cloudwatch.Stats.SUM,
        period=MINUTE,
    )


def total(label: str, *metrics: cloudwatch.IMetric) -> cloudwatch.MathExpression:
    """The sum, by the minute; a metric that is silent counts as nothing."""
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL(m{number}, 0)" for number in range(len(metrics))),
        using_metrics={f"m{number}": metric for number, metric in enumerate(metrics)},
        label=label,
        period=MINUTE,
    )
