"""The report's state, as a run over the samples leaves it for the runs after it."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lifoq_analytics import analysis, session
from tests.analytics.exportfiles import Exporter

PLACE: Final = Path(tempfile.gettempdir(), "lifoq-record")
"""The folder in which a record's report runs. It is there for one run at a time."""
HOUR: Final = 3_600_000_000
BAD: Final = "no line of an export"
"""A line that a run puts aside."""


def exports(samples: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Write a full export of the samples' items, and one of the hour after it, in which the tasks
    that waited succeeded. Return their folders."""
    now, items = samples["now"], samples["items"]
    exporter = Exporter(root=folder)
    full = exporter.full([*({"Item": item} for item in items), BAD], at=now)
    later = exporter.incremental(_successes(items, now + HOUR // 2), start=now, end=now + HOUR)
    return full, later


def _successes(items: list[dict[str, Any]], at: int) -> Iterator[dict[str, Any]]:
    times = {"firstTakenAt": {"N": str(at - 1)}, "finishedAt": {"N": str(at)}}
    for item in items:
        if item.get("taskStatus") == {"S": "PENDING"}:
            yield {
                "Metadata": {"WriteTimestampMicros": {"N": str(at)}},
                "Keys": {"taskId": item["taskId"]},
                "OldImage": item,
                "NewImage": {**item, **times, "taskStatus": {"S": "SUCCESS"}},
            }


def write(folder: Path, samples: Mapping[str, Any]) -> None:
    """Run a report over the full export, and keep its state in ``folder``. The state names the
    export's folder, which therefore is the same each time."""
    PLACE.mkdir()
    try:
        with session.running() as spark:
            full, _ = exports(samples, PLACE / "exports")
            request = analysis.Request(
                paths=[str(full)], out=str(PLACE / "out"), state=str(PLACE / "state")
            )
            analysis.Analysis(spark, request, tell=lambda _: None).run()
            shutil.copytree(PLACE / "state", folder)
    finally:
        shutil.rmtree(PLACE)
