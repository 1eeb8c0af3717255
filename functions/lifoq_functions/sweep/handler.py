"""SweepFunction: every minute, brings back what fell by the wayside, and measures the queue."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.environment import Environment
from lifoq.health.statistics import QueueStats
from lifoq.metrics import Metric
from lifoq.worker.known_types import Types
from lifoq.worker.sweep.stalled_queue import StallWatch, patience
from lifoq.worker.sweep.sweep import Sweeper, SweepReport
from lifoq_functions import started
from lifoq_functions.connected import store_of
from lifoq_functions.end_when_credentials_expire import ends_with_credentials
from lifoq_functions.kick import Kicker
from lifoq_functions.measure import emit, measured
from lifoq_functions.task_types import registered

logger = Logger()
copy_config_to_registered_loggers(source_logger=logger, include={"lifoq"})
environment = Environment.of_this_process()
registry = registered(environment)  # before AWS is called: the task code may trace its calls
store = store_of(environment)
worker = environment.worker()
types = Types.of(registry, worker)
watch = StallWatch(store, patience=patience(worker, registry), types=types)
sweeper = Sweeper(store, registry, max_attempts=worker.max_attempts, types=types, stall=watch)
processor = Kicker(environment.process_topic_arn)
started()


@logger.inject_lambda_context
@measured
@ends_with_credentials
def handle(_event: Any, _context: LambdaContext) -> dict[str, Any]:
    report = sweeper.run()
    if report.needs_processor:
        processor.kick("tasks wait")
    counted = counts(report)
    emit(counted)
    emit_gauges(report.stats)
    emit({Metric.TASKS_OF_UNKNOWN_TYPES: report.unknown.total()})
    if report.unknown:
        extra = {"waiting": dict(report.unknown)}
        logger.warning("no worker is known to have these task types", extra=extra)
    emit({Metric.STALLED: int(report.stats.stalled)})
    if environment.long_tasks is not None:
        from lifoq_functions.sweep.worker_group_metrics import tell  # noqa: PLC0415 - not where there is none

        tell(store, environment.long_tasks)
    summary = {
        "finished": report.finished,
        **{metric.value: count for metric, count in counted.items()},
    }
    logger.info("swept", extra=summary)
    return summary


def counts(report: SweepReport) -> dict[Metric, float]:
    return {
        Metric.LEASES_EXPIRED: report.leases_expired,
        Metric.TASKS_PROMOTED: report.promoted,
        Metric.TASKS_FAILED: report.failed + report.dead_lettered,
        Metric.KICKS: int(report.needs_processor),
    }


def emit_gauges(stats: QueueStats) -> None:
    """A count that stopped at its cap says so in the log."""
    counted = stats.counts()
    emit({metric: count.value for metric, count in counted.items()})
    capped = [metric for metric, count in counted.items() if count.capped]
    if capped:
        logger.warning("counts stopped at their cap, there are at least as many", metrics=capped)
    emit(stats.ages())
