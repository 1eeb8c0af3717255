"""What the store promises about the history of a task's attempts: on every table."""

from lifoq.testing.contract.history import *  # noqa: F403
