"""What counts as what, and when, to the microsecond."""

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from lifoq.basics.times import iso
from tests.analytics.conftest import bucket_rows
from tests.analytics.exportfiles import Exporter, full_line, incremental_line
from tests.analytics.items import BASE, SECOND, at, item


def _done(**times: float) -> dict[str, float]:
    return {"firstTakenAt": 20, "takenAt": 30, "finishedAt": 31, "attempts": 2, **times}


INCREMENTAL = {
    # What each type's only task shows, in the window from 60 to 660: its write, old and new image.
    "retried-then-done": (31, None, ("SUCCESS", _done())),
    "retention": (650, ("SUCCESS", _done()), None),
    "failure-retention": (650, ("FAILURE", _done()), None),
    "shed-by-ttl": (659.9, ("PENDING", {}), None),
    "shed-after-a-retry": (655, ("DELAYED", {"firstTakenAt": 20, "takenAt": 20}), None),
    "expired-but-there": (61, None, ("PENDING", {"expiresAt": 660})),
    "expires-just-later": (61, None, ("PENDING", {"expiresAt": 661})),
    "taken-past-deadline": (61, None, ("TAKEN", {"firstTakenAt": 61, "takenAt": 61})),
    "deleted-early": (300, ("PENDING", {}), None),
    "deleted-before-a-deadline-to-come": (300, ("PENDING", {"expiresAt": 900}), None),
    "not-due": (70, None, ("DELAYED", {"enqueuedAt": 800, "expiresAt": 1400})),
    "cancelled-before-due": (
        70,
        None,
        ("CANCELLED", {"enqueuedAt": 120, "finishedAt": 70, "expiresAt": 900}),
    ),
    "cancelled-while-it-ran": (
        90,
        None,
        ("CANCELLED", {"firstTakenAt": 70, "takenAt": 70, "finishedAt": 90, "cancelAsked": 80}),
    ),
    "claimed-on-the-edge": (
        120,
        None,
        ("SUCCESS", {"firstTakenAt": 120, "takenAt": 120, "finishedAt": 180}),
    ),
    "claimed-before-the-edge": (
        120,
        None,
        ("SUCCESS", {"firstTakenAt": 119.999999, "takenAt": 119.999999, "finishedAt": 130}),
    ),
}


@pytest.fixture(scope="module")
def told(module_report) -> tuple[dict[str, Any], Path]:
    """The report on these tasks: the summary, and the folder with its tables."""
    exports = module_report.out.parent / "exports"
    exporter = Exporter(root=exports)

    def image(kind: str, shown: tuple[str, dict[str, float]] | None) -> Any:
        return None if shown is None else item(kind, shown[0], kind=kind, **shown[1])

    exporter.incremental(
        [
            incremental_line(kind, at(written), image(kind, old), image(kind, new))
            for kind, (written, old, new) in INCREMENTAL.items()
        ],
        start=at(60),
        end=at(660),
    )
    exporter.full([full_line(item("tie", "PENDING", kind="tie"))], at=at(100))
    exporter.incremental(
        [
            incremental_line(
                "tie", at(100), item("tie", "PENDING", kind="tie"),
                item("tie", "TAKEN", kind="tie", firstTakenAt=100, takenAt=100),
            )
        ],
        start=at(90),
        end=at(110),
    )  # fmt: skip
    # The window from 0 to 660 sees the deletion of what the one from 600 to 640 saw succeed.
    old = item("overlap", "PENDING", kind="overlap")
    done = item("overlap", "SUCCESS", kind="overlap", firstTakenAt=610, takenAt=610, finishedAt=611)
    done = {**done, "replaced": 4, "taskKey": "d-17"}
    exporter.incremental(
        [incremental_line("overlap", at(650), old, None)], start=at(0), end=at(660)
    )
    exporter.incremental(
        [incremental_line("overlap", at(611), old, done)], start=at(600), end=at(640)
    )
    return module_report(exports), module_report.out


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("retried-then-done", "succeeded"),
        ("retention", "succeeded"),
        ("failure-retention", "failed"),
        ("shed-by-ttl", "shed"),
        ("shed-after-a-retry", "shed"),
        ("expired-but-there", "shed"),
        ("expires-just-later", "waiting"),
        ("taken-past-deadline", "taken"),
        ("deleted-early", "shed"),
        ("deleted-before-a-deadline-to-come", "shed"),
        ("not-due", "waiting"),
        ("cancelled-before-due", "cancelled"),
        ("cancelled-while-it-ran", "cancelled"),
        ("tie", "taken"),
        ("overlap", "succeeded"),
    ],
)
def test_each_task_is_at_one_outcome(told, kind, outcome):
    counts = told[0]["by_type"][kind]
    assert counts["created"] == counts[outcome] == 1


def test_puts_that_a_newer_one_replaced_are_counted_and_are_no_tasks(told):
    counts = told[0]["by_type"]["overlap"]
    assert (counts["created"], counts["replaced"]) == (1, 4)
    assert told[0]["replaced"] == 4


@pytest.mark.parametrize(
    ("kind", "flow", "seconds"),
    [
        ("retried-then-done", "first_claims", 0),
        ("retried-then-done", "succeeded", 0),
        # At the deadline, not at the deletion 59.9 s later.
        ("shed-by-ttl", "shed", 600),
        ("deleted-early", "shed", 600),
        ("deleted-before-a-deadline-to-come", "shed", 300),
        ("expired-but-there", "shed", 660),
        # An edge belongs to the bucket that starts there.
        ("claimed-on-the-edge", "first_claims", 120),
        ("claimed-on-the-edge", "succeeded", 180),
        ("claimed-before-the-edge", "first_claims", 60),
    ],
)
def test_an_event_counts_in_the_bucket_of_its_moment(told, kind, flow, seconds):
    rows = bucket_rows(told[1] / "buckets_by_type.parquet")
    buckets = [row["bucket_start"] for row in rows if row["task_type"] == kind and row[flow]]
    assert buckets == [at(seconds)]


def test_a_task_waits_until_its_first_claim_only(told):
    waits = told[0]["by_type"]["retried-then-done"]["wait_seconds"]
    assert waits == {"p50": 20.0, "p95": 20.0, "p99": 20.0, "max": 20.0}
    facts = {
        row["task_id"]: row for row in ds.dataset(told[1] / "tasks.parquet").to_table().to_pylist()
    }
    assert facts["retried-then-done"]["service_us"] == 1 * SECOND
    assert facts["retried-then-done"]["sojourn_us"] == 31 * SECOND
    assert facts["cancelled-before-due"]["sojourn_us"] is None
    assert facts["cancelled-while-it-ran"]["wait_us"] == 70 * SECOND
    assert facts["cancelled-while-it-ran"]["sojourn_us"] is None


def test_a_task_that_is_not_due_is_no_backlog_yet(told):
    assert told[0]["waiting"]["not_due"] == 1
    rows = bucket_rows(told[1] / "buckets_by_type.parquet")
    assert not any(row["arrivals"] for row in rows if row["task_type"] == "not-due")


def test_rows_of_the_buckets_follow_from_each_other(told):
    rows = bucket_rows(told[1] / "buckets.parquet")
    assert [row["bucket_start"] for row in rows] == [BASE + 60 * SECOND * n for n in range(12)]
    assert rows[-1]["backlog"] == told[0]["backlog"]["end"]
    assert rows[-1]["oldest_waiting_seconds"] == told[0]["oldest_waiting_seconds"] == 660.0


def test_windows_longer_than_the_shortest_deadline_and_a_missing_full_export_are_told(told):
    coverage = told[0]["coverage"]
    assert coverage["long_windows"] == [{"from": iso(at(0)), "to": iso(at(660))}]
    assert not coverage["starts_with_full_export"]
    assert coverage["gaps"] == []
