"""Spark's session: its start, the message where it fails, and its end."""

import os
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from lifoq_analytics import session
from lifoq_analytics.errors import ReportError, SparkError


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        (lambda _: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda _: os._exit(1), "Python worker exited unexpectedly"),
    ],
    ids=["an exception", "a crash"],
)
def test_what_nobody_foresaw_is_told_in_a_sentence_that_names_the_log(fails, reason, spark):
    with pytest.raises(SparkError) as told, session.failures_told("the.log"):
        spark.parallelize([0], 1).map(fails).collect()
    assert reason in str(told.value)
    assert "; the.log tells more" in str(told.value)
    assert "\n" not in str(told.value)


def test_java_that_does_not_start_is_told_with_the_log_which_is_kept(tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho I am no Java >&2\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(session.tempfile, "tempdir", str(tmp_path))

    exited = pytest.raises(SparkError, match="Java gateway process exited")
    with exited as told, session.running():
        pass

    assert "I am no Java" in Path(told.value.log).read_text()


@pytest.mark.parametrize("failure", [None, ReportError("an export is damaged")])
def test_spark_is_stopped_whatever_becomes_of_the_report(failure, monkeypatch):
    stops: list[str] = []
    cluster = SimpleNamespace(stop=lambda: stops.append("stop"))
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr(SparkContext, "getOrCreate", lambda _conf: cluster)
    monkeypatch.setattr(session, "SparkConf", lambda: SimpleNamespace(setAppName=lambda name: name))

    with suppress(ReportError), session.running():
        if failure is not None:
            raise failure
    assert stops == ["stop"]
