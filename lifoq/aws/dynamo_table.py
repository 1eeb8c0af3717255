"""A queue's table in DynamoDB: it renders changes and spans as DynamoDB's calls, and DynamoDB's
answers as lifoq's. ``boto3_clients`` or ``dynamo_calls`` sends the calls."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

from botocore.exceptions import ClientError

from lifoq.aws.dynamo_errors import meaning, refusal
from lifoq.aws.dynamo_expressions import Expression, conditional_put, put_request, update_request
from lifoq.aws.dynamo_values import plain, typed
from lifoq.aws.errors import code_of, connecting, translated
from lifoq.aws.retry_policy import ATTEMPTS, pause
from lifoq.basics.clock import ServerClock
from lifoq.basics.host import SYSTEM, Host
from lifoq.errors import QueueMisconfigured, StoreUnavailable
from lifoq.items.change import Alternatives, Change, Condition, Exists, Item
from lifoq.items.schema import ANOTHER_QUEUE, HASH_KEY, Attribute, not_projected, table_definition
from lifoq.store.table_protocol import MAX_BATCH_GET, Count, Cursor, Page, Span


class Calls(Protocol):
    """The calls of DynamoDB's API."""

    region: str

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, with bytes as bytes or in base64. Raises botocore's errors."""


class DynamoTable:
    """A queue's table in DynamoDB. Each call is one request, or a few where an answer has several
    pages."""

    def __init__(self, *, name: str, calls: Calls, once: Calls, clock: ServerClock) -> None:
        """``calls`` repeats a call that failed; ``once`` must not. ``clock`` learns of both."""
        self.name = name
        self._calls = calls
        self._once = once
        self._clock = clock

    @classmethod
    def connect(
        cls, name: str, *, repeats: bool = True, host: Host = SYSTEM, **client_arguments: Any
    ) -> "DynamoTable":
        """The table of this name. ``repeats``: whether a call that failed is repeated at once.
        ``client_arguments`` (region_name, endpoint_url …) go to ``boto3.client``; without them,
        boto3's own configuration holds. QueueMisconfigured where that names no region, an unknown
        profile or a malformed endpoint."""
        from lifoq.aws import boto3_clients  # noqa: PLC0415 - a cold start less to import

        with connecting(f"cannot connect to table {name!r}"):
            client, once = boto3_clients.dynamodb_clients(repeats=repeats, **client_arguments)
        return cls.of_clients(name, client=client, once=once, host=host)

    @classmethod
    def of_clients(cls, name: str, *, client: Any, once: Any, host: Host = SYSTEM) -> "DynamoTable":
        """Return the table as boto3's clients call it; ``once`` must not repeat a call."""
        from lifoq.aws import boto3_clients  # noqa: PLC0415 - a cold start less to import

        clock = ServerClock(host)
        for each in (client, once):
            boto3_clients.refuse_half_answers(each, "dynamodb")
        calls, once_calls = (boto3_clients.Boto3Calls(each, clock=clock) for each in (client, once))
        return cls(name=name, calls=calls, once=once_calls, clock=clock)

    @classmethod
    def in_function(cls, name: str, *, repeats: bool = True, host: Host = SYSTEM) -> "DynamoTable":
        """The table as a Lambda function of lifoq's calls it: by the own client, where it may. For
        ``repeats`` see ``connect``."""
        from lifoq.aws import client_choice as own  # noqa: PLC0415 - where a user owns the process, boto3 calls

        clock = ServerClock(host)
        found = own.in_function("dynamodb", clock=clock, host=host)
        if found is None:
            return cls.connect(name, repeats=repeats, host=host)
        return cls.of_service(name, *found, clock=clock, repeats=repeats)

    @classmethod
    def of_service(
        cls, name: str, service: Any, *, clock: ServerClock, repeats: bool = True
    ) -> "DynamoTable":
        """Return the table as lifoq's own client calls it. ``clock`` is the service's."""
        from lifoq.aws.dynamo_calls import DynamoCalls  # noqa: PLC0415 - as above

        once: Calls = DynamoCalls(service, attempts=1)
        calls: Calls = DynamoCalls(service, attempts=ATTEMPTS) if repeats else once
        return cls(name=name, calls=calls, once=once, clock=clock)

    def in_worker(self, *, host: Host = SYSTEM) -> tuple["DynamoTable", str | None]:
        """Return this table for ``lifoq work``: it calls by lifoq's own client if that may stand in
        for this table's boto3 client. Otherwise boto3 calls, and the second value is the reason."""
        from lifoq.aws import service_from_boto3 as worker  # noqa: PLC0415 - as above
        from lifoq.aws.boto3_clients import Boto3Calls  # noqa: PLC0415 - as above

        clock = ServerClock(host)
        if not isinstance(self._calls, Boto3Calls):
            return self, None
        service = worker.service_of(self._calls.client, clock=clock, host=host)
        if isinstance(service, str):
            return self, service
        return self.of_service(self.name, service, clock=clock), None

    def get(self, task_id: str, *, only: Sequence[Attribute] = ()) -> Item | None:
        """Return an item, or what is asked for of it, by a strongly consistent read."""
        read = {"ConsistentRead": True, **_projection(only)}
        answer = self._call("GetItem", {"TableName": self.name, "Key": _key(task_id), **read})
        return plain(answer["Item"]) if "Item" in answer else None

    def get_many(
        self, task_ids: Sequence[str], *, only: Sequence[Attribute] = (), lately: bool = False
    ) -> list[Item]:
        """Return those of the items that exist, or what is asked for of them, a hundred a
        request."""
        items: list[Item] = []
        asked = list(dict.fromkeys(task_ids))
        for at in range(0, len(asked), MAX_BATCH_GET):
            request: Any = {
                self.name: {
                    "Keys": [_key(i) for i in asked[at : at + MAX_BATCH_GET]],
                    "ConsistentRead": not lately,
                    **_projection(only),
                }
            }
            items += self._get_all(request)
        return items

    def _get_all(self, request: Any) -> Iterator[Item]:
        """Ask again for what an answer left out: at once the first time, since an answer ends at
        16 MB; then after a pause, since the table may be overloaded."""
        repeats = in_vain = 0
        while request:
            answer = self._call("BatchGetItem", {"RequestItems": request})
            found = answer["Responses"].get(self.name, [])
            yield from map(plain, found)
            request, repeats = answer.get("UnprocessedKeys"), repeats + 1
            in_vain = 0 if found else in_vain + 1
            if request and in_vain == ATTEMPTS:
                raise StoreUnavailable(f"DynamoDB read nothing in {ATTEMPTS} BatchGetItems")
            if request and (in_vain or repeats > 1):
                self._clock.host.sleep(pause(max(1, in_vain)))

    def put(self, item: Item, *, over: Alternatives = ()) -> None:
        """Write a new item, by a conditional PutItem."""
        self._call("PutItem", put_request(self.name, item, over=over))

    def replace(self, item: Item, *, when: tuple[Condition, ...]) -> None:
        """Write an item in place of the one that has its id, by a conditional PutItem."""
        self._call("PutItem", conditional_put(self.name, item, ((Exists(HASH_KEY), *when),)))

    def put_batch(self, items: Sequence[Item]) -> list[Item]:
        """Write at most 25 new items by one BatchWriteItem, and return those that were certainly
        not written."""
        puts = [{"PutRequest": {"Item": typed(item)}} for item in items]
        with self._translated("BatchWriteItem"):
            answer = self._once.call("BatchWriteItem", {"RequestItems": {self.name: puts}})
        left = answer.get("UnprocessedItems", {}).get(self.name, [])
        return [plain(request["PutRequest"]["Item"]) for request in left]

    def update(self, task_id: str, change: Change) -> None:
        """Apply a change by a conditional UpdateItem."""
        self._call("UpdateItem", update_request(self.name, task_id, change))

    def update_and_get(self, task_id: str, change: Change) -> Item:
        """Apply a change by a conditional UpdateItem, and return the item as it is then."""
        request = update_request(self.name, task_id, change) | {"ReturnValues": "ALL_NEW"}
        answer = self._call("UpdateItem", request)
        return plain(answer["Attributes"])

    def update_and_put(
        self,
        task_id: str,
        change: Change,
        items: Sequence[Item],
        *,
        over: Alternatives = (),
        once: bool = False,
    ) -> None:
        """Apply a change and put items, by one TransactWriteItems."""
        from lifoq.items import size  # noqa: PLC0415 - a cold start less to import

        calls = self._once if once else self._calls
        size.check_transaction(change, items)
        actions = [
            {"Update": update_request(self.name, task_id, change)},
            *({"Put": put_request(self.name, item, over=over)} for item in items),
        ]
        with self._translated("TransactWriteItems"):
            try:
                calls.call("TransactWriteItems", {"TransactItems": actions})
            except ClientError as error:
                if code_of(error) != "TransactionCanceledException":
                    raise
                raise refusal(error, items) from error

    def delete(self, task_id: str, *, when: tuple[Condition, ...]) -> None:
        """Delete an item, by a conditional DeleteItem."""
        request = {
            "TableName": self.name,
            "Key": _key(task_id),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **Expression().conditions("ConditionExpression", ((Exists(HASH_KEY), *when),)),
        }
        self._call("DeleteItem", request)

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        """Return one page of an index."""
        request = self._query(span, newest_first=newest_first, limit=limit)
        return self._page("Query", request, start)

    def scan(self, *, limit: int, start: Cursor | None = None) -> Page:
        """Return one page of the table's items, in no order."""
        return self._page("Scan", {"TableName": self.name, "Limit": limit}, start)

    def _page(self, operation: str, request: dict[str, Any], start: Cursor | None) -> Page:
        if start is not None:
            request["ExclusiveStartKey"] = typed(start)
        answer = self._call(operation, request)
        last = answer.get("LastEvaluatedKey")
        return Page(
            rows=tuple(plain(row) for row in answer["Items"]),
            next=plain(last) if last else None,
        )

    def count(self, span: Span, *, cap: int, newest_first: bool = True) -> Count:
        """Count the rows of a span, page by page, up to the cap."""
        found = read = 0
        request = self._query(span, newest_first=newest_first, limit=cap) | {"Select": "COUNT"}
        while True:
            answer = self._call("Query", request)
            found += answer["Count"]
            read += answer["ScannedCount"]
            last = answer.get("LastEvaluatedKey")
            if not last or read >= cap:
                return Count(value=found, capped=bool(last))
            request |= {"ExclusiveStartKey": last, "Limit": cap - read}

    def clock_ahead(self) -> int:
        """Return the microseconds by which this machine's clock is ahead, by the ``Date`` of
        answers."""
        return self._clock.ahead()

    def check(self) -> None:
        """Compare the table with a queue's, by DescribeTable."""
        there = self._call("DescribeTable", {"TableName": self.name})["Table"]
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
                    f"a queue's has {_keys(index)}: {ANOTHER_QUEUE}"
                )
            if missing := not_projected(indexes[name], index):
                raise QueueMisconfigured(
                    f"index {name!r} of table {self.name!r} does not project "
                    f"{', '.join(missing)}: {ANOTHER_QUEUE}"
                )

    def _call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._translated(operation):
            return self._calls.call(operation, request)

    def _translated(self, action: str) -> AbstractContextManager[None]:
        region = self._calls.region
        return translated(
            f"{action} on table {self.name!r}",
            operation=action,
            meaning=partial(meaning, action=action, table=self.name, region=region),
        )

    def _query(self, span: Span, *, newest_first: bool, limit: int) -> dict[str, Any]:
        expression = Expression()
        return {
            "TableName": self.name,
            "IndexName": span.index,
            "KeyConditionExpression": expression.span(span),
            "ScanIndexForward": not newest_first,
            "Limit": limit,
            **expression.conditions("FilterExpression", (span.where,)),
        }


def _projection(only: Sequence[Attribute]) -> dict[str, Any]:
    if not only:
        return {}
    names = {f"#{number}": str(name) for number, name in enumerate(only)}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}


def _key(task_id: str) -> dict[str, Any]:
    return {HASH_KEY.value: {"S": task_id}}


def _keys(described: Mapping[str, Any]) -> str:
    return " + ".join(
        f"{key['AttributeName']} ({key['KeyType']})" for key in described["KeySchema"]
    )
