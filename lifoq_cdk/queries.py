"""Saved questions to the logs, in CloudWatch Logs Insights under ``lifoq/<stage>/``."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import aws_logs as logs
from constructs import Construct

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
        (
            "stats count(*) as runs, sum(claimed), sum(succeeded), sum(failed), sum(retried), "
            "sum(timedOut), sum(leasesLost), sum(unsettled) by bin(5m)"
        ),
    ),
    "what the sweep found": (
        "filter message = 'swept'",
        "stats sum(leasesExpired), sum(promoted), sum(condemned), sum(kicked) by bin(5m)",
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


def save_queries(
    scope: Construct, *, stage_name: str, log_groups: Sequence[logs.ILogGroup]
) -> None:
    """Save them for ``log_groups``. The name is a folder of the console, so it tells the stage."""
    for name, lines in QUERIES.items():
        logs.CfnQueryDefinition(
            scope,
            f"Query-{name.replace(' ', '-').replace(chr(39), '')}",
            name=f"lifoq/{stage_name}/{name}",
            query_string="\n| ".join(lines),
            log_group_names=[group.log_group_name for group in log_groups],
        )
