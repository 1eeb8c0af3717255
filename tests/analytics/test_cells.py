"""Exports of several tables that are one queue."""

from pathlib import Path

import pyarrow.dataset as ds
import pytest

from lifoq.basics.times import iso
from tests.analytics.exportfiles import Exporter, full_line, incremental_line
from tests.analytics.items import at, item

CELLS = ("North", "South")


@pytest.fixture
def exporters(tmp_path) -> list[Exporter]:
    return [
        Exporter(
            root=tmp_path / name,
            table_arn=f"arn:aws:dynamodb:us-east-1:123456789012:table/{name}",
        )
        for name in CELLS
    ]


def roots(exporters: list[Exporter]) -> list[Path]:
    return [exporter.root for exporter in exporters]


def test_the_tasks_of_all_cells_are_one_queues_and_an_id_in_two_is_two_tasks(exporters, report):
    for number, exporter in enumerate(exporters):
        own = full_line(item(f"own-{number}", "PENDING"))
        moved = full_line(item("moved", "SUCCESS" if number else "PENDING"))
        exporter.full([own, moved], at=at(60))

    told = report(*roots(exporters), cells=True)

    assert told["table"] == "North, South"
    assert (told["tasks"]["created"], told["tasks"]["succeeded"]) == (4, 1)
    ids = ds.dataset(report.out / "tasks.parquet").to_table()["task_id"].to_pylist()
    assert sorted(ids) == ["North/moved", "North/own-0", "South/moved", "South/own-1"]


def test_what_one_cell_does_not_cover_the_other_does_not_hide(exporters, report):
    north, south = exporters
    for exporter in exporters:
        exporter.full([full_line(item("t", "PENDING"))], at=at(0))
    north.incremental([], start=at(0), end=at(900))
    south.incremental([], start=at(600), end=at(800))

    told = report(*roots(exporters), cells=True)

    assert told["coverage"]["gaps"] == [{"from": iso(at(0)), "to": iso(at(600))}]
    assert told["coverage"]["to"] == iso(at(800))
    assert told["window"]["to"] == iso(at(800)), "later, only one of the cells is known"


def test_a_state_keeps_the_tasks_of_all_cells(exporters, report, tmp_path):
    state = str(tmp_path / "state")
    folders = [exporter.full([full_line(item("t", "PENDING"))], at=at(0)) for exporter in exporters]
    report(*folders, cells=True, state=state)
    later = [
        exporter.incremental(
            [incremental_line("t", at(30), item("t", "PENDING"), item("t", "CANCELLED"))],
            start=at(0),
            end=at(60),
        )
        for exporter in exporters[:1]
    ]
    later += [exporters[1].incremental([], start=at(0), end=at(60))]

    told = report(*later, cells=True, state=state)

    counted = {name: told["tasks"][name] for name in ("created", "cancelled", "waiting")}
    assert counted == {"created": 2, "cancelled": 1, "waiting": 1}
