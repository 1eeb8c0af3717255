"""Rates of now are of now, whatever came before."""

from lifoq.basics.times import iso
from tests.analytics.exportfiles import Exporter, full_line
from tests.analytics.items import at, item


def test_a_bucket_is_now_once_half_of_it_is_over(tmp_path, report):
    tasks = [
        item(f"t{moment}", "PENDING", enqueuedAt=moment, expiresAt=9_000)
        for moment in (0, 1, 100, 101, 104.999999, 106, 107, 109)
    ]
    Exporter(root=tmp_path / "exports").full([full_line(task) for task in tasks], at=at(110))
    forecast = report(tmp_path / "exports", bucket_seconds=60)["forecast"]
    assert forecast["arrivals_per_second"] == 6 / 50
    assert (forecast["from"], forecast["to"]) == (iso(at(60)), iso(at(110)))

    earlier = report(tmp_path / "exports", bucket_seconds=60, as_of=at(89))["forecast"]
    assert earlier["arrivals_per_second"] == 2 / 60
    assert (earlier["from"], earlier["to"]) == (iso(at(0)), iso(at(60)))
