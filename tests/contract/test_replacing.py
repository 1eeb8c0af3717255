"""What the store promises about puts that replace: on every table."""

from lifoq.testing.contract.replacing import *  # noqa: F403
