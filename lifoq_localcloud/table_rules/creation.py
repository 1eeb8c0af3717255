"""The keys and indexes of a table that is to be created, and what a table is charged by."""

from typing import Any

from lifoq_localcloud.table_rules.refused import RefusedError, invalid


def check(operation: str, request: dict[str, Any]) -> None:
    """Raise RefusedError where keys and indexes do not fit together, or billing and throughput."""
    if operation in {"CreateTable", "UpdateTable"}:
        _check_billing(request)
    if operation != "CreateTable":
        return
    table = request["KeySchema"]
    local = request.get("LocalSecondaryIndexes") or []
    for index in ({"KeySchema": table}, *local, *(request.get("GlobalSecondaryIndexes") or [])):
        names = [part["AttributeName"] for part in index["KeySchema"]]
        if len(names) != len(set(names)):
            raise RefusedError("Invalid KeySchema: Some index key attribute have no definition")
    _check_index_names(request)
    for index in local:
        _check_local(table, index)


def _check_billing(request: dict[str, Any]) -> None:
    if request.get("BillingMode") == "PAY_PER_REQUEST" and request.get("ProvisionedThroughput"):
        raise invalid(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode "
            "is PAY_PER_REQUEST"
        )


def _check_index_names(request: dict[str, Any]) -> None:
    seen = set()
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for index in request.get(kind) or []:
            if index["IndexName"] in seen:
                raise invalid(f"Duplicate index name: {index['IndexName']}")
            seen.add(index["IndexName"])


def _check_local(table: list[dict[str, str]], index: dict[str, Any]) -> None:
    if all(part["KeyType"] != "RANGE" for part in table):
        raise invalid(
            "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )
    own, theirs = index["KeySchema"][0]["AttributeName"], table[0]["AttributeName"]
    if own != theirs:
        raise invalid(
            "Index KeySchema does not have the same leading hash key as table KeySchema for "
            f"index: {index['IndexName']}. index hash key: {own}, table hash key: {theirs}"
        )
