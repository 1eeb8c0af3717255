"""Payloads as tasks have them."""

import json
import random
from typing import Any


def report(size: int) -> dict[str, Any]:
    """Return a device's report, the same in every run: at least ``size`` bytes of compact JSON, and
    at most one reading more."""
    draw = random.Random(size)
    readings: list[dict[str, Any]] = []
    found = {"device": f"d-{draw.randrange(10**6):06}", "readings": readings}
    while len(json.dumps(found, separators=(",", ":"))) < size:
        number = len(readings)
        readings.append(
            {
                "sensor": f"temperature-{number % 8}",
                "value": round(draw.uniform(-20, 90), 2),
                "at": 1_800_000_000_000 + 250 * number + draw.randrange(250),
                "ok": number % 29 > 0,
            }
        )
    return found
