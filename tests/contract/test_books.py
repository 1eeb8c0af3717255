"""What the books of limits that all workers share promise: on every table."""

from lifoq.testing.contract.books import *  # noqa: F403
