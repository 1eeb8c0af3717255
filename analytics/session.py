"""Spark: the caller's under ``spark-submit``, else one on this machine."""

import os
import shutil
import sys
from pathlib import Path

from pyspark import SparkConf, SparkContext

from lifoq.basics import cache

from .errors import JavaMissingError


def classes() -> Path:
    """Java's archive of the classes that a report loads, which ``make setup`` builds: with it Java
    starts in half the time, without it all works as well."""
    return cache.folder() / "spark" / "classes.jsa"


def start(*java_options: str) -> SparkContext:
    """Start Spark, with further options for Java, or join the context of ``spark-submit``.

    Raises ``JavaMissingError`` where there is no Java.
    """
    conf = SparkConf().setAppName("lifoq-report")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        if not _java_is_present():
            raise JavaMissingError
        conf.setAll(list(_local(*java_options).items()))
    return SparkContext.getOrCreate(conf)


def _local(*java_options: str) -> dict[str, str]:
    """What ``spark-submit`` would bring along. Nothing listens beyond the loopback device."""
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
        "spark.pyspark.python": sys.executable,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _java_is_present() -> bool:
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
