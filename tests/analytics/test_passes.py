"""The files that an export's manifest names, and the record of what was in each."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lifoq_analytics import passes, storage
from lifoq_analytics.answers.buckets import Span
from lifoq_analytics.judging import exchange
from lifoq_analytics.passes import Plan, Record
from lifoq_analytics.reading import exports, sources
from lifoq_analytics.reading.exports import DataFile, Export, Kind
from lifoq_analytics.reading.images import Origin
from lifoq_analytics.reading.intake import Stretch
from lifoq_analytics.reading.sources import Source
from tests.analytics.exportfiles import Exporter, full_line
from tests.analytics.items import at, item, observed


def task(name: str, *, enqueued_at: float = 0) -> dict[str, Any]:
    return full_line(item(name, "PENDING", enqueuedAt=enqueued_at))


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json.gz"))


def test_exports_are_told_whole_as_their_manifests_say_in_the_order_of_their_time(tmp_path):
    """An export that is found twice is one. A file of which its manifest leaves the number of items
    and the MD5 open has neither."""
    exporter = Exporter(root=tmp_path)
    window = exporter.incremental([task("a")], start=at(60), end=at(120))
    full = exporter.full([], at=at(60))
    manifest = full / "manifest-files.json"
    manifest.write_text('\n{"dataFileS3Key": "AWSDynamoDB/data/x.gz", "itemCount": "many"}\n \n')
    whole = {"table": "arn:aws:dynamodb:us-east-1:123456789012:table/Tasks"}
    open_file = DataFile(path=str(tmp_path / "AWSDynamoDB/data/x.gz"), items=None, md5=None)
    (written,) = files(tmp_path / "AWSDynamoDB" / "data")
    (found, later) = exports.find([str(tmp_path), str(full)])
    assert found == Export(
        **whole,
        folder=str(full),
        kind=Kind.FULL,
        start=at(60),
        end=at(60),
        files=(open_file,),
    )
    (file,) = later.files
    assert (file.path, file.items, len(file.md5 or "")) == (str(written), 1, 32)
    assert later == Export(
        **whole,
        folder=str(window),
        kind=Kind.INCREMENTAL,
        start=at(60),
        end=at(120),
        files=(file,),
    )
    assert later.table_name == "Tasks"
    assert Stretch.of(found) == Stretch(start=at(60), end=at(60), full=True)
    window_of_cell = Stretch(start=at(60), end=at(120), full=False, cell="Tasks")
    assert Stretch.of(later, cells=True) == window_of_cell
    there, missing = sources.of_exports([found, later], cells=True)
    origin = Origin(file=str(written), full_at=None, window_from=at(60), cell="Tasks")
    length = written.stat().st_size
    assert there == [
        Source(number=0, path=str(written), length=length, items=1, md5=file.md5, origin=origin)
    ]
    assert missing == [f"{open_file.path} is missing"]


def test_a_files_record_tells_its_lines_and_the_first_task_up_to_the_reports_moment(tmp_path):
    """A task that was enqueued in the very microsecond counts, a later one does not."""
    lines = [
        *(task("now", enqueued_at=60), task("later", enqueued_at=61)),
        *(task("next", enqueued_at=60.000001), "bad"),
    ]
    Exporter(root=tmp_path).full([lines[n] for n in (0, 2, 1, 3)], at=at(90), files=2)
    there, _ = sources.of_exports(exports.find([str(tmp_path)]))
    origins = [source.origin for source in there]
    assert [(its.full_at, its.cell) for its in origins if its] == [(at(90), "")] * 2

    *pieces, (_, number) = passes._read(there, 3, as_of=at(60), longest_line=1_000)

    assert [piece for share, piece in pieces if share == 3] == [
        Record(source=0, rows=2, bad_rows=0, complaint=None, earliest=at(60)),
        Record(source=1, rows=2, bad_rows=1, complaint=None, earliest=None),
    ]
    assert +number == Counter(share for share, _ in pieces if share < 3)


@pytest.mark.parametrize(
    ("lengths", "batches"),
    [
        ((3, 10, 2, 4), [[10], [4, 3, 2]]),
        ((9, 8, 7, 1), [[9, 1], [8, 7]]),
        ((2,), [[2]]),
        ((0, 0, 0, 0), [[0, 0], [0, 0]]),
        ((), []),
    ],
)
def test_files_are_read_in_batches_of_about_one_length(lengths, batches):
    of = [Source(number=n, path="f", length=length) for n, length in enumerate(lengths)]
    told = passes._batches(of, 2)
    assert sorted([source.length for source in batch] for batch in told) == sorted(batches)


def test_what_earlier_runs_left_is_numbered_below_nought():
    left = [storage.File(path="a", size=7), storage.File(path="b", size=8)]
    first, second = sources.of_state(left)
    assert first == Source(number=-1, path="a", length=7)
    assert second == Source(number=-2, path="b", length=8)


def test_a_line_that_is_too_long_is_one_of_the_lines_that_a_manifest_promises(tmp_path):
    folder = Exporter(root=tmp_path).full([task("t"), json.dumps({"Item": "x" * 999})], at=at(90))
    manifest = folder / "manifest-files.json"
    entry = json.loads(manifest.read_text()) | {"md5Checksum": None}
    (file,) = files(folder)
    told = f"{file} is truncated: it has 2 lines, its manifest says 3"
    for promised, complaint in ((2, None), (3, told), (None, None)):
        manifest.write_text(json.dumps(entry | {"itemCount": promised}))
        there, _ = sources.of_exports(exports.find([str(tmp_path)]))
        found = [piece for _, piece in passes._read(there, 1, as_of=at(60), longest_line=900)]
        (record,) = (piece for piece in found if isinstance(piece, Record))
        assert (record.rows, record.bad_rows, record.complaint) == (2, 1, complaint)


def test_observations_that_an_earlier_run_kept_are_read_as_they_are(tmp_path):
    seen = observed(task("t", enqueued_at=30), full=60).observations
    path = str(tmp_path / "part.parquet")
    storage.write_parquet(path, seen)
    kept = [Source(number=-1, path=path, length=1)]

    record, piece, number = (
        found for _, found in passes._read(kept, 1, as_of=at(60), longest_line=900)
    )

    assert record == Record(source=-1, rows=1, bad_rows=0, complaint=None, earliest=at(30))
    assert number == Counter({0: 1})
    carried = exchange.unpacked([piece[2]], passes._CARRIED).to_pylist()
    assert carried == [row | {"source": -1} for row in seen.to_pylist()]


@pytest.mark.parametrize("left_out", [frozenset(), frozenset({1})])
def test_a_file_that_is_left_out_tells_no_task_and_what_earlier_runs_kept_is_not_kept_again(
    left_out, tmp_path
):
    old, new = item("t", "PENDING"), item("t", "SUCCESS", takenAt=5, finishedAt=10)
    shown = {-1: full_line(item("kept", "PENDING")), 0: full_line(old), 1: full_line(new)}
    moments = {-1: 10, 0: 20, 1: 30}
    carried = [
        passes._numbered(observed(line, full=moments[number]).observations, number)
        for number, line in shown.items()
    ]
    plan = Plan(
        span=Span(size=1, start=0, as_of=at(60)),
        points=1,
        left_out=left_out,
        tasks="",
        quarantine="",
        state=str(tmp_path / "state"),
    )
    whole = pa.concat_tables(carried).unify_dictionaries().combine_chunks()
    status = "PENDING" if left_out else "SUCCESS"
    for state in (None, plan.state):
        merged = passes._merged(whole, 7, replace(plan, state=state))
        told = dict(
            zip(*(merged[name].to_pylist() for name in ("task_id", "task_status")), strict=True)
        )
        assert told == {"kept": "PENDING", "t": status}
    own = storage.read_parquet(f"{plan.state}/part-00007.parquet")
    assert own["task_id"].to_pylist() == ["t"]
    assert own["task_status"].to_pylist() == [status]
