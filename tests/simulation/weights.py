"""The task types of the simulation of which units count, not tasks."""

from typing import Final

UNITS: Final = {"weighed": 6}
"""Units at work at a time on one machine, or on all."""
UNIT_RATES: Final = {"weighed-pace": 5.0}
"""Units per second, likewise."""
WEIGHED: Final = (*UNITS, *UNIT_RATES)
UNIT_BURSTS: Final = {"weighed-pace": 12.0}
"""Units that may start at once after a quiet time."""
HEAVIEST: Final = 5
"""Units that a task weighs at the most."""
