"""Tools for tests of task code: a clock that one can turn, and tables."""

from lifoq.testing.hosts import START, ManualHost, TurnableHost
from lifoq.testing.tables import create_table

__all__ = ["START", "ManualHost", "TurnableHost", "create_table"]
