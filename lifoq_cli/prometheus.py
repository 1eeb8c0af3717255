"""The queue's metrics as Prometheus reads them; of the extra `prometheus`."""

import re
from collections.abc import Callable, Sequence
from typing import Final

import click

from lifoq.errors import LifoqError
from lifoq.health.statistics import QueueStats
from lifoq.metrics import NAMESPACE, Metric
from lifoq.operating.shared_limit_usage import LimitUsage
from lifoq.worker.run.report import RunReport

try:
    from prometheus_client import (
        CONTENT_TYPE_LATEST,
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        ProcessCollector,
        generate_latest,
        start_http_server,
    )
except ModuleNotFoundError as error:
    problem = "metrics for Prometheus need an extra: pip install 'lifoq[prometheus]'"
    raise click.UsageError(problem) from error

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600)
"""Seconds: a task starts at once, or waits until its deadline, an hour by default."""
LABEL: Final = "queue"
OF_LIMIT: Final = "task_type"
"""Label of a task type's limit; empty for a shared one of the queue's own."""


def name_of(metric: Metric) -> str:
    """Return the name of a metric: ``TasksClaimed`` is ``lifoq_tasks_claimed``; a counter's has
    ``_total`` behind it."""
    return NAMESPACE + re.sub("([A-Z])", r"_\1", metric.value).lower()


class NotServed(LifoqError):
    """The port is taken, or the address is none of this machine."""


class WorkerMetrics:
    """The counts of a worker since it began, and what its process takes."""

    def __init__(self, queue_name: str) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._counters = {
            metric: Counter(
                name_of(metric), metric.meaning, (LABEL,), registry=self._registry
            ).labels(queue_name)
            for metric in RunReport().counts()
        }
        self._waits, self._services = (
            Histogram(
                name_of(metric),
                metric.meaning,
                (LABEL,),
                registry=self._registry,
                buckets=BUCKETS,
            ).labels(queue_name)
            for metric in (Metric.WAIT, Metric.SERVICE)
        )
        found = Metric.CONCURRENCY_FOUND
        labels = (LABEL, OF_LIMIT)
        self._limits = Gauge(name_of(found), found.meaning, labels, registry=self._registry)
        self._queue_name = queue_name

    def tell(self, report: RunReport) -> None:
        """Count what was done since it was last told."""
        for metric, value in report.counts().items():
            self._counters[metric].inc(value)
        for seconds in report.waits:
            self._waits.observe(seconds)
        for seconds in report.services:
            self._services.observe(seconds)
        for name, tasks in report.limits.items():
            self._limits.labels(self._queue_name, name).set(tasks)

    def serve(self, host: str, port: int) -> int:
        """Serve for as long as the process lives; return the port, where 0 asked for a free one.
        NotServed."""
        try:
            server, _ = start_http_server(port, host, registry=self._registry)
        except OSError as error:
            raise NotServed(f"{host}:{port} cannot be listened on: {error.strerror}") from error
        return server.server_port


_OF_QUOTAS: Final[dict[str, tuple[str, Callable[[LimitUsage], int]]]] = {
    "slots_lent": (
        "Tasks, or units, at a time that workers hold of a shared limit",
        lambda one: one.slots,
    ),
    "shards_lent": ("Equal parts of a shared rate that workers hold", lambda one: one.shards),
    "workers": ("Workers that hold a part of a shared limit", lambda one: one.workers),
    "silent_workers": (
        "Those of them that have not renewed it in time",
        lambda one: one.silent_workers,
    ),
}


def of_queue(stats: QueueStats, quotas: Sequence[LimitUsage], queue_name: str) -> bytes:
    """Return the numbers of a queue at the moment. Equal limits of several cells are added up."""
    registry = CollectorRegistry()
    values = {metric: count.value for metric, count in stats.counts().items()}
    for metric, value in {**values, **stats.ages()}.items():
        gauge = Gauge(name_of(metric), metric.meaning, (LABEL,), registry=registry)
        gauge.labels(queue_name).set(value)
    for name, (meaning, value_of) in _OF_QUOTAS.items() if quotas else ():
        full = f"{NAMESPACE}_shared_limit_{name}"
        gauge = Gauge(full, meaning, (LABEL, OF_LIMIT), registry=registry)
        for one in quotas:
            of = f"{one.task_type}, {one.unit}" if one.unit else one.task_type or ""
            gauge.labels(queue_name, of).inc(value_of(one))
    return generate_latest(registry)
