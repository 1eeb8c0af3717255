"""Rates of now are of now, whatever came before."""

from pathlib import Path
from typing import Any

from analytics.times import to_iso
from tests.analytics.exportfiles import Exporter, full_line
from tests.analytics.items import at, item


def _report(tmp_path: Path, report: Any, *moments: float, **options: Any) -> dict[str, Any]:
    tasks = [
        item(f"t{number}", "PENDING", enqueuedAt=moment, expiresAt=9_000)
        for number, moment in enumerate(moments)
    ]
    Exporter(root=tmp_path / "exports").full([full_line(task) for task in tasks], at=at(110))
    summary: dict[str, Any] = report(tmp_path / "exports", **options)
    return summary


def test_once_nothing_arrives_any_more_no_task_arrives_per_second(
    tmp_path: Path, report: Any
) -> None:
    summary = _report(tmp_path, report, *(second / 20 for second in range(1_600)), bucket_seconds=5)

    forecast = summary["forecast"]
    assert forecast["arrivals_per_second"] == 0
    assert (forecast["from"], forecast["to"]) == (to_iso(at(105)), to_iso(at(110)))
    assert summary["utilisation"]["arrivals_per_second"] == 1_600 / 110


def test_a_bucket_is_now_once_half_of_it_is_over(tmp_path: Path, report: Any) -> None:
    moments = (0, 1, 100, 101, 104.999999, 106, 107, 109)
    forecast = _report(tmp_path, report, *moments, bucket_seconds=60)["forecast"]
    assert forecast["arrivals_per_second"] == 6 / 50
    assert (forecast["from"], forecast["to"]) == (to_iso(at(60)), to_iso(at(110)))

    earlier = report(tmp_path / "exports", bucket_seconds=60, as_of=at(89))["forecast"]
    assert earlier["arrivals_per_second"] == 2 / 60
    assert (earlier["from"], earlier["to"]) == (to_iso(at(0)), to_iso(at(60)))
