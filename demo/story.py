"""What the report's page is told about the demo, beside what the exports show."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lifoq.metrics import Metric

MICROS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """A phase of the load as it went. Times are epoch microseconds."""

    name: str
    start: int
    end: int


def about(*, stage: str, chapters: Sequence[Chapter], template: Path) -> str:
    """For the report's option ``--about``. ``template``: the queue's stack, which knows when it
    would raise the alarm."""
    told: dict[str, Any] = {
        "queue": "lifoq",
        "stage": stage,
        "phases": [
            {"name": chapter.name, "from": _iso(chapter.start), "to": _iso(chapter.end)}
            for chapter in chapters
        ],
        "alarms": {"oldest_waiting_seconds": _alarm(json.loads(template.read_text()))},
    }
    return json.dumps(told)


def _alarm(template: dict[str, Any]) -> float:
    (threshold,) = (
        resource["Properties"]["Threshold"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
        and resource["Properties"].get("MetricName") == Metric.OLDEST_WAITING_AGE
    )
    return float(threshold)


def _iso(micros: int) -> str:
    return datetime.fromtimestamp(micros / MICROS, UTC).isoformat()
