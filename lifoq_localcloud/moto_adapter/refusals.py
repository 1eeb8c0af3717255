"""Refusals that AWS makes and moto does not: schedules, filters and code that nothing can run with.

They are refused when they are made or changed, in whatever way, and a deployment with one is rolled
back.
"""

import io
import json
import zipfile
from typing import Any, Final

from moto.awslambda.exceptions import InvalidParameterValueException
from moto.awslambda.models import LambdaBackend, LambdaFunction
from moto.scheduler.exceptions import ValidationException
from moto.scheduler.models import EventBridgeSchedulerBackend

from lifoq.schedules.expression import (
    InvalidExpressionError,
    UnsupportedExpressionError,
    parse,
)
from lifoq_localcloud.moto_adapter.patch import replace

_OF_CODE: Final = ("code", "code_bytes", "code_size", "code_sha_256", "code_digest")


def install() -> None:
    """Look at what comes before moto stores it."""
    for name in ("create_schedule", "update_schedule"):
        _look_first(EventBridgeSchedulerBackend, name, _check_schedule)
    for name in ("create_event_source_mapping", "update_event_source_mapping"):
        _look_first(LambdaBackend, name, _check_mapping)
    set_code = LambdaFunction._set_function_code  # noqa: SLF001 - no public way

    def set_function_code(function: LambdaFunction, updated_spec: dict[str, Any]) -> None:
        before = {name: value for name, value in vars(function).items() if name in _OF_CODE}
        before = {**before, "code": dict(function.code)}
        try:
            set_code(function, updated_spec)
            _check_code(function)
        except Exception:
            vars(function).update(before)
            raise

    replace(LambdaFunction, "_set_function_code", set_function_code)


def _look_first(owner: Any, name: str, check: Any) -> None:
    original = getattr(owner, name)

    def changed(backend: Any, *arguments: Any, **named: Any) -> Any:
        check(*arguments, **named)
        return original(backend, *arguments, **named)

    replace(owner, name, changed)


def _check_schedule(
    *, schedule_expression: str, schedule_expression_timezone: str | None, **_: Any
) -> None:
    try:
        parse(schedule_expression, schedule_expression_timezone or "UTC")
    except UnsupportedExpressionError:
        return  # AWS takes it; the inventory names it
    except InvalidExpressionError as error:
        raise ValidationException(str(error)) from error


def _check_mapping(*arguments: Any, **named: Any) -> None:
    spec: dict[str, Any] = named.get("spec") or arguments[-1]
    for one in (spec.get("FilterCriteria") or {}).get("Filters") or []:
        pattern = one.get("Pattern", "{}")
        try:
            found = json.loads(pattern)
        except (ValueError, RecursionError, TypeError):
            found = None
        if not _is_pattern(found):
            raise InvalidParameterValueException(
                f"Invalid filter pattern definition: {pattern} has to be a JSON object of lists, "
                "or of objects of lists."
            )


def _is_pattern(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(inner, list) or _is_pattern(inner) for inner in value.values()
    )


def _check_code(function: LambdaFunction) -> None:
    if "ImageUri" in function.code:
        return
    try:
        zipfile.ZipFile(io.BytesIO(function.code_bytes)).close()
    except zipfile.BadZipFile as error:
        raise InvalidParameterValueException(
            "Could not unzip uploaded file. Please check your file, then try to upload again."
        ) from error
