"""The naive Spark way to begin: let Spark infer the schema, then read. Only the reading, for
comparison with the report's first steps.

    python -m benchmarks.analytics.with_inference FOLDER OUT
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from analytics import session


def main(folder: Path) -> dict[str, object]:
    spark = SparkSession(session.start())
    begun = time.perf_counter()
    lines = spark.read.options(recursiveFileLookup=True, pathGlobFilter="*.json.gz").json(
        str(folder)
    )
    inferred = time.perf_counter()
    # The inferred structures differ, so that only their leaves can be put together.
    images = ("Item", "NewImage", "OldImage")
    task_id = sf.coalesce(*(sf.col(f"{image}.taskId.S") for image in images))
    enqueued = sf.coalesce(*(sf.col(f"{image}.enqueuedAt.N") for image in images))
    created = lines.groupBy(task_id).agg(sf.max(enqueued)).count()
    return {
        "steps": {
            "inferring": round(inferred - begun, 2),
            "reading": round(time.perf_counter() - inferred, 2),
        },
        "created": created,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
