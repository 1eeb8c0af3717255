"""What claims of tasks promise whose type limits how many of a key are TAKEN: on every table."""

from lifoq.testing.contract.keyed import *  # noqa: F403
