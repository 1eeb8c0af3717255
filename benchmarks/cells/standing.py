"""What each cell costs whether or not there is work: sweeps, alarms, processors that linger."""

import math
from collections import Counter
from typing import Any, Final

from benchmarks.cells.order import SERVICE
from lifoq.change import Item
from lifoq.memory import MemoryTable
from lifoq.registry import Registry
from lifoq.store import Store
from lifoq.sweep import Sweeper
from lifoq.table import Cursor, Page, Span
from lifoq.worker import WorkerSettings
from stacks.config import StageConfig
from tests.infrastructure.deployments import synthesize

MONTH: Final = 30 * 86_400
"""Seconds."""
EMPTY_QUERY: Final = 0.5
"""Read units of an eventually consistent query that finds nothing."""
LOADS: Final = (0.0, 0.1, 1.0, 10.0, 100.0, 1_000.0)
"""Tasks a second, over all cells."""
CELLS: Final = (1, 2, 4, 8)


class CountingTable(MemoryTable):
    """Counts the reads that a table of DynamoDB would be asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.queries = 0

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        self.queries += 1
        return super().query(span, newest_first=newest_first, limit=limit, start=start)


def sweep_queries() -> int:
    """Of one sweep over an empty queue."""
    table = CountingTable()
    Sweeper(Store(table), Registry(), max_attempts=5).run()
    return table.queries


def fixed() -> dict[str, Any]:
    """Of one cell in a month of 30 days, without a task; from the production stage's templates."""
    stage = synthesize("prod")
    kinds = Counter(resource["Type"] for _, resource in stage.all_resources())
    sweeps = MONTH / (60 * StageConfig(name="cell").sweep_minutes)
    return {
        "stacks": len(stage.templates),
        "functions": kinds["AWS::Lambda::Function"],
        "alarms": kinds["AWS::CloudWatch::Alarm"],
        "metrics_of_alarms": sum(
            _metrics(resource["Properties"])
            for _, resource in stage.all_resources()
            if resource["Type"] == "AWS::CloudWatch::Alarm"
        ),
        "dashboards": kinds["AWS::CloudWatch::Dashboard"],
        "sweeps_per_month": sweeps,
        "sweep_read_units_per_month": sweeps * sweep_queries() * EMPTY_QUERY,
    }


def _metrics(alarm: Item) -> int:
    """That an alarm reads; mathematics on them is free."""
    return sum("MetricStat" in metric for metric in alarm.get("Metrics", [])) or 1


def lingering(tasks_per_second: float, cells: int) -> dict[str, float]:
    """Processors that run because a task came a moment ago. One runs from a task's arrival until
    none has come for ``linger`` seconds, and none is in work: with Poisson arrivals the busy time
    of M/G/∞. The seconds of start-up, and what a window's end adds, are not in it."""
    settings = WorkerSettings()
    rate = tasks_per_second / cells
    stay = max(SERVICE, settings.linger)
    running = 1 - math.exp(-rate * stay)
    memory_gb = StageConfig(name="cell").processor_memory_mb / 1024
    starts = rate * math.exp(-rate * stay) + running / settings.window
    return {
        "tasks_per_second": tasks_per_second,
        "cells": cells,
        "processors_running": cells * running,
        "processor_gb_seconds_per_month": cells * running * memory_gb * MONTH,
        "processor_starts_per_task": cells * starts / tasks_per_second if tasks_per_second else 0.0,
        "sweeps_per_month": cells * MONTH / (60 * StageConfig(name="cell").sweep_minutes),
    }
