"""A serverless LIFO task queue on AWS: newest task first, the oldest shed when load is
insurmountable, nothing lost silently."""

from lifoq.backoff import Backoff
from lifoq.cells import Cells
from lifoq.context import Context
from lifoq.errors import (
    BadEnvironment,
    Busy,
    DamagedTask,
    Fail,
    InvalidInput,
    LeaseLost,
    LifoqError,
    ProcessUnusable,
    QueueMisconfigured,
    Retry,
    StoreUnavailable,
    TaskCancelled,
    TaskFailed,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
    WrongStatus,
)
from lifoq.outcome import Done
from lifoq.processor import Processor
from lifoq.queue import Queue
from lifoq.registry import REGISTRY, Registry, around_attempts, setup, task
from lifoq.schema import Status
from lifoq.stats import QueueStats
from lifoq.store import PutOutcome, Store
from lifoq.sweep import Sweeper, SweepReport
from lifoq.table import Count
from lifoq.task import NewTask, Task, TaskError
from lifoq.transitions import Lifetimes
from lifoq.worker import RunReport, WorkerSettings

__all__ = [
    "REGISTRY",
    "Backoff",
    "BadEnvironment",
    "Busy",
    "Cells",
    "Context",
    "Count",
    "DamagedTask",
    "Done",
    "Fail",
    "InvalidInput",
    "LeaseLost",
    "Lifetimes",
    "LifoqError",
    "NewTask",
    "ProcessUnusable",
    "Processor",
    "PutOutcome",
    "Queue",
    "QueueMisconfigured",
    "QueueStats",
    "Registry",
    "Retry",
    "RunReport",
    "Status",
    "Store",
    "StoreUnavailable",
    "SweepReport",
    "Sweeper",
    "Task",
    "TaskCancelled",
    "TaskError",
    "TaskFailed",
    "TaskNotFound",
    "TaskShed",
    "WaitTimeout",
    "WorkerSettings",
    "WrongStatus",
    "around_attempts",
    "setup",
    "task",
]
