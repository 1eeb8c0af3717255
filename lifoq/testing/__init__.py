"""Tools for tests of task code: a clock that one can turn, schedules, tables."""

from lifoq.testing.hosts import START, ManualHost, TurnableHost
from lifoq.testing.schedules import fire_schedules
from lifoq.testing.tables import create_table

__all__ = ["START", "ManualHost", "TurnableHost", "create_table", "fire_schedules"]
