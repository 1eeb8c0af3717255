"""lifoq as CDK constructs, for the CDK application of anybody."""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lifoq_cdk.alarms import AlarmThresholds
    from lifoq_cdk.api import QueueApi
    from lifoq_cdk.function import AsyncInvocation
    from lifoq_cdk.generator import Load, QueueGenerator, RecurringTask
    from lifoq_cdk.ingest import BrokerQueue, QueueIngest
    from lifoq_cdk.long_tasks import LongTasks
    from lifoq_cdk.packaged import with_lifoq
    from lifoq_cdk.queue import LifoQueue
    from lifoq_cdk.reports import QueueReports
    from lifoq_cdk.state import QueueState
    from lifoq_cdk.stream import StreamReading
    from lifoq_cdk.targets import HttpsTarget, LambdaTarget
    from lifoq_cdk.task_code import TaskCode
    from lifoq_cdk.task_events import TaskEvents
    from lifoq_cdk.workers import WorkerScaling

__all__ = [
    "AlarmThresholds",
    "AsyncInvocation",
    "BrokerQueue",
    "HttpsTarget",
    "LambdaTarget",
    "LifoQueue",
    "Load",
    "LongTasks",
    "QueueApi",
    "QueueGenerator",
    "QueueIngest",
    "QueueReports",
    "QueueState",
    "RecurringTask",
    "StreamReading",
    "TaskCode",
    "TaskEvents",
    "WorkerScaling",
    "with_lifoq",
]

_MODULES: Final = {
    "AlarmThresholds": "alarms",
    "AsyncInvocation": "function",
    "BrokerQueue": "ingest",
    "HttpsTarget": "targets",
    "LambdaTarget": "targets",
    "LifoQueue": "queue",
    "Load": "generator",
    "LongTasks": "long_tasks",
    "QueueApi": "api",
    "QueueGenerator": "generator",
    "QueueIngest": "ingest",
    "QueueReports": "reports",
    "QueueState": "state",
    "RecurringTask": "generator",
    "StreamReading": "stream",
    "TaskCode": "task_code",
    "TaskEvents": "task_events",
    "WorkerScaling": "workers",
    "with_lifoq": "packaged",
}


def __getattr__(name: str) -> Any:
    """On demand: the CDK starts a process of its own when it is imported, and the local cloud,
    which installs packages by ``lifoq_cdk.requirements``, has no use for it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
