"""All operations on a queue's table together: see each base for its own."""

from lifoq.tables.attempt_writes import AttemptWrites
from lifoq.tables.operator_writes import OperatorWrites
from lifoq.tables.puts import Puts
from lifoq.tables.reads import Reads
from lifoq.tables.sweep_writes import SweepWrites


class Store(Puts, AttemptWrites, SweepWrites, OperatorWrites, Reads):
    """For who needs several groups of operations: the client, the processor, the sweep. Whoever
    needs one group names that one as its type."""
