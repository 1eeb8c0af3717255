"""What the store promises producers, workers and the sweep: on every table."""

from lifoq.testing.contract.store import *  # noqa: F403
