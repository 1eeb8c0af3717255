"""What cells cost beside their tasks: what stands there, and processors that wait for more."""

import math
from typing import Any, Final

from benchmarks import record
from benchmarks.cells.order import SERVICE
from benchmarks.cost import bill
from lifoq.worker.settings import WorkerSettings
from stacks.config import StageConfig

LOADS: Final = (0.0, 0.1, 1.0, 10.0, 100.0)
"""Tasks a second, over all cells."""
CELLS: Final = (1, 2, 4, 8)


def costs() -> list[dict[str, float]]:
    idle = month_of_nothing()
    return [processors(load, cells, idle_usd=idle) for load in LOADS for cells in CELLS]


def month_of_nothing() -> float:
    """Dollars, as the benchmark of cost has last found them: sweeps, alarms, metrics."""
    lines: list[dict[str, Any]] = record.read("cost")["results"]["month_of_nothing"]
    return sum(float(line["usd"]) for line in lines)


def processors(tasks_per_second: float, cells: int, *, idle_usd: float) -> dict[str, float]:
    """One runs from a task's arrival until none has come for ``linger`` seconds, and none is in
    work: with Poisson arrivals the busy time of M/G/∞. Neither start-up is in it, nor runs that a
    late kick starts and that find nothing."""
    stay = max(SERVICE, WorkerSettings().linger)
    running = 1 - math.exp(-tasks_per_second / cells * stay)
    memory_gb = StageConfig(name="cell").processor_memory_mb / 1024
    gb_seconds = cells * running * memory_gb * bill.MONTH_SECONDS
    return {
        "tasks_per_second": tasks_per_second,
        "cells": cells,
        "processors_running": cells * running,
        "usd_per_month": cells * idle_usd + bill.usd("function time", gb_seconds),
    }
