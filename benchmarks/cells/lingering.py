"""Processors that run because a task came a moment ago: the price of many cells at little load."""

import math
from typing import Final

from benchmarks.cells.order import SERVICE
from lifoq.worker import WorkerSettings
from stacks.config import StageConfig

MONTH: Final = 30 * 86_400
"""Seconds."""
LOADS: Final = (0.0, 0.1, 1.0, 10.0, 100.0, 1_000.0)
"""Tasks a second, over all cells."""
CELLS: Final = (1, 2, 4, 8)


def processors(tasks_per_second: float, cells: int) -> dict[str, float]:
    """One runs from a task's arrival until none has come for ``linger`` seconds, and none is in
    work: with Poisson arrivals the busy time of M/G/∞. The seconds of start-up are not in it."""
    settings = WorkerSettings()
    rate = tasks_per_second / cells
    stay = max(SERVICE, settings.linger)
    running = 1 - math.exp(-rate * stay)
    starts = rate * math.exp(-rate * stay) + running / settings.window
    memory_gb = StageConfig(name="cell").processor_memory_mb / 1024
    return {
        "tasks_per_second": tasks_per_second,
        "cells": cells,
        "processors_running": cells * running,
        "processor_gb_seconds_per_month": cells * running * memory_gb * MONTH,
        "processor_starts_per_task": cells * starts / tasks_per_second if tasks_per_second else 0.0,
    }
