"""Answers of moto's DynamoDB that differ from DynamoDB's own, mended.

Functions of conditions, projections of list elements, the metrics of item collections, the order of
tables, tags that are set again, and a throughput that would stay the same. How much fits into an
item is judged before (``table_rules.values``).
"""

from typing import Any, Final

from moto.dynamodb import responses
from moto.dynamodb.comparisons import FuncBeginsWith, FuncSize
from moto.dynamodb.exceptions import MockValidationException
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import LimitedSizeDict
from moto.dynamodb.responses import DynamoHandler, ProjectionExpressionParser

from lifoq_localcloud.moto_adapter.patch import replace

_MOST_IN_A_TRANSACTION: Final = 100
_STARTS = {"S", "B"}
_WITH_SIZE = {"S", "B", "SS", "NS", "BS", "L", "M"}


def install() -> None:
    """Put this module's answers in place of moto's."""
    replace(responses, "TRANSACTION_MAX_ITEMS", _MOST_IN_A_TRANSACTION)
    replace(FuncBeginsWith, "expr", _begins_with)
    replace(FuncSize, "expr", _size)
    replace(LimitedSizeDict, "__setitem__", dict.__setitem__)
    _list_tables_by_name()
    _set_tags_anew()
    _project_list_elements()
    _tell_collections()
    _refuse_same_throughput()
    _name_missing_table()


def _begins_with(function: FuncBeginsWith, item: Any) -> bool:
    kind = function.attr.get_type(item)
    if kind not in _STARTS or function.substr.get_type(item) != kind:
        return False
    whole, start = function.attr.expr(item), function.substr.expr(item)
    return bool(_plain(whole).startswith(_plain(start)))


def _size(function: FuncSize, item: Any) -> int | None:
    """Return the size of a value; None, which is equal to nothing, of a number or of no value."""
    if function.attr.get_type(item) not in _WITH_SIZE:
        return None
    return len(_plain(function.attr.expr(item)))


def _plain(value: Any) -> Any:
    """Return the bytes of a binary value, which moto keeps as base64 or as bytes."""
    return getattr(value, "value", value)


def _list_tables_by_name() -> None:
    def list_tables(
        backend: DynamoDBBackend, limit: int, after: str | None
    ) -> tuple[list[str], str | None]:
        names = [name for name in sorted(backend.tables) if not after or name > after]
        shown = names[:limit]
        return shown, shown[-1] if len(shown) < len(names) else None

    replace(DynamoDBBackend, "list_tables", list_tables)


def _set_tags_anew() -> None:
    original = DynamoDBBackend.tag_resource

    def tag_resource(backend: DynamoDBBackend, arn: str, tags: dict[str, str]) -> None:
        backend.untag_resource(arn, list(tags))
        original(backend, arn, tags)

    replace(DynamoDBBackend, "tag_resource", tag_resource)


def _project_list_elements() -> None:
    """Understand ``#names[0]``: moto takes the brackets for a part of the name."""
    original = ProjectionExpressionParser.parse

    def parse(parser: ProjectionExpressionParser) -> list[list[str]]:
        paths = original(parser)
        for path in paths:
            for place, part in enumerate(path):
                name, bracket, rest = part.partition("[")
                if bracket and name in parser.expression_attribute_names:
                    parser.expr_attr_names_found.append(name)
                    path[place] = f"{parser.expression_attribute_names[name]}[{rest}"
        return paths

    replace(ProjectionExpressionParser, "parse", parse)


def _tell_collections() -> None:
    """Answer ``ReturnItemCollectionMetrics=SIZE`` for tables with a local index."""
    for name in ("put_item", "update_item", "delete_item"):
        replace(DynamoHandler, name, _with_collection(getattr(DynamoHandler, name)))


def _with_collection(original: Any) -> Any:
    def answered(handler: DynamoHandler) -> Any:
        asked = handler.body
        action = original(handler)
        table = handler.dynamodb_backend.get_table(asked["TableName"])
        if asked.get("ReturnItemCollectionMetrics") == "SIZE" and table.indexes:
            name = table.hash_key_attr
            action.result["ItemCollectionMetrics"] = {
                "ItemCollectionKey": {name: (asked.get("Key") or asked["Item"])[name]},
                "SizeEstimateRangeGB": [0.0, 1.0],
            }
        return action

    return answered


def _refuse_same_throughput() -> None:
    original = DynamoDBBackend.update_table

    def update_table(backend: DynamoDBBackend, *arguments: Any, **named: Any) -> Any:
        asked = named.get("throughput")
        table = backend.get_table(named["name"])
        units = ("ReadCapacityUnits", "WriteCapacityUnits")
        if (
            asked
            and table.billing_mode == "PROVISIONED"
            and all(asked[unit] == table.throughput[unit] for unit in units)
        ):
            current = ". ".join(
                f"Current {unit} provisioned for the table: {asked[unit]}. "
                f"Requested {unit}: {asked[unit]}"
                for unit in units
            )
            raise MockValidationException(
                "The provisioned throughput for the table will not change. The requested value "
                f"equals the current value. {current}."
            )
        return original(backend, *arguments, **named)

    replace(DynamoDBBackend, "update_table", update_table)


def _name_missing_table() -> None:
    """Refuse TTL of a table that is not there as all other calls do."""
    original = DynamoDBBackend.update_time_to_live

    def update_time_to_live(backend: DynamoDBBackend, name: str, spec: dict[str, Any]) -> None:
        backend.get_table(name)  # ResourceNotFoundException
        original(backend, name, spec)

    replace(DynamoDBBackend, "update_time_to_live", update_time_to_live)
