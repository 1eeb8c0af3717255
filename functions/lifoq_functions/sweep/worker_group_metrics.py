"""Measure what there is to do for each group of long workers: they are scaled by it."""

from aws_lambda_powertools.metrics import EphemeralMetrics

from lifoq.health import open_tasks_of_worker_groups
from lifoq.metrics import Metric
from lifoq.store.reads import Reads


def tell(store: Reads, groups: str) -> None:
    """Emit it at once, with the group's name as a dimension beside the queue's."""
    for name, types in open_tasks_of_worker_groups.decode(groups).items():
        found = open_tasks_of_worker_groups.measure(store, types)
        metrics = EphemeralMetrics()
        metrics.add_dimension(name=open_tasks_of_worker_groups.DIMENSION, value=name)
        for metric, value in (
            (Metric.TASKS_OPEN, found.number),
            (Metric.OLDEST_WAITING_AGE, found.oldest_waiting_seconds),
        ):
            metrics.add_metric(name=metric.value, unit=metric.unit.value, value=value)
        metrics.flush_metrics()
