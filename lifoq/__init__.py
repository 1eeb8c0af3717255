"""A serverless LIFO task queue on AWS: newest task first, the oldest shed when load is
insurmountable, nothing lost silently."""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lifoq.client.cells import Cells
    from lifoq.client.listing import Listing, Wanted
    from lifoq.client.queue import Queue
    from lifoq.errors import (
        BadEnvironment,
        Busy,
        Cancelled,
        DamagedTask,
        Fail,
        InvalidInput,
        LeaseLost,
        LifoqError,
        QueueMisconfigured,
        Retry,
        StoreUnavailable,
        TaskCancelled,
        TaskNotFound,
        TaskShed,
        WaitTimeout,
        WrongStatus,
    )
    from lifoq.items.lifetimes import Lifetimes
    from lifoq.items.schema import Status
    from lifoq.items.task import NewTask, Task
    from lifoq.items.task_error import TaskError, TaskFailed
    from lifoq.tables.puts import PutOutcome
    from lifoq.tables.stats import QueueStats
    from lifoq.tables.store import Store
    from lifoq.tables.table import Count
    from lifoq.worker.backoff import Backoff
    from lifoq.worker.context import Context
    from lifoq.worker.outcome import Done
    from lifoq.worker.processor import Processor
    from lifoq.worker.registry import REGISTRY, Registry, around_attempts, setup, task
    from lifoq.worker.report import ProcessUnusable, RunReport
    from lifoq.worker.settings import WorkerSettings
    from lifoq.worker.sweep import Sweeper, SweepReport

__version__ = "0.1.0"

__all__ = [
    "REGISTRY",
    "Backoff",
    "BadEnvironment",
    "Busy",
    "Cancelled",
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
    "Listing",
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
    "Wanted",
    "WorkerSettings",
    "WrongStatus",
    "around_attempts",
    "setup",
    "task",
]

_MODULES: Final = {
    "REGISTRY": "worker.registry",
    "Backoff": "worker.backoff",
    "BadEnvironment": "errors",
    "Busy": "errors",
    "Cancelled": "errors",
    "Cells": "client.cells",
    "Context": "worker.context",
    "Count": "tables.table",
    "DamagedTask": "errors",
    "Done": "worker.outcome",
    "Fail": "errors",
    "InvalidInput": "errors",
    "LeaseLost": "errors",
    "Listing": "client.listing",
    "Lifetimes": "items.transitions",
    "LifoqError": "errors",
    "NewTask": "items.task",
    "ProcessUnusable": "worker.report",
    "Processor": "worker.processor",
    "PutOutcome": "tables.puts",
    "Queue": "client.queue",
    "QueueMisconfigured": "errors",
    "QueueStats": "tables.stats",
    "Registry": "worker.registry",
    "Retry": "errors",
    "RunReport": "worker.report",
    "Status": "items.schema",
    "Store": "tables.store",
    "StoreUnavailable": "errors",
    "SweepReport": "worker.sweep",
    "Sweeper": "worker.sweep",
    "Task": "items.task",
    "TaskCancelled": "errors",
    "TaskError": "items.task_error",
    "TaskFailed": "items.task_error",
    "TaskNotFound": "errors",
    "TaskShed": "errors",
    "WaitTimeout": "errors",
    "Wanted": "client.listing",
    "WorkerSettings": "worker.settings",
    "WrongStatus": "errors",
    "around_attempts": "worker.registry",
    "setup": "worker.registry",
    "task": "worker.registry",
}


def __getattr__(name: str) -> Any:
    """On demand: a function of Lambda's reads from disk what it uses, and nothing else, when it
    starts."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
