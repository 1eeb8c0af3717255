"""The report itself, timed.

python -m benchmarks.analytics.with_spark FOLDER OUT
"""

import json
import sys
import time
from pathlib import Path

from lifoq_analytics import analysis, session


def main(folder: Path, out: Path) -> dict[str, object]:
    request = analysis.Request(paths=[str(folder)], out=str(out))
    with session.running() as spark:
        begun = time.perf_counter()
        answers = analysis.Analysis(spark, request, tell=lambda _step: None).run()
        seconds = time.perf_counter() - begun
    wait = answers["wait_seconds"]
    return {
        "processing_seconds": round(seconds, 2),
        "answers": {
            "created": answers["tasks"]["created"],
            "shed": answers["tasks"]["shed"],
            "backlog": answers["backlog"]["max"],
            "wait": [wait["p50"], wait["p95"], wait["p99"]],
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
