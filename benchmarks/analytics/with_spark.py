"""The report itself, timed by its steps, with what went through its shuffles.

python -m benchmarks.analytics.with_spark FOLDER OUT
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from analytics import analysis, session


def main(folder: Path, out: Path) -> dict[str, object]:
    moments: list[tuple[str, float]] = [("start", time.perf_counter())]

    def tell(step: str) -> None:
        # The steps' names count exports and files, which differ from size to size.
        name = " ".join(word for word in step.split() if not word.isdigit())
        moments.append((name, time.perf_counter()))

    spark = session.start()
    request = analysis.Request(paths=[str(folder)], out=str(out))
    answers = analysis.Analysis(spark, request, tell=tell).run()
    tell("end")
    wait = answers["wait_seconds"]
    return {
        "steps": {
            step: round(after - before, 2) for (step, before), (_, after) in pairwise(moments)
        },
        "traffic": {"shuffled_bytes": _shuffled(spark), "written_bytes": _size(out)},
        "answers": {
            "created": answers["tasks"]["created"],
            "shed": answers["tasks"]["shed"],
            "backlog": answers["backlog"]["max"],
            "wait": [wait["p50"], wait["p95"], wait["p99"]],
        },
    }


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet") if file.is_file())


def _shuffled(spark: SparkContext) -> int:
    """Bytes over all stages of the run, as Spark counts them."""
    context: Any = spark
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)  # noqa: SLF001 - no public way
    store = context._jsc.sc().statusStore()  # noqa: SLF001
    stages = store.stageList(None, False, False, no_quantiles, None)  # noqa: FBT003 - Java's
    all_stages = [stages.apply(number) for number in range(stages.size())]
    return sum(int(stage.shuffleWriteBytes()) for stage in all_stages)


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
