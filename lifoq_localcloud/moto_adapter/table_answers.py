"""Answers of moto's DynamoDB that differ from DynamoDB's own, mended.

The order of tables, tags that are set again, and what stays the same in an update: a throughput,
TTL. Operations on items do not come here (``item_requests``).
"""

from typing import Any

from moto.dynamodb.exceptions import MockValidationException
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import LimitedSizeDict

from lifoq_localcloud.moto_adapter.patch import replace


def install() -> None:
    """Put this module's answers in place of moto's."""
    replace(LimitedSizeDict, "__setitem__", dict.__setitem__)
    _list_tables_by_name()
    _set_tags_anew()
    _refuse_same_throughput()
    _switch_ttl_once()


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


def _switch_ttl_once() -> None:
    """Refuse to switch TTL to what it is, as DynamoDB does, and to name another attribute."""
    original = DynamoDBBackend.update_time_to_live

    def update_time_to_live(backend: DynamoDBBackend, name: str, spec: dict[str, Any]) -> None:
        known = backend.get_table(name).ttl  # ResourceNotFoundException
        on = known["TimeToLiveStatus"] == "ENABLED"
        if bool(spec["Enabled"]) == on:
            raise MockValidationException(
                f"TimeToLive is already {'enabled' if on else 'disabled'}"
            )
        if on and spec["AttributeName"] != known["AttributeName"]:
            raise MockValidationException(
                "TimeToLive is active on a different AttributeName: current AttributeName is "
                f"{known['AttributeName']}"
            )
        original(backend, name, spec)

    replace(DynamoDBBackend, "update_time_to_live", update_time_to_live)
