"""Evidence: what was measured, how, and what it does not show. Each benchmark is a folder."""

from typing import Final

NAMES: Final = (
    "goodput",
    "fairness",
    "beside_others",
    "freshness",
    "latency",
    "processor",
    "producer",
    "backlog",
    "coldstart",
    "cost",
    "reports",
    "ceiling",
    "analytics",
)
"""In the order in which they run, and are shown."""
WHEN_NAMED: Final = frozenset({"beside_others", "backlog", "analytics"})
"""They take the longest, or need what a machine may not have."""
