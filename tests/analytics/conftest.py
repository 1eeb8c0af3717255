"""One Spark session for all tests of the report."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics import analysis, session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["TZ"] = "UTC"
    running = session.start()
    yield running
    running.stop()


Report = Callable[..., dict[str, Any]]


@pytest.fixture
def report(spark: SparkSession, tmp_path: Path) -> Report:
    """Runs a report over folders into ``tmp_path / "out"`` and returns its summary."""

    def run(*paths: Path, **options: Any) -> dict[str, Any]:
        request = analysis.Request(
            paths=[str(path) for path in paths],
            out=str(tmp_path / "out"),
            **options,
        )
        return analysis.Analysis(spark, request, tell=lambda _step: None).run()

    return run
