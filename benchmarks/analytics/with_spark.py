"""The report itself, timed by its steps.

python -m benchmarks.analytics.with_spark FOLDER OUT
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

from analytics import analysis, session


def main(folder: Path, out: Path) -> dict[str, object]:
    moments: list[tuple[str, float]] = [("start", time.perf_counter())]

    def tell(step: str) -> None:
        moments.append((step, time.perf_counter()))

    spark = session.start()
    request = analysis.Request(paths=[str(folder)], out=str(out))
    answers = analysis.Analysis(spark, request, tell=tell).run()
    tell("end")
    wait = answers["wait_seconds"]
    return {
        "steps": {
            step: round(after - before, 2) for (step, before), (_, after) in pairwise(moments)
        },
        "created": answers["tasks"]["created"],
        "shed": answers["tasks"]["shed"],
        "backlog": answers["backlog"]["max"],
        "wait": [wait["p50"], wait["p95"], wait["p99"]],
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
