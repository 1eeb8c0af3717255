"""Tables of calls in text files: an operation, and below it a row for each call."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def rows(name: str) -> Iterator[tuple[str, list[str], Any]]:
    """Yield of each row its operation, what it says before the call, and the call. ``x*65`` is 65
    times the letter."""
    operation = ""
    for line in Path(__file__).with_name(name).read_text().splitlines():
        if not line.startswith(" "):
            operation = line
            continue
        *told, call = line.strip().split(" | ")
        written_out = re.sub(r"([ax1])\*(\d+)", lambda times: times[1] * int(times[2]), call)
        yield operation, told, json.loads(written_out)
    assert operation, f"{name} is empty"
