"""A queue's table in DynamoDB: renders changes and spans as DynamoDB's calls, and DynamoDB's
answers as lifoq's. All of lifoq's knowledge of that API is here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

import boto3
import botocore
from boto3.dynamodb.types import TypeDeserializer
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from lifoq.change import (
    AtMost,
    Change,
    Condition,
    ConditionFailed,
    Equals,
    Exists,
    GreaterThan,
    Item,
    Not,
    StatusIs,
    TransactionRefused,
    UnfitAttribute,
    Value,
)
from lifoq.errors import ItemTooLarge, QueueMisconfigured, StoreUnavailable
from lifoq.schema import HASH_KEY, STATUS_CREATED_INDEX, Attribute, table_definition
from lifoq.table import MAX_BATCH_GET, Count, Cursor, Page, Span

UNCONFIRMED: Final = frozenset(
    {
        "InternalServerError",
        "InternalFailure",
        "ServiceUnavailable",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""Codes after which the same call may succeed
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)."""

FOREIGN_KEYS: Final = (
    "key element does not match the schema",
    "missing the key",
    "required keys was not given",
)
"""Of messages with which DynamoDB refuses an item or key, as its table has other keys."""

NO_ROOM: Final = ("38 digits", "38 significant", "number overflow")
"""Of messages with which DynamoDB refuses to add to a number that it cannot hold."""

DENIED: Final = frozenset(
    {"AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException"}
)

PATIENT: Final = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=320,  # attempts claim and settle in threads of their own
    parameter_validation=False,  # DynamoDB validates; here it would take a sixth of a call's time
    # Without one, botocore puts its own together for each request: a tenth of the processor time.
    user_agent=f"lifoq boto3/{boto3.__version__} botocore/{botocore.__version__}",
)
"""For calls that may be repeated: about 25 s in the worst case, less than the default lease."""
ONCE: Final = PATIENT.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
"""For calls that must not be: an unconditional batch."""


class DynamoTable:
    def __init__(self, *, name: str, client: Any, once: Any) -> None:
        """``client`` repeats a call that failed; ``once`` must not. ``connect`` makes both."""
        self.name = name
        self._client = client
        self._once = once

    @classmethod
    def connect(cls, name: str, **client_arguments: Any) -> "DynamoTable":
        """The table of this name. ``client_arguments`` (region_name, endpoint_url …) go to
        ``boto3.client``; without them, boto3's own configuration holds."""

        def client(config: Config) -> Any:
            return boto3.client("dynamodb", config=config, **client_arguments)

        return cls(name=name, client=client(PATIENT), once=client(ONCE))

    def get(self, task_id: str) -> Item | None:
        with self._translated("GetItem"):
            answer = self._client.get_item(
                TableName=self.name, Key=_key(task_id), ConsistentRead=True
            )
        return _plain(answer["Item"]) if "Item" in answer else None

    def get_many(self, task_ids: Sequence[str]) -> list[Item]:
        items: list[Item] = []
        asked = list(dict.fromkeys(task_ids))
        for at in range(0, len(asked), MAX_BATCH_GET):
            request: Any = {
                self.name: {
                    "Keys": [_key(i) for i in asked[at : at + MAX_BATCH_GET]],
                    "ConsistentRead": True,
                }
            }
            while request:
                with self._translated("BatchGetItem"):
                    answer = self._client.batch_get_item(RequestItems=request)
                found = answer["Responses"].get(self.name, [])
                items.extend(_plain(item) for item in found)
                request = answer.get("UnprocessedKeys")
                if request and not found:
                    raise StoreUnavailable("DynamoDB left a whole BatchGetItem unprocessed")
        return items

    def put(self, item: Item) -> None:
        with self._translated("PutItem"):
            self._client.put_item(**self._put(item))

    def put_batch(self, items: Sequence[Item]) -> list[Item]:
        with self._translated("BatchWriteItem"):
            answer = self._once.batch_write_item(
                RequestItems={self.name: [{"PutRequest": {"Item": _typed(i)}} for i in items]}
            )
        left = answer.get("UnprocessedItems", {}).get(self.name, [])
        return [_plain(request["PutRequest"]["Item"]) for request in left]

    def update(self, task_id: str, change: Change) -> None:
        with self._translated("UpdateItem"):
            self._client.update_item(**self._update(task_id, change))

    def update_and_get(self, task_id: str, change: Change) -> Item:
        with self._translated("UpdateItem"):
            answer = self._client.update_item(
                **self._update(task_id, change), ReturnValues="ALL_NEW"
            )
        return _plain(answer["Attributes"])

    def update_and_put(self, task_id: str, change: Change, items: Sequence[Item]) -> None:
        actions = [
            {"Update": self._update(task_id, change)},
            *({"Put": self._put(item)} for item in items),
        ]
        with self._translated("TransactWriteItems"):
            try:
                self._client.transact_write_items(TransactItems=actions)
            except self._client.exceptions.TransactionCanceledException as error:
                raise _refusal(error, items) from error

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        request = self._query(span, newest_first=newest_first, limit=limit)
        if start is not None:
            request["ExclusiveStartKey"] = _typed(start)
        with self._translated("Query"):
            answer = self._client.query(**request)
        last = answer.get("LastEvaluatedKey")
        return Page(
            rows=tuple(_plain(row) for row in answer["Items"]),
            next=_plain(last) if last else None,
        )

    def count(self, span: Span, *, cap: int) -> Count:
        found = read = 0
        request = self._query(span, newest_first=True, limit=cap) | {"Select": "COUNT"}
        while True:
            with self._translated("Query"):
                answer = self._client.query(**request)
            found += answer["Count"]
            read += answer["ScannedCount"]
            last = answer.get("LastEvaluatedKey")
            if not last or read >= cap:
                return Count(value=found, capped=bool(last))
            request |= {"ExclusiveStartKey": last, "Limit": cap - read}

    def check(self) -> None:
        with self._translated("DescribeTable"):
            there = self._client.describe_table(TableName=self.name)["Table"]
        needed = table_definition(self.name)
        if there["KeySchema"] != needed["KeySchema"]:
            raise QueueMisconfigured(
                f"table {self.name!r} has the keys {_keys(there)}, a queue's has {_keys(needed)}: "
                "name the queue's own table"
            )
        indexes = {index["IndexName"]: index for index in there.get("GlobalSecondaryIndexes", [])}
        for index in needed["GlobalSecondaryIndexes"]:
            name = index["IndexName"]
            if name not in indexes:
                raise QueueMisconfigured(f"table {self.name!r} has no index {name!r}: deploy it")
            if indexes[name]["KeySchema"] != index["KeySchema"]:
                raise QueueMisconfigured(
                    f"index {name!r} of table {self.name!r} has the keys {_keys(indexes[name])}, "
                    f"a queue's has {_keys(index)}: deploy it anew"
                )
            projected = set(indexes[name]["Projection"].get("NonKeyAttributes", ()))
            missing = set(index["Projection"].get("NonKeyAttributes", ())) - projected
            if missing and indexes[name]["Projection"]["ProjectionType"] != "ALL":
                raise QueueMisconfigured(
                    f"index {name!r} of table {self.name!r} does not project "
                    f"{', '.join(sorted(missing))}: deploy it anew"
                )

    def _put(self, item: Item) -> dict[str, Any]:
        return {
            "TableName": self.name,
            "Item": _typed(item),
            "ConditionExpression": "attribute_not_exists(#id)",
            "ExpressionAttributeNames": {"#id": HASH_KEY.value},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _update(self, task_id: str, change: Change) -> dict[str, Any]:
        expression = _Expression()
        update = expression.update(change)
        return {
            "TableName": self.name,
            "Key": _key(task_id),
            "UpdateExpression": update,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **expression.condition("ConditionExpression", (Exists(HASH_KEY), *change.when)),
        }

    def _query(self, span: Span, *, newest_first: bool, limit: int) -> dict[str, Any]:
        expression = _Expression()
        return {
            "TableName": self.name,
            "IndexName": span.index,
            "KeyConditionExpression": expression.span(span),
            "ScanIndexForward": not newest_first,
            "Limit": limit,
            **expression.condition("FilterExpression", span.where),
        }

    @contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        """DynamoDB's errors as lifoq's, as far as they are understood; the rest passes as it is."""
        try:
            yield
        except ClientError as error:
            translated = self._translate(action, error)
            if translated is None:
                raise
            raise translated from error
        except (HTTPClientError, ConnectionError) as error:
            raise StoreUnavailable(f"{action} on table {self.name!r}: {error}") from error
        except BotoCoreError as error:
            raise QueueMisconfigured(
                f"{action} on table {self.name!r} could not be sent: {error}"
            ) from error

    def _translate(self, action: str, error: ClientError) -> Exception | None:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        if code == "ConditionalCheckFailedException":
            item: Any = error.response.get("Item")
            return ConditionFailed(_plain(item) if item else None)
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in UNCONFIRMED or status >= 500:  # noqa: PLR2004  (the HTTP class)
            return StoreUnavailable(f"{action} on table {self.name!r}: {code}: {message}")
        if code == "ResourceNotFoundException":
            region = self._client.meta.region_name
            return QueueMisconfigured(
                f"there is no table {self.name!r} in region {region!r} of this account: "
                "check the table's name, the region and the credentials"
            )
        if code in DENIED:
            return QueueMisconfigured(
                f"dynamodb:{action} on table {self.name!r} is not permitted to this caller: "
                f"grant it ({message})"
            )
        if code == "ValidationException":
            return self._validation(message)
        return None

    def _validation(self, message: str) -> Exception | None:
        lower = message.lower()
        if "size" in lower and "exceeded" in lower:
            return ItemTooLarge(message)
        if ("operand" in lower and "type" in lower) or any(text in lower for text in NO_ROOM):
            return UnfitAttribute(message)
        if "specified index" in lower or "doesn't have the index" in lower:
            return QueueMisconfigured(
                f"table {self.name!r} lacks an index of the queue ({message}): "
                f"it needs {STATUS_CREATED_INDEX} and due-index, as `deploy` creates them"
            )
        if any(text in lower for text in FOREIGN_KEYS):
            return QueueMisconfigured(
                f"table {self.name!r} has other keys than a queue's table ({message}): "
                "name the queue's own table"
            )
        return None


class _Expression:
    """Collects the names and values that DynamoDB's expressions refer to."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, dict[str, str]] = {}

    def condition(self, field: str, conditions: Sequence[Condition]) -> dict[str, Any]:
        """The request's fields: ``conditions`` under ``field``, and all names and values so far."""
        text = " AND ".join(self._condition(condition) for condition in conditions)
        return {
            **({field: text} if text else {}),
            **({"ExpressionAttributeNames": self._names} if self._names else {}),
            **({"ExpressionAttributeValues": self._values} if self._values else {}),
        }

    def span(self, span: Span) -> str:
        status = f"{self._name(Attribute.TASK_STATUS)} = {self._value(span.status.value)}"
        sort_key = (
            Attribute.TASK_CREATED if span.index == STATUS_CREATED_INDEX else Attribute.DUE_AT
        )
        if span.first is not None and span.last is not None:
            first, last = self._value(span.first), self._value(span.last)
            return f"{status} AND {self._name(sort_key)} BETWEEN {first} AND {last}"
        if span.first is not None:
            return f"{status} AND {self._name(sort_key)} >= {self._value(span.first)}"
        if span.last is not None:
            return f"{status} AND {self._name(sort_key)} <= {self._value(span.last)}"
        return status

    def update(self, change: Change) -> str:
        sets = [f"{self._name(name)} = {self._value(value)}" for name, value in change.set.items()]
        for name, value in change.set_once.items():
            alias = self._name(name)
            sets.append(f"{alias} = if_not_exists({alias}, {self._value(value)})")
        if change.increment is not None:
            alias = self._name(change.increment)
            sets.append(f"{alias} = if_not_exists({alias}, {self._value(0)}) + {self._value(1)}")
        text = "SET " + ", ".join(sets)
        if change.remove:
            text += " REMOVE " + ", ".join(self._name(name) for name in change.remove)
        return text

    def _condition(self, condition: Condition) -> str:
        match condition:
            case Exists(attribute):
                return f"attribute_exists({self._name(attribute)})"
            case StatusIs(status):
                return f"{self._name(Attribute.TASK_STATUS)} = {self._value(status.value)}"
            case Equals(attribute, value):
                return f"{self._name(attribute)} = {self._value(value)}"
            case GreaterThan(attribute, value):
                return f"{self._name(attribute)} > {self._value(value)}"
            case AtMost(attribute, value):
                return f"{self._name(attribute)} <= {self._value(value)}"
            case Not(inner):
                return f"NOT {self._condition(inner)}"

    def _name(self, attribute: Attribute) -> str:
        self._names[f"#{attribute}"] = attribute.value
        return f"#{attribute}"

    def _value(self, value: Value) -> str:
        alias = f":v{len(self._values)}"
        self._values[alias] = _typed_value(value)
        return alias


_FOREIGN: Final[Callable[[Any], Any]] = TypeDeserializer().deserialize


def _typed(item: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _typed_value(value) for name, value in item.items()}


def _typed_value(value: Value) -> dict[str, str]:
    return {"N": str(value)} if isinstance(value, int) else {"S": str(value)}


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in item.items()}


def _plain_value(value: Mapping[str, Any]) -> Any:
    """int for a whole number, str for a string; whatever else a damaged item holds, as boto3 reads
    it, which no condition and no task accepts."""
    if "S" in value:
        return value["S"]
    if "N" in value:
        number = Decimal(value["N"])  # boto3's reader fails where there are more than 38 digits
        return int(number) if number == number.to_integral_value() else number
    return _FOREIGN(value)


def _key(task_id: str) -> dict[str, Any]:
    return {HASH_KEY.value: {"S": task_id}}


def _keys(described: Mapping[str, Any]) -> str:
    return " + ".join(
        f"{key['AttributeName']} ({key['KeyType']})" for key in described["KeySchema"]
    )


def _refusal(error: ClientError, items: Sequence[Item]) -> Exception:
    """What a cancelled transaction says: its first reason is the update's, the others the puts'."""
    reasons: list[Any] = error.response.get("CancellationReasons", [])
    codes = [reason.get("Code", "None") for reason in reasons]
    if not codes or set(codes) - {"None", "ConditionalCheckFailed"}:
        if any("ValidationError" in code for code in codes):
            return ItemTooLarge(str(error))
        return StoreUnavailable(f"TransactWriteItems: {error}")
    current = reasons[0].get("Item")
    return TransactionRefused(
        current=_plain(current) if current else None,
        update_refused=codes[0] != "None",
        taken_ids=frozenset(
            str(item[Attribute.TASK_ID])
            for item, code in zip(items, codes[1:], strict=True)
            if code != "None"
        ),
    )
