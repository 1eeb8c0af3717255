"""All operations on a queue's table together: see each base for its own."""

from lifoq.store.operator_writes import OperatorWrites
from lifoq.store.puts import Puts
from lifoq.store.reads import Reads
from lifoq.store.sweep_writes import SweepWrites
from lifoq.store.worker_writes import AttemptWrites


class Store(Puts, AttemptWrites, SweepWrites, OperatorWrites, Reads):
    """The operations on one queue's table: those of producers, workers, the sweep, operators and
    readers together.

    ``Queue``, ``Processor`` and ``Sweeper`` are made on it; task code and producers use these. Its
    operations change from release to release.

    Attributes:
        table: The table, in DynamoDB or in memory; ``table.name`` is its name.
        lifetimes: The times for which the queue keeps things.

    Examples:
        >>> queue.store.lifetimes.deadline  # seconds
        3600
    """
