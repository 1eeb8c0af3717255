"""One page that answers, from top to bottom: is fresh work being done, how, at what cost."""

from collections.abc import Mapping
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.metrics import Metric
from lifoq_cdk.alarms import iterator_age
from lifoq_cdk.burn_rate import begun_in_time
from lifoq_cdk.metrics import MINUTE, QueueMetrics, of_table

QUARTER: Final = 6
"""A quarter of a dashboard's 24 columns."""
READERS: Final = {"trigger": "stream", "task events": "stream, task events"}
"""Functions that read the table's stream."""


class QueueDashboard(Construct):
    """A queue's dashboard."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        metrics: QueueMetrics,
        deadline_seconds: float,
        table: dynamodb.ITable,
        functions: Mapping[str, lambda_.IFunction],
        topics: Mapping[str, sns.ITopic],
        queues: Mapping[str, sqs.IQueue],
    ) -> None:
        super().__init__(scope, construct_id)
        self._queue = metrics
        self._deadline_seconds = deadline_seconds
        self._loop = self._loop_of(topics)
        self._durations = _graph("Duration p95, ms")
        self._errors = _graph("Errors")
        self._throttles = _graph("Throttles (of the processor: kicks that found it busy)")
        self._lag = _graph("Age of stream records and of asynchronous events, ms")
        self._invocations = _graph("Invocations")
        self._billed = _graph("Running, ms per minute")
        for name, function in functions.items():
            self.add_function(name, function)
        self._page = cloudwatch.Dashboard(
            self,
            "Dashboard",
            period_override=cloudwatch.PeriodOverride.INHERIT,
            widgets=[
                [_heading("Is fresh work being done?")],
                [self._goodput(), self._ages(), self._shed(), self._backlog()],
                [_heading("Workings")],
                [self._outcomes(), self._waits(), self._loop, _queues(queues)],
                [self._durations, self._errors, self._throttles, self._lag],
                [_heading("Cost")],
                [self._invocations, self._billed, *_capacity(table)],
            ],
        )

    def add_function(self, name: str, function: lambda_.IFunction) -> None:
        """A line in each graph that tells of functions."""
        if name in READERS:
            self._lag.add_left_metric(iterator_age(function, READERS[name]))
        runs = cloudwatch.Stats.SUM
        for graph, metric, statistic in (
            (self._loop, "Invocations", runs),
            (self._durations, "Duration", cloudwatch.Stats.percentile(95)),
            (self._errors, "Errors", cloudwatch.Stats.SUM),
            (self._throttles, "Throttles", cloudwatch.Stats.SUM),
            (self._lag, "AsyncEventAge", cloudwatch.Stats.MAXIMUM),
            (self._invocations, "Invocations", runs),
            (self._billed, "Duration", cloudwatch.Stats.SUM),
        ):
            line = function.metric(metric, label=name, statistic=statistic, period=MINUTE)
            graph.add_left_metric(line)

    def add_workers(self, name: str, *, service: ecs.FargateService, most: int) -> None:
        """A row for a group of long workers."""
        running = service.metric_cpu_utilization(
            label="running", statistic=cloudwatch.Stats.SAMPLE_COUNT, period=MINUTE
        )
        self._page.add_widgets(_heading(f"Long tasks: {name}"))
        self._page.add_widgets(
            _graph("Open tasks", self._queue.of_workers(name, Metric.TASKS_OPEN, "open")),
            _graph(
                "Age of the oldest waiting task, seconds",
                self._queue.of_workers(name, Metric.OLDEST_WAITING_AGE, "oldest"),
                limit=cloudwatch.HorizontalAnnotation(
                    value=self._deadline_seconds, label="deadline"
                ),
            ),
            _graph(
                "Workers",
                running,
                limit=cloudwatch.HorizontalAnnotation(value=most, label="most"),
            ),
        )

    def _goodput(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Goodput: done and put, per minute",
            self._queue.count(Metric.TASKS_SUCCEEDED, "done"),
            self._queue.count(Metric.TASKS_CREATED, "put by the generator"),
            self._queue.count(Metric.TASKS_UNCONFIRMED, "put, unconfirmed"),
        )

    def _ages(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Age of the newest and the oldest waiting task, seconds",
            self._queue.most(Metric.NEWEST_WAITING_AGE, "newest"),
            self._queue.most(Metric.OLDEST_WAITING_AGE, "oldest"),
            limit=cloudwatch.HorizontalAnnotation(value=self._deadline_seconds, label="deadline"),
        )

    def _shed(self) -> cloudwatch.GraphWidget:
        """The shed tasks of each minute, and the share of an hour's tasks that began in time."""
        in_time = begun_in_time(
            self._queue, period=cdk.Duration.hours(1), label="begun in time, % of an hour's"
        )
        shed = self._queue.count(Metric.TASKS_SHED, "shed")
        return _graph("Shed per minute", shed, percent=in_time)

    def _backlog(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Backlog",
            self._queue.most(Metric.TASKS_PENDING, "pending"),
            self._queue.most(Metric.TASKS_DELAYED, "delayed"),
            self._queue.most(Metric.TASKS_TAKEN, "taken"),
            self._queue.most(Metric.TASKS_IN_FAILURE, "in failure"),
            self._queue.most(Metric.TASKS_OF_UNKNOWN_TYPES, "of unknown types"),
        )

    def _outcomes(self) -> cloudwatch.GraphWidget:
        return _graph(
            "What became of attempts, per minute",
            self._queue.count(Metric.TASKS_CLAIMED, "claimed"),
            self._queue.count(Metric.TASKS_RETRIED, "retried"),
            self._queue.count(Metric.TASKS_FAILED, "failed"),
            self._queue.count(Metric.TASKS_TIMED_OUT, "timed out"),
            self._queue.count(Metric.TASKS_UNSETTLED, "unsettled"),
            self._queue.count(Metric.LEASES_LOST, "leases lost"),
            self._queue.count(Metric.LEASES_EXPIRED, "leases expired"),
        )

    def _waits(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Wait and service, seconds",
            self._queue.percentile(Metric.WAIT, 50, "wait p50"),
            self._queue.percentile(Metric.WAIT, 95, "wait p95"),
            self._queue.percentile(Metric.SERVICE, 50, "service p50"),
            self._queue.percentile(Metric.SERVICE, 95, "service p95"),
        )

    def _loop_of(self, topics: Mapping[str, sns.ITopic]) -> cloudwatch.GraphWidget:
        return _graph(
            "The loop, per minute",
            *(
                topic.metric_number_of_messages_published(label=f"to {name}", period=MINUTE)
                for name, topic in topics.items()
            ),
            self._queue.count(Metric.TAIL_CALLS, "tail calls"),
        )


def _heading(text: str) -> cloudwatch.TextWidget:
    return cloudwatch.TextWidget(
        markdown=f"## {text}",
        width=4 * QUARTER,
        height=1,
        background=cloudwatch.TextWidgetBackground.TRANSPARENT,
    )


def _graph(
    title: str,
    *metrics: cloudwatch.IMetric,
    limit: cloudwatch.HorizontalAnnotation | None = None,
    percent: cloudwatch.IMetric | None = None,
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=list(metrics),
        left_annotations=[limit] if limit else None,
        left_y_axis=cloudwatch.YAxisProps(min=0),
        right=[percent] if percent else None,
        right_y_axis=cloudwatch.YAxisProps(min=0, max=100) if percent else None,
        width=QUARTER,
    )


def _queues(queues: Mapping[str, sqs.IQueue]) -> cloudwatch.GraphWidget:
    return _graph(
        "Dead letters and spare kicks",
        *(
            queue.metric_approximate_number_of_messages_visible(
                label=label, period=MINUTE, statistic=cloudwatch.Stats.MAXIMUM
            )
            for label, queue in queues.items()
        ),
    )


def _capacity(table: dynamodb.ITable) -> list[cloudwatch.GraphWidget]:
    """Return the charts of request units on demand, which DynamoDB bills."""
    return [
        _graph(
            f"{kind} units per minute",
            *(
                metric.with_(label=place)
                for place, metric in of_table(table, f"Consumed{kind}CapacityUnits").items()
            ),
        )
        for kind in ("Write", "Read")
    ]
