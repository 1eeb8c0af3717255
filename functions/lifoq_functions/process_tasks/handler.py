"""ProcessTasksFunction: works through the queue, newest task first, at concurrency 1."""

import os
import sys
from typing import Any, NoReturn

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.environment import Environment
from lifoq.metrics import Metric
from lifoq.worker.handlers import task_id_in_logs as logged
from lifoq.worker.processor import Processor
from lifoq.worker.run.report import ProcessUnusable, RunReport
from lifoq_functions import started
from lifoq_functions.connected import store_of
from lifoq_functions.end_when_credentials_expire import ends_with_credentials
from lifoq_functions.kick import Kicker, sent_at
from lifoq_functions.measure import emit, emit_by_type, flush, measured
from lifoq_functions.task_types import registered

logger = Logger()
copy_config_to_registered_loggers(source_logger=logger, include={"lifoq"})
logged.install()
environment = Environment.of_this_process()
registry = registered(environment)  # before AWS is called: the task code may trace its calls
processor = Processor(store_of(environment), registry, environment.worker())
tail_call = Kicker(environment.trigger_topic_arn)
started()


@logger.inject_lambda_context
@measured
@ends_with_credentials
def handle(event: Any, context: LambdaContext) -> dict[str, Any]:
    """The event is a kick; what there is to do, the table tells."""
    try:
        report = processor.run(
            time_limit=context.get_remaining_time_in_millis() / 1000,
            woken_at=sent_at(event),
            on_progress=record,
        )
    except ProcessUnusable as error:
        conclude(error.report)
        logger.exception("this process ends, so that Lambda starts another")
        end_process()
    return conclude(report)


def record(report: RunReport) -> None:
    """Send what was done since the last time: a run may take a quarter of an hour."""
    emit(report.counts())
    for seconds in report.waits:
        emit({Metric.WAIT: seconds})
    for seconds in report.services:
        emit({Metric.SERVICE: seconds})
    flush()
    emit_by_type(Metric.CONCURRENCY_FOUND, report.limits)


def conclude(report: RunReport) -> dict[str, Any]:
    """Call the next run where this one leaves tasks behind, and say what was done."""
    if report.needs_another_run:
        tail_call.kick("tasks remain at the end of the window")
    emit({Metric.TAIL_CALLS: int(report.needs_another_run)})
    summary = {
        "remaining": report.remaining,
        **{metric.value: count for metric, count in report.counts().items()},
    }
    logger.info("run over", extra=summary)
    return summary


def end_process() -> NoReturn:
    """End the process at once: threads that hang would keep it from ending in any other way."""
    flush()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
