"""The Spark job as it is deployed: its script and its package, started by ``spark-submit``."""

import contextlib
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


def test_glue_sees_a_failure_where_there_is_one(monkeypatch):
    arguments = ["--exports", "s3://b/exports/", "--out", "s3://b/reports/"]
    for status in (None, 0, 1):
        monkeypatch.setattr(sys, "argv", ["job.py", *arguments, "--slots", "1", "--about", "{}"])
        monkeypatch.setattr(runpy, "run_module", Mock(side_effect=SystemExit(status)))
        with pytest.raises(SystemExit) if status else contextlib.nullcontext():
            report_job.main()
