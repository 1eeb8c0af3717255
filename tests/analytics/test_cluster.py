"""The report on a cluster: three executors on this machine, each a process of its own."""

import json
import os
import random
import shutil
import sys
from pathlib import Path

import pyspark
import pytest

from lifoq_analytics.times import from_iso
from tests.analytics import histories, truth
from tests.analytics.exportfiles import Exporter
from tests.analytics.histories import SECOND, START
from tests.analytics.test_histories import assert_summary
from tests.infrastructure.commands import ROOT, run


@pytest.mark.prove
def test_an_executor_that_dies_while_it_judges_takes_nothing_from_the_answers(tmp_path):
    exporter, end = Exporter(root=tmp_path / "exports"), START + 3600 * SECOND
    sizes = {f"type {number}": 30 for number in range(20)}
    lives = histories.write(random.Random(0), exporter, sizes=sizes, end=end)
    home = tmp_path / "spark"  # where executors leave their logs
    home.mkdir()
    for part in ("bin", "jars"):
        (home / part).symlink_to(Path(pyspark.__file__).parent / part)
    has_died = tmp_path / "has-died"
    settings = {
        "spark.master": "local-cluster[3,1,1024]",
        "spark.default.parallelism": "12",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(tmp_path / "local"),
        "spark.python.daemon.module": "tests.analytics.dying",
        "spark.executorEnv.HAS_DIED": str(has_died),
    }
    run(
        Path(sys.executable).with_name("spark-submit"),
        *(f"--conf={name}={value}" for name, value in settings.items()),
        shutil.copy(ROOT / "lifoq_cdk" / "report_job.py", tmp_path),
        *("--exports", tmp_path / "exports", "--out", tmp_path / "out"),
        *("--slots", "1", "--about", "{}"),
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        cwd=tmp_path,
    )

    assert has_died.exists()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    as_of = from_iso(summary["as_of"])
    assert_summary(summary, [truth.fate(life, as_of) for life in lives], as_of)
