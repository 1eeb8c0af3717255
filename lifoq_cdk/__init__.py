"""lifoq as CDK constructs, for the CDK application of anybody."""

from lifoq_cdk.alarms import AlarmThresholds
from lifoq_cdk.all_queues import LifoqDashboard
from lifoq_cdk.api import QueueApi
from lifoq_cdk.functions import AsyncInvocation
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
    "LifoqDashboard",
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
