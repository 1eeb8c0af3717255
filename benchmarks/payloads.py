"""Payloads as tasks have them: ordinary JSON of about so many bytes, the same in every run."""

import json
import random
from typing import Any


def report(size: int) -> dict[str, Any]:
    """What a device reports: at least ``size`` bytes of compact JSON, with a reading at the most
    beyond them."""
    draw = random.Random(size)
    found: dict[str, Any] = {"device": f"d-{draw.randrange(10**6):06}", "readings": []}
    while length(found) < size:
        number = len(found["readings"])
        found["readings"].append(
            {
                "sensor": f"temperature-{number % 8}",
                "value": round(draw.uniform(-20, 90), 2),
                "at": 1_800_000_000_000 + 250 * number + draw.randrange(250),
                "ok": number % 29 > 0,
            }
        )
    return found


def length(payload: Any) -> int:
    """Bytes of compact JSON."""
    return len(json.dumps(payload, separators=(",", ":")).encode())
