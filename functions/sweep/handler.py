"""SweepFunction: every minute, brings back what fell by the wayside, and measures the queue."""

from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

import functions.tasks  # noqa: F401  (registers the task types, for their max_attempts)
from functions.kick import Kicker
from functions.settings import Settings
from lifoq.registry import REGISTRY
from lifoq.stats import QueueStats
from lifoq.sweep import Sweeper, SweepReport

logger = Logger()
copy_config_to_registered_loggers(source_logger=logger, include={"lifoq"})
metrics = Metrics()
settings = Settings.of_this_process()
sweeper = Sweeper(settings.store(), REGISTRY, max_attempts=settings.max_attempts)
processor = Kicker(settings.process_topic_arn)


@logger.inject_lambda_context
@metrics.log_metrics
def handle(_event: Any, _context: LambdaContext) -> dict[str, Any]:
    report = sweeper.run()
    if report.needs_processor:
        processor.kick("tasks wait")
    record(report)
    summary = {
        "leasesExpired": report.leases_expired,
        "promoted": report.promoted,
        "condemned": report.condemned,
        "finished": report.finished,
        "kicked": report.needs_processor,
    }
    logger.info("swept", extra=summary)
    return summary


def record(report: SweepReport) -> None:
    counts = {
        "Sweeps": 1,
        "LeasesExpired": report.leases_expired,
        "TasksPromoted": report.promoted,
        "TasksFailed": report.failed + report.condemned,
        "Kicks": int(report.needs_processor),
    }
    for name, value in counts.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
    if report.stats is not None:
        record_stats(report.stats)


def record_stats(stats: QueueStats) -> None:
    """Gauges. A count that stopped at its cap says so in the log."""
    counts = {
        "TasksPending": stats.live,
        "TasksDelayed": stats.delayed,
        "TasksTaken": stats.taken,
        "TasksInFailure": stats.failure,
        "TasksExpiredPresent": stats.expired_present,
    }
    for name, count in counts.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=count.value)
    capped = [name for name, count in counts.items() if count.capped]
    if capped:
        logger.warning("counts stopped at their cap, there are at least as many", metrics=capped)
    ages = {
        "NewestWaitingAgeSeconds": stats.newest_waiting_seconds,
        "OldestWaitingAgeSeconds": stats.oldest_waiting_seconds,
    }
    for name, age in ages.items():
        metrics.add_metric(name=name, unit=MetricUnit.Seconds, value=age or 0.0)
