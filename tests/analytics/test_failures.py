"""Spark's failures in a sentence, the log that is kept for them, and whether there is Java."""

from contextlib import suppress
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lifoq_analytics import session
from lifoq_analytics.errors import ReportError, SparkError, StorageError

TRACE = "\n\tat org.apache.spark.Worker.run(Worker.scala:7)\nlifoq_analytics.errors.XError: not it"
ENDED = "Job aborted.\nLost task 0.0 in stage 1.0 (TID 7) (host executor driver): "


@pytest.mark.parametrize(
    ("account", "told"),
    [
        (
            f"Traceback:\nlifoq_analytics.errors.StorageError: s3://x cannot be reached.{TRACE}",
            "s3://x cannot be reached.",
        ),
        (f"{ENDED}ExitCode: 137{TRACE}", "Spark failed (ExitCode: 137); the log tells more."),
        (
            "no lifoq_analytics.errors",
            "Spark failed (no lifoq_analytics.errors); the log tells more.",
        ),
        ("x" * 301, f"Spark failed ({'x' * 300}); the log tells more."),
    ],
)
@pytest.mark.parametrize("kind", [Py4JError, PySparkException, ConnectionError, EOFError])
def test_what_fails_in_spark_is_a_sentence_of_ours_or_its_reason_and_where_to_read_on(
    account, told, kind
):
    with pytest.raises(ReportError) as raised, session.failures_told("the log"):
        raise kind(account)
    assert str(raised.value) == told
    assert isinstance(raised.value, SparkError) is told.startswith("Spark failed")


@pytest.mark.parametrize(
    ("failure", "kept"),
    [(None, False), (StorageError("s3://x", "denied"), False), (SparkError("ended", "log"), True)],
)
def test_the_log_is_kept_where_spark_failed_and_else_removed(failure, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(session.tempfile, "tempdir", str(tmp_path))
    with suppress(ReportError), session._log() as log:
        log.write("said")
        if failure is not None:
            raise failure
    assert [path.read_text() for path in tmp_path.iterdir()] == ["said"] * kept
    assert Path(log.name).parent == tmp_path


@pytest.mark.parametrize("home", [True, False])
@pytest.mark.parametrize("there", [True, False])
def test_java_is_looked_for_in_its_home_or_else_on_the_path(home, there, tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    if there:
        java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path) if home else "")
    monkeypatch.setenv("PATH", str(tmp_path / "none" if home else java.parent))
    assert session._java_is_present() is there
