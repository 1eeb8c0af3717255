"""EventBridge: what it refuses of rules and of events."""

import json
import re
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import VALIDATION, RefusedError

MOST_PATTERN_LETTERS: Final = 4_096
MOST_ENTRIES_BYTES: Final = 1_048_576
"""The most of one PutEvents
(https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html)."""
MATCHES: Final = frozenset(
    {
        *("prefix", "suffix", "anything-but", "numeric", "cidr", "exists", "equals-ignore-case"),
        "wildcard",
    }
)
"""The operators that an object within a list may have
(https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html)."""
_COMPARISONS: Final = frozenset({"<", "<=", "=", ">", ">="})
_RATE: Final = re.compile(r"rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)")


def check(asked: dict[str, Any]) -> None:
    """Hold a rule against EventBridge's grammar of patterns and rates."""
    pattern, schedule = asked.get("EventPattern"), asked.get("ScheduleExpression")
    if not pattern and not schedule:
        raise RefusedError(
            VALIDATION, "Parameter(s) EventPattern or ScheduleExpression must be specified."
        )
    if (
        isinstance(schedule, str)
        and not schedule.startswith("cron(")
        and not (_RATE.fullmatch(schedule))
    ):
        raise RefusedError(VALIDATION, "Parameter ScheduleExpression is not valid.")
    if isinstance(pattern, str):
        if len(pattern) > MOST_PATTERN_LETTERS:
            raise RefusedError(
                VALIDATION,
                "1 validation error detected: Value at 'eventPattern' failed to satisfy "
                f"constraint: Member must have length less than or equal to {MOST_PATTERN_LETTERS}",
            )
        try:
            pattern = json.loads(pattern)
        except (ValueError, RecursionError) as error:
            raise _not_valid(f"Malformed JSON: {error}") from error
    if pattern:
        _check_object(pattern)


def check_entries(asked: dict[str, Any]) -> None:
    """Hold the size of all events of a call together against the bound."""
    size = sum(
        len(str(value).encode())
        for entry in asked.get("Entries") or []
        for name, value in entry.items()
        if name in {"Source", "Detail", "DetailType"}
    )
    if size > MOST_ENTRIES_BYTES:
        raise RefusedError(
            VALIDATION, "Total size of the entries in the request is over the limit."
        )


def refused_entry(event: dict[str, Any]) -> dict[str, str] | None:
    """Return the answer for an event that PutEvents does not take; None for all others.

    What is missing in an event, moto says.
    """
    if str(event.get("Source")).lower().startswith("aws."):
        return {
            "ErrorCode": "NotAuthorizedForSourceException",
            "ErrorMessage": "Not authorized for the source.",
        }
    detail = event.get("Detail")
    if detail and not (_is_json(detail) and isinstance(json.loads(detail), dict)):
        return {"ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed."}
    return None


def check_targets(asked: dict[str, Any]) -> None:
    """Refuse targets with two inputs, or with an input that is no JSON."""
    for target in asked.get("Targets") or []:
        given = [name for name in ("Input", "InputPath", "InputTransformer") if target.get(name)]
        if len(given) > 1:
            raise RefusedError(
                VALIDATION,
                "Only one of Input, InputPath, or InputTransformer must be provided for target "
                f"{target.get('Id')}.",
            )
        if target.get("Input") is not None and not _is_json(target["Input"]):
            raise RefusedError(
                VALIDATION, f"JSON syntax error in input for target {target.get('Id')}."
            )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _not_valid(reason: str) -> RefusedError:
    return RefusedError(
        "InvalidEventPatternException", f"Event pattern is not valid. Reason: {reason}"
    )


def _check_object(pattern: Any) -> None:
    if not isinstance(pattern, dict):
        raise _not_valid("Filter is not an object")
    for name, found in pattern.items():
        if name == "$or" and isinstance(found, list):
            for one in found:
                _check_object(one)
        elif isinstance(found, dict):
            if _is_function(found):
                continue
            _check_object(found)
        elif not isinstance(found, list):
            raise _not_valid(f'"{name}" must be an object or an array')
        elif not found:
            raise _not_valid("Empty arrays are not allowed")
        else:
            for one in found:
                _check_match(one)


def _is_function(value: dict[str, Any]) -> bool:
    """True for what only a deployment knows: ``{"Ref": …}`` or ``{"Fn::GetAtt": …}``."""
    return len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::"))


def _check_match(match: Any) -> None:
    if isinstance(match, list):
        raise _not_valid("Only scalars and match objects may stand in an array")
    if not isinstance(match, dict) or _is_function(match):
        return
    if len(match) != 1:
        raise _not_valid("Only one key allowed in match expression")
    kind, bound = next(iter(match.items()))
    if kind not in MATCHES:
        raise _not_valid(f"Unrecognized match type {kind}")
    if kind == "numeric":
        _check_numeric(bound)
    if kind == "exists" and not isinstance(bound, bool):
        raise _not_valid("exists match pattern must be either true or false.")


def _check_numeric(bound: Any) -> None:
    """Hold ``[">", 0, "<=", 5]`` against the grammar: a comparison, a number, and so on."""
    fits = isinstance(bound, list) and len(bound) in {2, 4}
    fits = fits and all(
        one in _COMPARISONS if place % 2 == 0 else isinstance(one, int | float)
        for place, one in enumerate(bound)
    )
    if not fits:
        raise _not_valid(f"Bad numeric match: {json.dumps(bound)}")
