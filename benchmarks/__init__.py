"""Evidence: what was measured, how, and what it does not show. Each benchmark is a folder."""

from typing import Final

NAMES: Final = (
    "goodput",
    "freshness",
    "fairness",
    "capacity",
    "model_answers",
    "batches",
    "cost",
    "ceiling",
    "backlog",
    "latency",
    "kick",
    "processor",
    "producer",
    "waiting",
    "coldstart",
    "beside_others",
    "analytics",
)
"""The names, in the order in which they run and are shown."""
WHEN_NAMED: Final = frozenset({"beside_others", "backlog", "analytics"})
"""The benchmarks that run only where they are named: they take the longest, or need what a machine
may not have."""
