"""EventBridge Scheduler: what it refuses of a schedule beyond its model.

Expressions and time zones are held against their grammar in ``moto_adapter/refusals.py``.
"""

import json
from datetime import datetime
from typing import Any

from lifoq_localcloud.service_rules.refused import VALIDATION, RefusedError


def check(asked: dict[str, Any]) -> None:
    """Hold a schedule's target, its window and its dates against Scheduler's rules."""
    arn = (asked.get("Target") or {}).get("Arn")
    if isinstance(arn, str) and not arn.startswith("arn:"):
        raise RefusedError(VALIDATION, f"Provided Arn is not in correct format: {arn}")
    _check_target(asked.get("Target") or {})
    window = asked.get("FlexibleTimeWindow") or {}
    minutes = window.get("MaximumWindowInMinutes")
    if window.get("Mode") == "FLEXIBLE" and minutes is None:
        raise RefusedError(
            VALIDATION,
            "MaximumWindowInMinutes is required when FlexibleTimeWindow mode is FLEXIBLE.",
        )
    if window.get("Mode") == "OFF" and minutes is not None:
        raise RefusedError(
            VALIDATION,
            "MaximumWindowInMinutes must not be set when FlexibleTimeWindow mode is OFF.",
        )
    start, end = asked.get("StartDate"), asked.get("EndDate")
    if _is_later(start, end):
        raise RefusedError(VALIDATION, "The StartDate you specify must come before the EndDate.")


def _check_target(target: dict[str, Any]) -> None:
    """Hold what a target is given against Scheduler's rules."""
    text = target.get("Input")
    if isinstance(text, str) and ":aws-sdk:" in str(target.get("Arn")) and not _is_object(text):
        raise RefusedError(
            VALIDATION, "Invalid RequestJson provided. Reason: it is no JSON object."
        )
    of_fifo = isinstance(target.get("Arn"), str) and target["Arn"].endswith(".fifo")
    if of_fifo and not (target.get("SqsParameters") or {}).get("MessageGroupId"):
        raise RefusedError(
            VALIDATION, "MessageGroupId is required when the target is a FIFO queue."
        )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _is_later(start: Any, end: Any) -> bool:
    """True if both are dates of one kind (a template has text), and the first is not earlier."""
    both = isinstance(start, str) and isinstance(end, str)
    both = both or (isinstance(start, datetime) and isinstance(end, datetime))
    return both and start >= end
