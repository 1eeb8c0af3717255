"""Exports are read through their manifests; what cannot be read is refused, or set aside."""

import base64
import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from analytics import passes
from analytics.errors import (
    DamagedExportError,
    ExportNotFoundError,
    ManifestError,
    OptionError,
    ReportError,
    SparkError,
)
from lifoq.items import key_slots
from lifoq.tables.dynamo_values import typed
from tests.analytics.exportfiles import Exporter, full_line, incremental_line, write_data
from tests.analytics.items import at, item


def _tasks(*numbers: int) -> list[Any]:
    return [full_line(item(f"t{number}", "PENDING")) for number in numbers]


def _data_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json.gz"))


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_slots_of_keys_are_neither_tasks_nor_damage(tmp_path, report):
    held = key_slots.held(key_slots.slot_id("a", "k", 0), task_id="t1", claim_id="c", now=at(0))
    slot, exporter = typed(held), Exporter(root=tmp_path / "exports")
    exporter.full([*_tasks(1, 2), {"Item": slot}, "{broken"], at=at(60))
    freed = incremental_line("any", at(70), None, None) | {"OldImage": slot}
    exporter.incremental([freed], start=at(60), end=at(120))

    summary = report(tmp_path / "exports")

    assert summary["tasks"]["created"] == 2
    assert summary["input"]["bad_rows"] == 1


def test_a_task_of_spark_whose_pieces_end_early_writes_nothing(tmp_path, monkeypatch, report):
    Exporter(root=tmp_path / "exports").full(_tasks(1, 2), at=at(60))
    records = passes.Reading.records

    def tell_of_one_more(reading: passes.Reading) -> Any:
        found = records(reading)
        reading._number.update(range(reading.partitions))
        return found

    monkeypatch.setattr(passes.Reading, "records", tell_of_one_more)
    with pytest.raises(SparkError, match=r"\d of \d pieces came"):
        report(tmp_path / "exports")
    assert list(report.out.rglob("*.parquet")) == []


def test_lines_that_are_no_tasks_are_set_aside_with_their_reasons(tmp_path, report):
    bad = {
        "{broken": "not a JSON object in DynamoDB's notation",
        '{"Item": {"taskId": {"S": 5}}, "x": []': "not a JSON object in DynamoDB's notation",
        "[1, 2]": "not a JSON object in DynamoDB's notation",
        '{"other": {}}': "neither Item nor NewImage nor OldImage",
        json.dumps({"Item": {"id": {"S": "not ours"}}}): "no taskId",
        json.dumps(full_line(item("t", "PENDING") | {"taskStatus": "ODD"})): "unknown taskStatus",
        json.dumps(
            full_line(item("t", "PENDING") | {"enqueuedAt": "soon"})
        ): "no usable enqueuedAt",
        # Nanoseconds where microseconds belong.
        json.dumps(
            full_line(item("t", "PENDING") | {"expiresAt": 1_763_600_400_000_000_000})
        ): "no usable expiresAt",
        json.dumps(
            {"NewImage": full_line(item("t", "PENDING"))["Item"]}
        ): "no usable WriteTimestampMicros",
    }
    exports = tmp_path / "a [copy] of {exports} 100%"
    exporter = Exporter(root=exports, prefix="x/AWSDynamoDB/y")
    exporter.full([*_tasks(1, 2), *bad, "", "  "], at=at(60), files=2)
    exporter.incremental([], start=at(60), end=at(120))
    # What no manifest names is not read, an empty file is no harm, nor is an export in progress.
    write_data(exports / "AWSDynamoDB" / "data" / "stray.json.gz", _tasks(3))
    (exports / "AWSDynamoDB" / "02-unfinished").mkdir()
    (exports / "AWSDynamoDB" / "02-unfinished" / "_started").touch()

    summary = report(exports)

    assert summary["tasks"]["created"] == 2
    assert summary["input"] == {
        "exports": 2,
        "files": 3,
        "rows": 2 + len(bad),
        "bad_rows": len(bad),
        "missing": [],
    }
    rows = ds.dataset(tmp_path / "out" / "quarantine.parquet").to_table().to_pylist()
    assert {row["line"]: row["reason"] for row in rows} == bad
    assert all(row["file"].endswith(".json.gz") for row in rows)


def test_files_that_are_missing_changed_or_truncated_are_refused_by_name_and_can_be_left_out(
    tmp_path, report
):
    exports = tmp_path / "exports"
    folder = Exporter(root=exports).full(_tasks(1, 2, 3, 4), at=at(60), files=4)
    missing, changed, cut, _ = _data_files(folder)
    missing.unlink()
    write_data(changed, _tasks(9))
    cut.write_bytes(cut.read_bytes()[:-12])

    with pytest.raises(DamagedExportError) as refused:
        report(exports)
    told = str(refused.value)
    assert f"{missing} is missing" in told
    assert f"{changed} is truncated or changed" in told
    assert f"{cut} is truncated or changed" in told
    assert not (tmp_path / "out").exists()

    summary = report(exports, allow_missing=True)
    assert summary["tasks"]["created"] == 1
    assert len(summary["input"]["missing"]) == 3
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"Left out: {missing} is missing" in page


@pytest.mark.parametrize("damage", ["cut", "short"])
def test_a_truncated_file_is_found_without_a_checksum(tmp_path, report, damage):
    folder = Exporter(root=tmp_path / "exports").full(_tasks(*range(50)), at=at(60))
    (file,) = _data_files(folder)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-30])
    else:
        lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
        file.write_bytes(gzip.compress(b"".join(lines[:40])))
    _edit(folder / "manifest-files.json", md5Checksum=None)

    with pytest.raises(DamagedExportError, match=str(file)):
        report(tmp_path / "exports")
    assert not (tmp_path / "out" / "summary.json").exists()


def test_an_export_can_be_named_by_its_own_folder_and_twice(tmp_path, report):
    exporter = Exporter(root=tmp_path / "exports")
    first = exporter.full(_tasks(1), at=at(60))
    exporter.full(_tasks(1, 2), at=at(120))

    assert report(first, first)["input"]["exports"] == 1


def _summary(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: _edit(folder / "manifest-summary.json", **changes)


def _key(key: str) -> Callable[[Path], None]:
    return lambda folder: _edit(folder / "manifest-files.json", dataFileS3Key=key)


def _cut(folder: Path) -> None:
    files = folder / "manifest-files.json"
    files.write_text(files.read_text()[:-10])


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_summary(outputFormat="ION"), "summary.json.*export again with DYNAMODB_JSON"),
        (_summary(exportType="INCREMENTAL_EXPORT", outputView="NEW_IMAGE"), "NEW_AND_OLD_IMAGES"),
        (_summary(exportType="PARTIAL"), "summary.json.*unknown exportType 'PARTIAL'"),
        (_summary(exportTime="yesterday"), "summary.json.*no usable exportTime"),
        (_cut, "files.json is truncated or not JSON"),
        (
            lambda folder: (folder / "manifest-files.json").unlink(),
            "files.json is missing: copy the whole export again",
        ),
        (
            _key("AWSDynamoDB/../../secret.json.gz"),
            r"/\.\./secret.json.gz.*leads out of the export",
        ),
        (_key("a/AWSDynamoDB//etc/x.gz"), "//etc/x.gz.*leads out of the export"),
    ],
)
def test_a_manifest_that_cannot_be_followed_is_named_and_says_what_to_do(
    tmp_path, report, damage, told
):
    damage(Exporter(root=tmp_path).full(_tasks(1), at=at(60)))

    with pytest.raises(ManifestError, match=told):
        report(tmp_path)


def test_a_path_without_an_export_is_refused(tmp_path, report):
    Exporter(root=tmp_path / "good").full(_tasks(1), at=at(60))
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(ExportNotFoundError, match=str(path)):
            report(tmp_path / "good", path)


def test_exports_of_two_tables_are_not_mixed(tmp_path, report):
    Exporter(root=tmp_path / "a").full(_tasks(1), at=at(60))
    Exporter(root=tmp_path / "b", table_arn="arn:other").full(_tasks(1), at=at(60))
    with pytest.raises(OptionError, match="exports of one table"):
        report(tmp_path)


def test_a_bucket_too_small_for_the_time_is_refused(tmp_path, report):
    Exporter(root=tmp_path).full(
        [full_line(item("t", "PENDING", enqueuedAt=-3_000_000))], at=at(60)
    )
    with pytest.raises(ReportError, match="use at least 4 seconds"):
        report(tmp_path, bucket_seconds=1)


def test_earlier_runs_need_not_be_repeated(tmp_path, report):
    """With what yesterday's run left, today's exports give what all exports together give."""
    everything, first, second = (tmp_path / name for name in ("all", "first", "second"))
    exporter = Exporter(root=everything)
    done = item("t1", "SUCCESS", firstTakenAt=61, takenAt=61, finishedAt=62)
    tried = {**item("t9", "PENDING", enqueuedAt=63), "history": [{"how": "RETRIED", "type": "E"}]}
    exporter.full(_tasks(1, 2, 3), at=at(60))
    exporter.incremental(
        [
            incremental_line("t1", at(62), item("t1", "PENDING"), done),
            incremental_line("t9", at(63), None, tried),
            "junk",
        ],
        start=at(60),
        end=at(360),
    )
    shutil.copytree(everything, first)
    shutil.copytree(everything, second)
    exporter = Exporter(root=second, exports=10)
    late = [
        incremental_line("t1", at(640), done, None),
        incremental_line("t2", at(650), item("t2", "PENDING"), None),
        "more junk",
    ]
    exporter.incremental(late, start=at(360), end=at(660))
    only_today = max(path.parent for path in second.rglob("manifest-summary.json"))

    whole = report(second)
    assert whole["past_attempts"]["attempts"] == 1
    rows = _everything(tmp_path / "out")
    state = str(tmp_path / "state")
    report(first, state=state)
    assert report(only_today, state=state) == whole
    assert _everything(tmp_path / "out") == rows
    # The same window once more overwrites what it left.
    assert report(only_today, state=state) == whole
    assert _everything(tmp_path / "out") == rows


def _everything(out: Path) -> dict[str, Any]:
    tables = {
        name: ds.dataset(out / f"{name}.parquet").to_table().to_pylist()
        for name in ("tasks", "buckets", "buckets_by_type", "quarantine")
    }
    for row in tables["quarantine"]:
        row["file"] = Path(row["file"]).name
    return {name: sorted(rows, key=str) for name, rows in tables.items()}


def test_a_report_can_look_back_from_its_exports(tmp_path, report):
    """As of an earlier moment: what happened since has not happened yet."""
    exporter = Exporter(root=tmp_path / "exports")
    lines = [
        full_line(item("running", "SUCCESS", firstTakenAt=20, takenAt=20, finishedAt=50)),
        full_line(item("waiting", "SUCCESS", firstTakenAt=40, takenAt=40, finishedAt=50)),
        full_line(item("done", "SUCCESS", firstTakenAt=5, takenAt=5, finishedAt=10)),
        full_line(item("later", "PENDING", enqueuedAt=31)),
        full_line(item("shed", "PENDING", expiresAt=25)),
        full_line(item("alive", "PENDING", expiresAt=35)),
    ]
    exporter.full(lines, at=at(60))

    summary = report(tmp_path / "exports", as_of=at(30))

    rows = ds.dataset(tmp_path / "out" / "tasks.parquet").to_table().to_pylist()
    assert {row["task_id"]: row["outcome"] for row in rows} == {
        "running": "taken",
        "waiting": "waiting",
        "done": "succeeded",
        "shed": "shed",
        "alive": "waiting",
    }
    assert summary["backlog"]["end"] == 2
    assert summary["tasks"]["created"] == 5
    assert summary["oldest_waiting_seconds"] == 30


@pytest.mark.parametrize(("position", "checksum"), [(0, False), (2, True)])
def test_an_empty_file_whose_manifest_promises_lines_is_damage_wherever_it_stands(
    tmp_path, report, position, *, checksum
):
    folder = Exporter(root=tmp_path / "exports").full(_tasks(*range(9)), at=at(60), files=3)
    empty = _data_files(folder)[position]
    empty.write_bytes(b"")
    manifest = folder / "manifest-files.json"
    entries = [json.loads(line) for line in manifest.read_text().splitlines()]
    md5 = base64.b64encode(hashlib.md5(b"", usedforsecurity=False).digest()).decode()
    entries[position]["md5Checksum"] = md5 if checksum else None
    manifest.write_text("".join(json.dumps(entry) + "\n" for entry in entries))

    with pytest.raises(DamagedExportError, match=f"{empty} is truncated: it has 0 lines, .* 3"):
        report(tmp_path / "exports")
    assert not (tmp_path / "out").exists()
    assert report(tmp_path / "exports", allow_missing=True)["tasks"]["created"] == 6


def test_a_line_longer_than_any_task_is_set_aside_with_its_beginning_alone(tmp_path, report):
    exports = tmp_path / "exports"
    long = json.dumps({"Item": {"taskId": {"S": "x" * 50_000}}})
    Exporter(root=exports).full([*_tasks(1), long, *_tasks(2)], at=at(60))

    summary = report(exports, longest_line=20_000)

    assert summary["tasks"]["created"] == 2
    (row,) = ds.dataset(tmp_path / "out" / "quarantine.parquet").to_table().to_pylist()
    assert row["reason"] == f"longer than any task: {len(long):,} bytes"
    assert len(row["line"]) < 5_000
    assert long.startswith(row["line"])


def test_looking_back_before_a_deletion_the_task_is_still_there(tmp_path, report):
    """What was deleted since the report's moment was not deleted by then."""
    exporter = Exporter(root=tmp_path / "exports")
    done = item("done", "SUCCESS", firstTakenAt=5, takenAt=5, finishedAt=10)
    exporter.incremental(
        [
            incremental_line("by-operator", at(90), item("by-operator", "PENDING"), None),
            incremental_line("by-ttl", at(95), item("by-ttl", "PENDING", expiresAt=70), None),
            incremental_line("done", at(96), done, None),
        ],
        start=at(60),
        end=at(120),
    )

    def outcomes(moment: float) -> dict[str, str]:
        report(tmp_path / "exports", as_of=at(moment))
        rows = ds.dataset(tmp_path / "out" / "tasks.parquet").to_table().to_pylist()
        return {row["task_id"]: row["outcome"] for row in rows}

    kept = {"done": "succeeded"}
    assert outcomes(65) == {"by-operator": "waiting", "by-ttl": "waiting", **kept}
    assert outcomes(89.999999) == {"by-operator": "waiting", "by-ttl": "shed", **kept}
    assert outcomes(90) == {"by-operator": "shed", "by-ttl": "shed", **kept}


def test_an_id_that_was_used_again_is_its_latest_task(tmp_path, report):
    """Its first task's deletion is none of the second's, whichever moment one looks from."""
    exporter = Exporter(root=tmp_path / "exports")
    first = item("again", "PENDING", expiresAt=70)
    second = item("again", "PENDING", enqueuedAt=150, expiresAt=900)
    exporter.incremental(
        [incremental_line("again", at(80), first, None)], start=at(60), end=at(120)
    )
    exporter.incremental(
        [incremental_line("again", at(150), None, second)], start=at(120), end=at(180)
    )

    summary = report(tmp_path / "exports")
    assert (summary["tasks"]["created"], summary["tasks"]["waiting"]) == (1, 1)
    assert summary["oldest_waiting_seconds"] == 30
    assert report(tmp_path / "exports", as_of=at(100))["tasks"]["created"] == 0


def test_what_fails_in_a_task_of_spark_is_told_in_a_sentence(tmp_path, report):
    Exporter(root=tmp_path / "exports").full(_tasks(1), at=at(60))
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "observations").write_text("in the way")

    with pytest.raises(ReportError, match=r"state/observations/.* cannot be reached") as refused:
        report(tmp_path / "exports", state=str(tmp_path / "state"))
    assert "Traceback" not in str(refused.value)
