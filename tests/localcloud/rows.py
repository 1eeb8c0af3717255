"""Tables of calls in text files: an operation, and below it a row for each call."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def rows(name: str) -> Iterator[tuple[str, list[str], Any]]:
    """Yield each row: its operation, the columns before the call, and the call. From

        sqs.SendMessage
            InvalidAddress | queue | {"QueueUrl": "x*3"}

    comes ``("sqs.SendMessage", ["InvalidAddress", "queue"], {"QueueUrl": "xxx"})``."""
    operation = ""
    for line in Path(__file__).with_name(name).read_text().splitlines():
        if not line.startswith(" "):
            operation = line
            continue
        *told, call = line.strip().split(" | ")
        written_out = re.sub(r"([ax1ä])\*(\d+)", lambda times: times[1] * int(times[2]), call)
        yield operation, told, json.loads(written_out)
    assert operation, f"{name} is empty"
