"""A plugin of pytest: how long each test takes, its parameters together."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

spent: Counter[str] = Counter()


def pytest_runtest_logreport(report: Any) -> None:
    spent[report.nodeid.partition("[")[0]] += report.duration


def pytest_sessionfinish() -> None:
    Path(os.environ["SECONDS_OF_TESTS"]).write_text(json.dumps(spent))
