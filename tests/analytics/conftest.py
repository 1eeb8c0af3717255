"""One Spark session for all tests of the report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from lab import dynamodb_local
from lifoq_analytics import analysis, session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkContext]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", " ".join(dynamodb_local.BRIEF))
        with session.running() as running:
            yield running


class Reporter:
    """Runs a report over folders into ``out`` and returns its summary."""

    def __init__(self, spark: SparkContext, out: Path) -> None:
        self._spark = spark
        self.out = out
        self.steps: list[str] = []

    def __call__(self, *paths: Path, **options: Any) -> dict[str, Any]:
        named = [str(path) for path in paths]
        request = analysis.Request(paths=named, out=str(self.out), **options)
        with session.failures_told("the log"):
            return analysis.Analysis(self._spark, request, tell=self.steps.append).run()


@pytest.fixture
def report(spark, tmp_path) -> Reporter:
    return Reporter(spark, tmp_path / "out")
