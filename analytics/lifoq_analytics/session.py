"""Spark: the caller's under ``spark-submit``, else one on this machine."""

import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Final, TextIO, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j brings no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from lifoq_analytics.errors import JavaMissingError, ReportError, SparkError

_APP: Final = "lifoq-report"
_LONGEST_REASON: Final = 300
_OF_SPARK: Final = (Py4JError, PySparkException, ConnectionError, EOFError)
"""Errors of calls into Java, and of a Java process that is gone."""
_OF_A_TASK: Final = re.compile(r"^.*\(TID \d+\) \([^)]*\): ")
"""The beginning of Java's message where a task failed."""


def classes() -> Path:
    """Java's archive of the classes that a report loads, which ``make setup`` builds: with it Java
    starts in half the time, without it all works as well."""
    from lifoq_project import cache  # noqa: PLC0415 - it is not in the package that runs on AWS

    return cache.folder() / "spark" / "classes.jsa"


@contextmanager
def running(*java_options: str) -> Iterator[SparkContext]:
    """Spark, with further options for Java, or that of ``spark-submit``; stopped in the end, or a
    cluster would take the report for one that failed.

    Raises ReportError for whatever fails in Java or in a worker.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        with failures_told("its log"):
            yield from _until_stopped(SparkContext.getOrCreate(SparkConf().setAppName(_APP)))
    elif not _java_is_present():
        raise JavaMissingError
    else:
        with _log() as log, failures_told(log.name), redirect_stderr(log):
            # Spark's workers run this, and else the python3 of the PATH.
            os.environ["PYSPARK_PYTHON"] = sys.executable
            conf = SparkConf().setAppName(_APP).setAll(list(_local(*java_options).items()))
            told = {"stdout": log, "stderr": log}
            gateway = launch_gateway(conf, told)  # type: ignore[no-untyped-call]  # pyspark's
            interrupted = signal.getsignal(signal.SIGINT)
            spark = SparkContext(conf=conf, gateway=gateway)
            signal.signal(signal.SIGINT, interrupted)  # Spark's own makes a failure of it
            yield from _until_stopped(spark)


def _until_stopped(spark: SparkContext) -> Iterator[SparkContext]:
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _log() -> Iterator[TextIO]:
    """A file for what is said to standard error meanwhile, kept where Spark fails."""
    with tempfile.NamedTemporaryFile("w", prefix=f"{_APP}-", suffix=".log", delete=False) as log:
        kept = False
        try:
            yield cast(TextIO, log)
        except SparkError:
            kept = True
            raise
        finally:
            if not kept:
                Path(log.name).unlink()


@contextmanager
def failures_told(log: str) -> Iterator[None]:
    """The sentence that a worker ended with, or a reason and where to read on, in place of Java's
    account of how it did."""
    try:
        yield
    except _OF_SPARK as error:
        account = str(error).partition("\n\tat ")[0].strip()
        module = re.escape(ReportError.__module__)
        sentence = re.search(rf"^{module}\.\w+: (.*)$", account, re.MULTILINE)
        if sentence is not None:
            raise ReportError(sentence[1]) from error
        reason = _OF_A_TASK.sub("", account.rpartition("\n")[2])
        raise SparkError(reason[:_LONGEST_REASON], log) from error


def _local(*java_options: str) -> dict[str, str]:
    """Return the settings that ``spark-submit`` would bring along. Nothing listens beyond the
    loopback device."""
    logging = Path(__file__).absolute().with_name("log4j2.properties").as_uri()
    archive = classes()
    options = [
        "-Duser.timezone=UTC",
        f"-Dlog4j2.configurationFile={logging}",
        # Java only carries bytes from process to process: what starts quickest is best.
        "-XX:TieredStopAtLevel=1",
        # An archive of classes that no longer fits is left aside without a word.
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
        "-XX:+UseSerialGC",
        *((f"-XX:SharedArchiveFile={archive}",) if archive.exists() else ()),
        *java_options,
    ]
    return {
        "spark.master": "local[*]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _java_is_present() -> bool:
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
