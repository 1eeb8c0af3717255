"""Parameters against the service's model: required, length, range and enum.

All that is wrong is told at once, in the order of the model, as DynamoDB does:
``2 validation errors detected: Value null at 'key' failed to satisfy constraint: Member must not be
null; Value 'X' at 'returnValues' failed …``. A table's name that is wrong is told alone.
"""

import base64
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.session import get_session

from lifoq_localcloud.table_rules.refused import RefusedError

_NAME = re.compile(r"[a-zA-Z0-9_.-]+")
_MOST_LETTERS: Final = 255

_ENUM_ORDER: Final = {
    "ReturnConsumedCapacity": "INDEXES, TOTAL, NONE",
    "ReturnItemCollectionMetrics": "SIZE, NONE",
    "ReturnValue": "ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW",
    "ScalarAttributeType": "B, N, S",
    "Select": "SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES",
}
"""DynamoDB lists the values of some enums in an order that its model does not have."""

_SHORT: Final = {"Query", "BatchGetItem"}
"""Operations that tell a length or a range without the value, and with the parameter's own name."""

_JSON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "blob": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "double": (int, float),
    "timestamp": (int, float),
}
"""The types of JSON for the kinds of shapes."""


@cache
def _service() -> ServiceModel:
    return get_session().get_service_model("dynamodb")


def _operation(name: str) -> OperationModel | None:
    return _service().operation_model(name) if name in _service().operation_names else None


def check(operation: str, request: dict[str, Any]) -> None:
    """Raise RefusedError for parameters that the model does not allow."""
    model = _operation(operation)
    if model is None or not isinstance(model.input_shape, StructureShape):
        return
    if operation in {"BatchGetItem", "BatchWriteItem"} and not request.get("RequestItems"):
        raise RefusedError(f"The requestItems parameter is required for {operation}")
    if "TableName" in model.input_shape.members:
        _check_table_name(operation, request.get("TableName"))
    found = list(_wrong_members(model.input_shape, request, "", short=operation in _SHORT))
    if found:
        count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected"
        raise RefusedError(f"{count}: {'; '.join(found)}")


def _check_table_name(operation: str, name: Any) -> None:
    if name is None and operation == "CreateTable":
        raise RefusedError(
            "The parameter 'TableName' is required but was not present in the request"
        )
    if not isinstance(name, str) or name.startswith("arn:"):
        return
    least = 3 if operation == "CreateTable" else 1
    if len(name) < least:
        wrong = f"have length greater than or equal to {least}"
    elif len(name) > _MOST_LETTERS:
        wrong = f"have length less than or equal to {_MOST_LETTERS}"
    elif not _NAME.fullmatch(name):
        wrong = f"satisfy regular expression pattern: {_NAME.pattern}"
    else:
        return
    raise RefusedError(
        f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy "
        f"constraint: Member must {wrong}"
    )


def _wrong(shape: Shape, value: Any, path: str, *, short: bool) -> Iterator[str]:
    """Yield a sentence for each constraint that the value breaks."""
    _check_type(shape, value)
    if (told := _outside(shape, value)) is not None:
        yield _sentence(shape, value, path, told, short=short)
    elif isinstance(shape, StructureShape) and isinstance(value, dict):
        yield from _wrong_members(shape, value, f"{path}.", short=short)
    elif isinstance(shape, ListShape) and isinstance(value, list):
        for place, one in enumerate(value, start=1):
            yield from _wrong(shape.member, one, f"{path}.{place}.member", short=short)
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        yield from _wrong_entries(shape, value, path, short=short)
    elif (values := getattr(shape, "enum", None)) and value not in values:
        listed = _ENUM_ORDER.get(shape.name) or ", ".join(values)
        told = f"Member must satisfy enum value set: [{listed}]"
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: {told}"


def _check_type(shape: Shape, value: Any) -> None:
    """Raise RefusedError for JSON of another type than the parameter has."""
    wanted = _JSON_TYPES[shape.type_name]
    fits = isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))
    if fits and shape.type_name == "blob":
        try:
            base64.b64decode(value, validate=True)
        except ValueError:
            fits = False
    if not fits:
        raise RefusedError(
            f"Unexpected value type in payload: {shape.name} takes no {type(value).__name__}",
            code="SerializationException",
        )


def _wrong_members(
    shape: StructureShape, given: dict[str, Any], prefix: str, *, short: bool
) -> Iterator[str]:
    for name, member in shape.members.items():
        path = f"{prefix}{name[0].lower()}{name[1:]}"
        value = given.get(name)
        if value is not None:
            yield from _wrong(member, value, path, short=short)
        elif name in shape.required_members:
            told = "failed to satisfy constraint: Member must not be null"
            yield f"Value null at '{path}' {told}"


def _wrong_entries(
    shape: MapShape, given: dict[str, Any], path: str, *, short: bool
) -> Iterator[str]:
    bounds = shape.value.metadata
    for key, value in given.items():
        if value is None:
            told = "failed to satisfy constraint: Member must not be null"
            yield f"Value null at '{path}.{key}.member' {told}"
            continue
        # The length of a list in a map is told of the map.
        if isinstance(shape.value, ListShape) and _outside(shape.value, value) is not None:
            told = (
                f"Map value must satisfy constraint: [Member must have length less than or equal "
                f"to {bounds['max']}, Member must have length greater than or equal to "
                f"{bounds['min']}]"
            )
            yield f"Value '{_shown(shape, given)}' at '{path}' failed to satisfy constraint: {told}"
        else:
            yield from _wrong(shape.value, value, f"{path}.{key}.member", short=short)


def _outside(shape: Shape, value: Any) -> str | None:
    """Return what the value must have, if its length or its amount is outside of the bounds."""
    least = shape.metadata.get("min")
    most = shape.metadata.get("max")
    if isinstance(value, str | list | dict):
        size, noun = len(value), "length"
    elif isinstance(value, int) and not isinstance(value, bool):
        size, noun = value, "value"
    else:
        return None
    if least is not None and size < least:
        return f"Member must have {noun} greater than or equal to {least}"
    if most is not None and size > most:
        return f"Member must have {noun} less than or equal to {most}"
    return None


def _sentence(shape: Shape, value: Any, path: str, told: str, *, short: bool) -> str:
    if short:
        whole = ".".join(part[:1].upper() + part[1:] for part in path.split("."))
        whole = whole.replace(".Member.", ".member.")
        return f"Value at '{whole}' failed to satisfy constraint: {told}"
    shown = _shown(shape, value)
    return f"Value '{shown}' at '{path}' failed to satisfy constraint: {told}"


def _shown(shape: Shape, value: Any) -> str:
    """Return a value as DynamoDB prints it: ``[KeySchemaElement(attributeName=pk, …)]``."""
    if isinstance(shape, ListShape) and isinstance(value, list):
        return f"[{', '.join(_shown(shape.member, one) for one in value)}]"
    if isinstance(shape, MapShape) and isinstance(value, dict):
        shown = (f"{key}={_shown(shape.value, one)}" for key, one in value.items())
        return f"{{{', '.join(shown)}}}"
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        members = (
            f"{name[0].lower()}{name[1:]}={_shown(shape.members[name], one)}"
            for name, one in value.items()
            if name in shape.members
        )
        return f"{shape.name}({', '.join(members)})"
    return str(value)
