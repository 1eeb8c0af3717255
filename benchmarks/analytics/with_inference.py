"""The naive Spark way to begin: let Spark infer the schema, then read. Only the reading, for
comparison with the report's first steps.

    python benchmarks/analytics/with_inference.py FOLDER OUT
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import functions as sf

from analytics import session


def main(folder: Path) -> dict[str, object]:
    spark = session.start()
    begun = time.perf_counter()
    lines = spark.read.options(recursiveFileLookup=True, pathGlobFilter="*.json.gz").json(
        str(folder)
    )
    inferred = time.perf_counter()
    image = sf.coalesce("Item", "NewImage", "OldImage")
    kept = lines.select(image["taskId"]["S"].alias("id"), image.alias("image"))
    created = kept.groupBy("id").agg(sf.max("image.enqueuedAt.N")).count()
    return {
        "steps": {
            "inferring": round(inferred - begun, 2),
            "reading": round(time.perf_counter() - inferred, 2),
        },
        "created": created,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
