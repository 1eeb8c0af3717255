"""Saved questions to the logs, in CloudWatch Logs Insights under ``lifoq/<queue>/``."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import aws_logs as logs
from constructs import Construct

from lifoq.metrics import Metric

OF_A_RUN: Final = (
    Metric.TASKS_CLAIMED,
    Metric.TASKS_SUCCEEDED,
    Metric.TASKS_FAILED,
    Metric.TASKS_RETRIED,
    Metric.TASKS_TIMED_OUT,
    Metric.TASKS_UNSETTLED,
    Metric.LEASES_LOST,
)
OF_A_SWEEP: Final = (
    Metric.LEASES_EXPIRED,
    Metric.TASKS_PROMOTED,
    Metric.TASKS_FAILED,
    Metric.KICKS,
)
"""Fields of the functions' last log line; they bear the metrics' names."""


def _sums(*metrics: Metric) -> str:
    return ", ".join(f"sum({metric})" for metric in metrics)


QUERIES: Final[dict[str, tuple[str, ...]]] = {
    "problems": (
        "fields @timestamp, level, function_name, message, exception_name",
        "filter level in ['WARNING', 'ERROR', 'CRITICAL']",
        "sort @timestamp desc",
        "limit 200",
    ),
    "trouble with one task": (
        "fields @timestamp, level, function_name, message",
        "filter message like /task PUT-THE-ID-HERE/",
        "sort @timestamp asc",
    ),
    "runs of the processor": (
        "filter message = 'run over'",
        f"stats count(*) as runs, {_sums(*OF_A_RUN)} by bin(5m)",
    ),
    "what the sweep found": (
        "filter message = 'swept'",
        f"stats {_sums(*OF_A_SWEEP)} by bin(5m)",
    ),
    "starts and memory": (
        "filter type = 'platform.report'",
        (
            "stats count(*) as runs, count(record.metrics.initDurationMs) as cold_starts, "
            "pct(record.metrics.durationMs, 95) as duration_p95_ms, "
            "max(record.metrics.maxMemoryUsedMB) as memory_mb by @log"
        ),
    ),
    "timeouts": (
        "filter type = 'platform.report' and record.status != 'success'",
        "fields @timestamp, @log, record.requestId, record.status, record.metrics.durationMs",
        "sort @timestamp desc",
        "limit 100",
    ),
}
"""Name → its lines."""


class SavedQueries:
    """Saved under the queue's name, a folder of the console."""

    def __init__(
        self, scope: Construct, *, queue_name: str, log_groups: Sequence[logs.ILogGroup]
    ) -> None:
        self._groups = [group.log_group_name for group in log_groups]
        self._queries = [
            logs.CfnQueryDefinition(
                scope,
                f"Query-{name.replace(' ', '-').replace(chr(39), '')}",
                name=f"lifoq/{queue_name}/{name}",
                query_string="\n| ".join(lines),
                log_group_names=self._groups,
            )
            for name, lines in QUERIES.items()
        ]

    def add(self, group: logs.ILogGroup) -> None:
        """One more whose lines they ask for."""
        self._groups.append(group.log_group_name)
        for query in self._queries:
            query.log_group_names = self._groups
