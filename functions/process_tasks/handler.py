"""ProcessTasksFunction: works through the queue, newest task first, at concurrency 1."""

from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

import functions.tasks  # noqa: F401  (registers the task types)
from functions.kick import Kicker, sent_at
from functions.settings import Settings
from lifoq.processor import Processor
from lifoq.registry import REGISTRY
from lifoq.worker import RunReport

logger = Logger()
copy_config_to_registered_loggers(source_logger=logger, include={"lifoq"})
metrics = Metrics()
settings = Settings.of_this_process()
processor = Processor(settings.store(), REGISTRY, settings.worker())
tail_call = Kicker(settings.trigger_topic_arn)


@logger.inject_lambda_context
@metrics.log_metrics
def handle(event: Any, context: LambdaContext) -> dict[str, Any]:
    """The event is a kick; what there is to do, the table tells."""
    report = processor.run(
        time_limit=context.get_remaining_time_in_millis() / 1000, woken_at=sent_at(event)
    )
    record(report)
    if report.needs_another_run:
        tail_call.kick("tasks remain at the end of the window")
        metrics.add_metric(name="TailCalls", unit=MetricUnit.Count, value=1)
    summary = {
        "claimed": report.claimed,
        "succeeded": report.succeeded,
        "failed": report.failed,
        "retried": report.retried,
        "timedOut": report.timed_out,
        "leasesLost": report.leases_lost,
        "unsettled": report.unsettled,
        "remaining": report.remaining,
    }
    logger.info("run over", extra=summary)
    return summary


def record(report: RunReport) -> None:
    counts = {
        "TasksClaimed": report.claimed,
        "TasksSucceeded": report.succeeded,
        "TasksFailed": report.failed + report.condemned,
        "TasksRetried": report.retried,
        "TasksTimedOut": report.timed_out,
        "LeasesLost": report.leases_lost,
        "TasksPromoted": report.promoted,
    }
    for name, value in counts.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
    for seconds in report.waits:
        metrics.add_metric(name="WaitSeconds", unit=MetricUnit.Seconds, value=seconds)
    for seconds in report.services:
        metrics.add_metric(name="ServiceSeconds", unit=MetricUnit.Seconds, value=seconds)
