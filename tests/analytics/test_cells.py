"""Exports of several tables that are one queue."""

import json

import pyarrow.dataset as ds
import pytest

from lifoq.basics.times import iso
from lifoq_analytics.answers import coverage
from lifoq_analytics.reading.images import Origin, observe
from lifoq_analytics.reading.intake import Stretch
from tests.analytics.exportfiles import Exporter, full_line, incremental_line
from tests.analytics.items import at, item


@pytest.fixture
def exporters(tmp_path) -> list[Exporter]:
    return [Exporter(root=tmp_path / name, table=name) for name in ("North", "South")]


@pytest.mark.prove
def test_the_tasks_of_all_cells_are_one_queues_and_an_id_in_two_is_two_tasks(
    exporters, report, tmp_path
):
    """Also where an earlier run has kept them."""
    waits, state = item("t", "PENDING"), str(tmp_path / "state")
    folders = [exporter.full([full_line(waits)], at=at(0)) for exporter in exporters]
    report(*folders, cells=True, state=state)
    lines = [incremental_line("t", at(30), waits, item("t", "CANCELLED"))]
    later = [
        exporter.incremental(its, start=at(0), end=at(end))
        for exporter, its, end in zip(exporters, (lines, []), (90, 60), strict=True)
    ]

    told = report(*later, cells=True, state=state)

    assert json.loads((report.out / "summary.json").read_text()) == told
    assert told["table"] == "North, South"
    assert told["as_of"] == iso(at(60)), "later, only one of the cells is known"
    rows = ds.dataset(report.out / "tasks.parquet").to_table().to_pylist()
    found = {row["task_id"]: row["outcome"] for row in rows}
    assert found == {"North/t": "cancelled", "South/t": "waiting"}


def test_what_one_cell_does_not_cover_the_other_does_not_hide():
    stretches = [Stretch(start=0, end=0, full=True, cell=cell) for cell in ("North", "South")]
    stretches += [Stretch(start=0, end=900, full=False, cell="North")]
    stretches += [Stretch(start=600, end=800, full=False, cell="South")]
    told = coverage.of(stretches, shortest_deadline=None)
    assert told["gaps"] == [{"from": iso(0), "to": iso(600)}]
    assert told["to"] == iso(800)
    assert told["starts_with_full_export"]


def test_a_task_is_named_with_its_cell_and_one_without_an_id_stays_without():
    ids = ({"S": "t"}, {"S": ""}, {"NULL": True})
    lines = [full_line(item("t", "PENDING")) for _ in ids]
    for line, its in zip(lines, ids, strict=True):
        line["Item"]["taskId"] = its
    block = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    for cell, name in (("North", "North/t"), ("", "t")):
        seen = observe(block, Origin(file="f", full_at=at(60), window_from=None, cell=cell))
        assert seen.observations["task_id"].to_pylist() == [name]
        assert seen.bad_lines["reason"].to_pylist() == ["no taskId"] * 2
