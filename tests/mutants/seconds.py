"""A plugin of pytest: how long each test takes, its parameters together, but for those with a
database where it can do without one."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

spent: Counter[str] = Counter()
with_database: Counter[str] = Counter()


def pytest_runtest_logreport(report: Any) -> None:
    test, _, case = report.nodeid.partition("[")
    dear = "moto" in case or "dynamodb" in case
    (with_database if dear else spent)[test] += report.duration


def pytest_sessionfinish() -> None:
    seconds = {**with_database, **spent}
    Path(os.environ["SECONDS_OF_TESTS"]).write_text(json.dumps(seconds))
