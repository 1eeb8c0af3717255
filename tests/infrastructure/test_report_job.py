"""The Spark job as it is deployed: its script and its package, started by ``spark-submit``."""

import contextlib
import itertools
import json
import os
import runpy
import shutil
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from lifoq_cdk import report_job
from lifoq_project import asset
from tests.analytics.exportfiles import Exporter, full_line
from tests.analytics.items import at, item
from tests.infrastructure.commands import ROOT, run


def submit(folder: Path, *arguments: str) -> None:
    """The job, with nothing of the repository on the path but its package."""
    script = shutil.copy(ROOT / "lifoq_cdk" / "report_job.py", folder)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run(
        Path(sys.executable).with_name("spark-submit"),
        *("--master", "local[2]", "--conf", "spark.ui.enabled=false"),
        *("--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1"),
        *("--py-files", asset.build_report().path, script, *arguments),
        cwd=folder,
        env={**environment, "PYSPARK_PYTHON": sys.executable, "TZ": "UTC"},
    )


@pytest.mark.prove
def test_the_job_reports_on_its_exports(tmp_path, prod):
    exports = tmp_path / "exports"
    lines = [full_line(item(task_id, "PENDING")) for task_id in ("one", "other")]
    Exporter(root=exports).full(lines, at=at(60))
    (job,) = prod.resources("analytics", "AWS::Glue::Job").values()
    slots, about = (job["Properties"]["DefaultArguments"][name] for name in ("--slots", "--about"))

    submit(
        tmp_path,
        *("--JOB_NAME", "report", "--TempDir", "s3://nowhere/"),
        *("--exports", str(exports), "--out", str(tmp_path / "report"), "--slots", slots),
        *("--about", about),
    )

    summary = json.loads((tmp_path / "report" / "summary.json").read_text())
    assert summary["tasks"]["created"] == 2
    assert summary["tasks"]["waiting"] == 2
    page = (tmp_path / "report" / "report.html").read_text()
    assert '<p class="where">prod</p>' in page
    assert "alarm 48\N{NO-BREAK SPACE}min" in page


TOLD = {"--exports": "s3://b/exports/", "--out": "s3://b/reports/", "--slots": "1", "--about": "{}"}


def test_glue_sees_a_failure_where_there_is_one(monkeypatch):
    for status in (None, 0, 1):
        monkeypatch.setattr(sys, "argv", ["job.py", *itertools.chain(*TOLD.items())])
        report = Mock(side_effect=SystemExit(status))
        monkeypatch.setattr(runpy, "run_module", report)
        with pytest.raises(SystemExit) if status else contextlib.nullcontext():
            report_job.main()
        report.assert_called_once_with(
            "lifoq_analytics.report", run_name="__main__", alter_sys=True
        )
        _, exports, *options = sys.argv
        assert [exports, *options] == ["s3://b/exports/", *itertools.chain(*[*TOLD.items()][1:])]


@pytest.mark.parametrize("name", TOLD)
def test_a_job_that_is_not_told_all_says_what_is_missing(monkeypatch, capsys, name):
    told = {one: value for one, value in TOLD.items() if one != name}
    monkeypatch.setattr(sys, "argv", ["job.py", *itertools.chain(*told.items())])
    with pytest.raises(SystemExit):
        report_job.main()
    assert f"the following arguments are required: {name}\n" in capsys.readouterr().err
