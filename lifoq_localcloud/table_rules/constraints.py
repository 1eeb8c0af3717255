"""Parameters against DynamoDB's model: JSON types, required, length, range and enum.

All that is wrong is told at once, in the order of the model, as DynamoDB does. A table's name that
is wrong is told alone, and so is JSON of another type than the parameter has.
"""

import base64
import re
from functools import cache
from typing import Any, Final

from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.session import get_session

from lifoq_localcloud.basics.constraints import Constraints
from lifoq_localcloud.table_rules.refused import RefusedError

_NAME = re.compile(r"[a-zA-Z0-9_.-]+")
_MOST_LETTERS: Final = 255

_ENUM_ORDERS: Final = {
    "ReturnConsumedCapacity": "INDEXES, TOTAL, NONE",
    "ReturnItemCollectionMetrics": "SIZE, NONE",
    "ReturnValue": "ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW",
    "ScalarAttributeType": "B, N, S",
    "Select": "SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES",
}
"""DynamoDB lists the values of some enums in an order that its model does not have."""

_LONG: Final = Constraints(patterns=False, enum_orders=_ENUM_ORDERS)
_SHORT: Final = Constraints(patterns=False, enum_orders=_ENUM_ORDERS, short=True)
_SHORT_OPERATIONS: Final = {"Query", "BatchGetItem"}
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
    _check_types(model.input_shape, request)
    words = _SHORT if operation in _SHORT_OPERATIONS else _LONG
    if (told := words.told(model.input_shape, request)) is not None:
        raise RefusedError(told)


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


def _check_types(shape: Shape, value: Any) -> None:
    """Raise RefusedError for JSON of another type than the parameter has, at any depth.

    Take out what DynamoDB does not look at: names that it does not know, and what is null.
    """
    _check_type(shape, value)
    if isinstance(shape, StructureShape):
        for name in [*value]:
            if name not in shape.members or value[name] is None:
                del value[name]
            else:
                _check_types(shape.members[name], value[name])
    elif isinstance(shape, ListShape):
        for one in value:
            _check_types(shape.member, one)
    elif isinstance(shape, MapShape):
        for one in value.values():
            if one is not None:
                _check_types(shape.value, one)


def _check_type(shape: Shape, value: Any) -> None:
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
