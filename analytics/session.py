"""The Spark session: the caller's under ``spark-submit``, else one on this machine."""

import os
import shutil
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from analytics.errors import JavaMissingError

_REQUIRED: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
}
"""The numbers depend on these, wherever the job runs."""

PARTITION_BYTES: Final = 8 * 1024 * 1024


def start() -> SparkSession:
    """Start Spark, or join the session that ``spark-submit`` has set up.

    Raises ``JavaMissingError`` where there is no Java.
    """
    under_submit = "PYSPARK_GATEWAY_PORT" in os.environ
    if not under_submit and not _java_is_present():
        raise JavaMissingError
    builder = SparkSession.builder.appName("lifoq-report")
    settings = _REQUIRED if under_submit else {**_REQUIRED, **_local()}
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _local() -> dict[str, str]:
    """What ``spark-submit`` would bring along. Nothing listens beyond the loopback device."""
    logging = Path(__file__).absolute().with_name("log4j2.properties").as_uri()
    return {
        "spark.master": "local[*]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        # Spark writes one long method per stage. Java would only ever interpret those of more than
        # 8,000 bytes, at half the speed.
        "spark.driver.extraJavaOptions": (
            f"-XX:-DontCompileHugeMethods -Duser.timezone=UTC -Dlog4j2.configurationFile={logging}"
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def prepare(spark: SparkSession, *, input_bytes: int, skip_corrupt: bool) -> None:
    """Fit the session to the input.

    Partitions follow the data: ``PARTITION_BYTES`` of gzipped export each, so that a partition's
    sort fits into memory at any size, and no fewer than there are cores to work on them.
    ``skip_corrupt``: go on behind the readable part of a file.
    """
    cores = spark.sparkContext.defaultParallelism
    partitions = max(cores, -(-input_bytes // PARTITION_BYTES))
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", skip_corrupt)


def _java_is_present() -> bool:
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
