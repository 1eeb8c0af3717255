# What is public, and where it is: said here alone. Type checkers read it, and ``__init__.py``.

from lifoq.client.cells import Cells as Cells
from lifoq.client.listing import Listing as Listing
from lifoq.client.listing import Wanted as Wanted
from lifoq.client.queue import Queue as Queue
from lifoq.errors import BadEnvironment as BadEnvironment
from lifoq.errors import Busy as Busy
from lifoq.errors import Cancelled as Cancelled
from lifoq.errors import DamagedTask as DamagedTask
from lifoq.errors import Fail as Fail
from lifoq.errors import InvalidInput as InvalidInput
from lifoq.errors import LeaseLost as LeaseLost
from lifoq.errors import LifoqError as LifoqError
from lifoq.errors import QueueMisconfigured as QueueMisconfigured
from lifoq.errors import Retry as Retry
from lifoq.errors import StoreUnavailable as StoreUnavailable
from lifoq.errors import TaskCancelled as TaskCancelled
from lifoq.errors import TaskNotFound as TaskNotFound
from lifoq.errors import TaskShed as TaskShed
from lifoq.errors import WaitTimeout as WaitTimeout
from lifoq.errors import WrongStatus as WrongStatus
from lifoq.items.lifetimes import Lifetimes as Lifetimes
from lifoq.items.schema import Status as Status
from lifoq.items.task import NewTask as NewTask
from lifoq.items.task import Task as Task
from lifoq.items.task_error import TaskError as TaskError
from lifoq.items.task_error import TaskFailed as TaskFailed
from lifoq.tables.puts import PutOutcome as PutOutcome
from lifoq.tables.stats import QueueStats as QueueStats
from lifoq.tables.store import Store as Store
from lifoq.tables.table import Count as Count
from lifoq.worker.backoff import Backoff as Backoff
from lifoq.worker.context import Context as Context
from lifoq.worker.outcome import Done as Done
from lifoq.worker.processor import Processor as Processor
from lifoq.worker.registry import REGISTRY as REGISTRY
from lifoq.worker.registry import Registry as Registry
from lifoq.worker.registry import around_attempts as around_attempts
from lifoq.worker.registry import setup as setup
from lifoq.worker.registry import task as task
from lifoq.worker.report import ProcessUnusable as ProcessUnusable
from lifoq.worker.report import RunReport as RunReport
from lifoq.worker.settings import WorkerSettings as WorkerSettings
from lifoq.worker.sweep import Sweeper as Sweeper
from lifoq.worker.sweep import SweepReport as SweepReport

__version__: str
