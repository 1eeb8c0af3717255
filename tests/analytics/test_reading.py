"""Exports are read through their manifests; what cannot be read is refused, or set aside."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow.dataset as ds
import pytest

from lifoq.aws.dynamo_values import typed
from lifoq.items import key_slots
from lifoq_analytics import passes
from lifoq_analytics.errors import (
    DamagedExportError,
    ExportNotFoundError,
    ManifestError,
    OptionError,
    ReportError,
    SparkError,
)
from lifoq_analytics.reading import exports, images
from tests.analytics.exportfiles import Exporter, full_line, incremental_line, md5, write_data
from tests.analytics.items import at, item, observed

TASK = item("t", "PENDING")
NOT_JSON = "not a JSON object in DynamoDB's notation"
LONG = json.dumps({"Item": {"taskId": {"S": "x" * 50_000}}})
BAD = {
    "{broken": NOT_JSON,
    '{"Item": {"taskId": {"S": 5}}, "x": []': NOT_JSON,
    "[1, 2]": NOT_JSON,
    '{"other": {}}': "neither Item nor NewImage nor OldImage",
    '{"Item": {"id": {"S": "not ours"}}}': "no taskId",
    json.dumps(full_line(TASK | {"taskStatus": "ODD"})): "unknown taskStatus",
    json.dumps(full_line(TASK | {"enqueuedAt": "soon"})): "no usable enqueuedAt",
    json.dumps(full_line(TASK | {"enqueuedAt": Decimal("1.5")})): "no usable enqueuedAt",
    # Nanoseconds where microseconds belong.
    json.dumps(full_line(TASK | {"expiresAt": at(0) * 1_000})): "no usable expiresAt",
    json.dumps({"NewImage": full_line(TASK)["Item"]}): "no usable WriteTimestampMicros",
    LONG[:4_096]: f"longer than any task: {len(LONG):,} bytes",
}


def _tasks(*numbers: int) -> list[Any]:
    return [full_line(item(f"t{number}", "PENDING")) for number in numbers]


def test_slots_of_keys_are_neither_tasks_nor_damage():
    held = key_slots.held(key_slots.slot_id("a", "k", 0), task_id="t1", claim_id="c", now=at(0))
    freed = incremental_line("any", at(70), None, None) | {"OldImage": typed(held)}
    for seen in (
        observed(*_tasks(1), {"Item": typed(held)}, b"{broken", full=60),
        observed(incremental_line("t1", at(61), None, TASK), freed, b"{broken", since=60),
    ):
        assert (seen.observations.num_rows, seen.bad_lines.num_rows) == (1, 1)


def test_a_line_that_shows_no_task_is_set_aside_though_no_other_is_wrong():
    seen = observed(*_tasks(1), {"other": {}}, full=60)
    assert (seen.observations["task_id"].to_pylist(), seen.bad_lines.num_rows) == (["t1"], 1)
    assert observed(*_tasks(1), full=60).bad_lines == images.BAD_LINE.empty_table()


def test_bytes_that_are_no_text_cost_their_own_line_alone():
    (line,) = _tasks(2)
    seen = observed(*_tasks(1), json.dumps(line).encode().replace(b"t2", b"t\xff"), full=60)
    assert (seen.observations.num_rows, seen.bad_lines.num_rows) == (1, 1)


@pytest.mark.parametrize("damaged", [(), ("-1", "2147483648", "1.5", "9" * 30)])
def test_a_number_is_read_from_0_to_the_most_that_is_possible_and_any_other_is_none(damaged):
    numbers = ["0", "1", "2147483647", *damaged]
    lines = [full_line(item(f"t{number}", "PENDING")) for number in numbers]
    for line, number in zip(lines, numbers, strict=True):
        line["Item"]["attempts"] = {"N": number}
    found = observed(*lines, full=60).observations["attempts"].to_pylist()
    assert found == [0, 1, 2**31 - 1, *[None for _ in damaged]]


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
    root = tmp_path / "a [copy] of {exports} 100%"
    exporter = Exporter(root=root, prefix="x/AWSDynamoDB/y")
    bad = [LONG if LONG.startswith(line) else line for line in BAD]
    folder = exporter.full([*_tasks(1, 2), *bad, "", "  "], at=at(60), files=2)
    exporter.incremental([], start=at(60), end=at(120))
    # What no manifest names is not read, an empty file is no harm, nor is an export in progress.
    write_data(root / "AWSDynamoDB" / "data" / "stray.json.gz", _tasks(3))
    (root / "AWSDynamoDB" / "02-unfinished").mkdir()

    summary = report(root, folder, longest_line=20_000)

    steps = ("finding exports", "reading 3 files", "judging tasks", "looking closer")
    assert report.steps == [*steps, "drawing the page"]
    assert json.loads((report.out / "summary.json").read_text()) == summary
    assert summary["tasks"]["created"] == 2
    read = {"exports": 2, "files": 3, "rows": 2 + len(BAD), "bad_rows": len(BAD), "missing": []}
    assert summary["input"] == read
    rows = ds.dataset(report.out / "quarantine.parquet").to_table().to_pylist()
    assert {row["line"]: row["reason"] for row in rows} == BAD
    assert all(row["file"].endswith(".json.gz") for row in rows)


def _shorter(content: bytes) -> bytes:
    return gzip.compress(b"".join(gzip.decompress(content).splitlines(keepends=True)[:4]))


UNCHECKED = {"md5Checksum": None}
DAMAGES: list[tuple[str, Callable[[bytes], bytes], dict[str, Any]]] = [
    ("is truncated: it has 0 lines, its manifest says 6", lambda _: b"", UNCHECKED),
    ("is truncated or changed", lambda content: content[:-12], {}),
    ("is truncated or changed", _shorter, {}),
    ("is truncated or not gzip", lambda content: content[:-30], UNCHECKED),
    ("is truncated: it has 4 lines, its manifest says 6", _shorter, UNCHECKED),
    ("is truncated: it has 0 lines", lambda _: b"", {"md5Checksum": md5(b"")}),
]


def test_files_that_are_missing_changed_or_truncated_are_refused_by_name_and_can_be_left_out(
    tmp_path, report
):
    """Also where the manifest has no checksum; and an empty one wherever it stands."""
    folder = Exporter(root=tmp_path / "exports").full(_tasks(*range(48)), at=at(60), files=8)
    *files, missing, _ = sorted(folder.rglob("*.json.gz"))
    manifest = folder / "manifest-files.json"
    entries = [json.loads(line) for line in manifest.read_text().splitlines()]
    told = [f"{missing} is missing"]
    for file, entry, (complaint, damage, changes) in zip(files, entries, DAMAGES, strict=False):
        file.write_bytes(damage(file.read_bytes()))
        entry.update(changes)
        told.append(f"{file} {complaint}")
    manifest.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    missing.unlink()

    with pytest.raises(DamagedExportError) as refused:
        report(tmp_path / "exports")
    for complaint, beginning in zip(sorted(refused.value.complaints), sorted(told), strict=True):
        assert complaint.startswith(beginning)
    assert not report.out.exists()
    summary = report(tmp_path / "exports", allow_missing=True)
    assert (summary["tasks"]["created"], len(summary["input"]["missing"])) == (6, 7)
    assert f"Left out: {missing} is missing" in (report.out / "report.html").read_text()


@pytest.mark.parametrize(
    ("manifest", "becomes", "told"),
    [
        ("summary", {"outputFormat": "ION"}, "summary.json.*export again with DYNAMODB_JSON"),
        ("summary", {"outputView": "NEW_IMAGE"}, "NEW_AND_OLD_IMAGES"),
        ("summary", {"exportType": "PARTIAL"}, "summary.json.*unknown exportType 'PARTIAL'"),
        ("summary", {"exportTime": "yesterday"}, "summary.json.*no usable exportTime"),
        ("files", '{"dataFileS3Key": "', "files.json is truncated or not JSON"),
        ("files", "[1]", "files.json does not hold a JSON object: copy the export again"),
        ("files", {"dataFileS3Key": 5}, "files.json has a line without dataFileS3Key: copy"),
        ("files", {"md5Checksum": "%"}, "files.json has the md5Checksum '%' of AWSDynamoDB/"),
        ("files", {"md5Checksum": 5}, "files.json has the md5Checksum 5 of AWSDynamoDB/"),
        ("summary", "[]", "summary.json does not hold a JSON object: copy the export again"),
        ("files", None, "files.json is missing: copy the whole export again"),
        ("files", {"dataFileS3Key": "AWSDynamoDB/../../x.gz"}, r"/\.\./x.gz.*leads out of the exp"),
        ("files", {"dataFileS3Key": "a/AWSDynamoDB//etc/x.gz"}, "//etc/x.gz.*leads out of the exp"),
    ],
)
def test_a_manifest_that_cannot_be_followed_is_named_and_says_what_to_do(
    tmp_path, manifest, becomes, told
):
    folder = Exporter(root=tmp_path).full(_tasks(1), at=at(60))
    path = folder / f"manifest-{manifest}.json"
    whole = json.loads(path.read_text())
    path.unlink()
    if becomes is not None:
        path.write_text(becomes if isinstance(becomes, str) else json.dumps(whole | becomes))
    with pytest.raises(ManifestError, match=told):
        exports.find([str(tmp_path)])


def test_what_is_not_one_tables_exports_is_refused(tmp_path):
    Exporter(root=tmp_path / "a").full(_tasks(1), at=at(60))
    Exporter(root=tmp_path / "b", table="other").full(_tasks(1), at=at(60))
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(ExportNotFoundError, match=str(path)):
            exports.find([str(tmp_path / "a"), str(path)])
    with pytest.raises(OptionError, match="exports of one table"):
        exports.find([str(tmp_path)])


def test_a_bucket_too_small_for_the_time_is_refused(tmp_path, report):
    lines = [full_line(item("t", "PENDING", enqueuedAt=-3_000_000))]
    Exporter(root=tmp_path).full(lines, at=at(60))
    with pytest.raises(ReportError, match="use at least 4 seconds"):
        report(tmp_path, bucket_seconds=1)


def test_what_fails_in_a_task_of_spark_is_told_in_a_sentence(tmp_path, report):
    Exporter(root=tmp_path / "exports").full(_tasks(1), at=at(60))
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "observations").write_text("in the way")
    report.out.mkdir()
    (report.out / "summary.json").write_text("of an earlier report")

    with pytest.raises(ReportError, match=r"state/observations/.* cannot be reached") as refused:
        report(tmp_path / "exports", state=str(tmp_path / "state"))
    assert "Traceback" not in str(refused.value)
    assert not (report.out / "summary.json").exists(), "this report has not been finished"
