"""The Python of an executor that dies once, with its shuffle files, while it judges tasks: what
Spark starts in place of its own (``spark.python.daemon.module``)."""

import os
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.daemon import manager

from lifoq_analytics import passes
from lifoq_analytics.passes import Plan, Tally

EXECUTOR = os.getppid()
HAS_DIED = Path(os.environ["HAS_DIED"])
"""A file, written by the one that does."""
FATAL = 4
"""The share of the tasks in whose middle it dies: others were judged before."""

judge_as_ever = passes._judge


def judge(partition: int, pieces: Sequence[Any], plan: Plan) -> Tally:
    if partition == FATAL and not HAS_DIED.exists():
        HAS_DIED.write_text(str(EXECUTOR))
        for folder in os.environ["SPARK_EXECUTOR_DIRS"].split(os.pathsep):
            shutil.rmtree(folder)
        os.kill(EXECUTOR, signal.SIGKILL)
        time.sleep(60)  # Spark ends this process, too
    return judge_as_ever(partition, pieces, plan)


passes._judge = judge

if __name__ == "__main__":
    manager()
