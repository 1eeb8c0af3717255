"""Random histories, random export windows: the report's answers are the true ones.

``LIFOQ_HISTORIES=1000 python -m pytest tests/analytics/test_histories.py`` runs more of them.
"""

import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from lifoq.basics.times import iso
from lifoq_analytics.times import from_iso
from tests.analytics import histories, truth
from tests.analytics.exportfiles import Exporter
from tests.analytics.histories import SECOND, START

HISTORIES_PER_RUN = 50
GROUPS = 5
"""The histories of a group share their exports."""
RUNS = -(-int(os.environ.get("LIFOQ_HISTORIES", "50")) // HISTORIES_PER_RUN)


@pytest.mark.parametrize("seed", range(RUNS))
def test_the_answers_about_random_histories_are_the_true_ones(seed, tmp_path, report):
    rng = random.Random(seed)
    exporter = Exporter(root=tmp_path / "exports", prefix=rng.choice(["", "a/b"]))
    end = START + rng.randrange(1200, 5400) * SECOND + rng.choice([0, rng.randrange(SECOND)])
    lives = [
        life
        for group in range(GROUPS)
        for life in histories.write(rng, exporter, sizes=_sizes(rng, group), end=end)
    ]
    as_of = end + rng.choice([0, 0, rng.randrange(600 * SECOND)])
    bucket = rng.choice([10, 60, 300, 7])

    summary = report(tmp_path / "exports", bucket_seconds=bucket, as_of=as_of)

    fates = [truth.fate(life, as_of) for life in lives]
    tasks = ds.dataset(report.out / "tasks.parquet").to_table().to_pylist()
    assert {task["task_id"]: task["outcome"] for task in tasks} == {
        life.task_id: fate.outcome for life, fate in zip(lives, fates, strict=True)
    }
    by_type: dict[str, list[truth.Fate]] = {}
    for fate in fates:
        by_type.setdefault(fate.task_type, []).append(fate)
    assert_summary(summary, fates, as_of)
    assert summary["by_type"].keys() == by_type.keys()
    start = from_iso(summary["window"]["from"])
    shape = {"start": start, "as_of": as_of, "size": bucket * SECOND}
    total, typed = (
        _buckets(report.out / f"{name}.parquet") for name in ("buckets", "buckets_by_type")
    )
    assert total == truth.bucket_rows(fates, **shape)
    for name, its in by_type.items():
        found = summary["by_type"][name]
        expected = {
            **truth.counts(its),
            "shedding_rate": truth.shedding_rate(its),
            "wait_seconds": truth.spread(truth.waits(its)),
        }
        assert found == found | expected, name
        rows = [
            {key: value for key, value in row.items() if key != "task_type"}
            for row in typed
            if row["task_type"] == name
        ]
        is_to_come = all(min(fate.enqueued_at, fate.left_at) > as_of for fate in its)
        assert rows == ([] if is_to_come else truth.bucket_rows(its, **shape)), name


def test_earlier_runs_need_not_be_repeated(tmp_path, report):
    """With what yesterday's run left, today's exports give what all exports together give, also
    when the run of today is repeated."""
    exporter, state = Exporter(root=tmp_path / "exports"), str(tmp_path / "state")
    histories.write(random.Random(0), exporter, sizes={"a": 50}, end=START + 900 * SECOND)

    def ended(folder: Path) -> str:
        summary = json.loads((folder / "manifest-summary.json").read_text())
        return str(summary.get("exportToTime") or summary["exportTime"])

    def told(*folders: Path, **options: Any) -> tuple[Any, ...]:
        summary = report(*folders, **options)
        tables = (ds.dataset(report.out / f"{name}.parquet") for name in ("tasks", "quarantine"))
        return summary, *(sorted(table.to_table().to_pylist(), key=str) for table in tables)

    folders = sorted((path.parent for path in tmp_path.rglob("manifest-summary.json")), key=ended)
    whole = told(*folders)
    earlier, today = folders[: len(folders) // 2], folders[len(folders) // 2 :]
    report(*earlier, state=state)
    for _ in range(2):
        assert told(*today, state=state) == whole


def _buckets(path: Path) -> list[dict[str, Any]]:
    rows = ds.dataset(path).to_table().to_pylist()
    return [row | {"bucket_start": from_iso(row["bucket_start"].isoformat())} for row in rows]


def _sizes(rng: random.Random, group: int) -> dict[str, int]:
    """The task types of a group, with their numbers of tasks."""
    histories_of_group = HISTORIES_PER_RUN // GROUPS
    return {
        f"h{group}.{number}": rng.choice([1, 3, 10, 30]) for number in range(histories_of_group)
    }


def assert_summary(summary: dict[str, Any], fates: list[truth.Fate], as_of: int) -> None:
    peak, peak_at = truth.peak(fates, as_of)
    aged = truth.oldest(fates, as_of)
    longest = truth.longest_wait(fates, as_of)
    shed = [fate.shed_at for fate in fates if fate.shed_at is not None]
    expected = {
        "as_of": iso(as_of),
        "tasks": truth.counts(fates),
        "shedding_rate": truth.shedding_rate(fates),
        "backlog": {
            "max": peak,
            "max_at": None if peak_at is None else iso(peak_at),
            "end": truth.backlog(fates, as_of),
        },
        "oldest_waiting_seconds": None if aged is None else aged / SECOND,
        "longest_wait_seconds": None if longest is None else longest / SECOND,
        "shed_at": {
            "first": iso(min(shed)) if shed else None,
            "last": iso(max(shed)) if shed else None,
        },
        "wait_seconds": truth.spread(truth.waits(fates)),
        "service_seconds": truth.spread(truth.services(fates)),
        "sojourn_seconds": truth.spread(truth.sojourns(fates)),
        "past_attempts": truth.past_attempts(fates),
    }
    assert {name: summary[name] for name in expected} == expected
