"""What each cell costs whether or not there is work: sweeps and alarms."""

from collections import Counter
from typing import Any, Final

from benchmarks.cells.lingering import MONTH
from lifoq.change import Item
from lifoq.memory import MemoryTable
from lifoq.registry import Registry
from lifoq.store import Store
from lifoq.sweep import Sweeper
from lifoq.table import Cursor, Page, Span
from stacks.config import StageConfig
from tests.infrastructure.deployments import synthesize

EMPTY_QUERY: Final = 0.5
"""Read units of an eventually consistent query that finds nothing."""


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
