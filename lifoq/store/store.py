"""All operations on a queue's table together: see each base for its own."""

from lifoq.store.operator_writes import OperatorWrites
from lifoq.store.puts import Puts
from lifoq.store.reads import Reads
from lifoq.store.sweep_writes import SweepWrites
from lifoq.store.worker_writes import WorkerWrites


class Store(Puts, WorkerWrites, SweepWrites, OperatorWrites, Reads):
    """All groups of operations, for who needs several: the client, the processor, the sweep.
    Whoever needs one group names that one as its type."""
