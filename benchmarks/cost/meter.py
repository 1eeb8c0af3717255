"""A meter on DynamoDB clients: it asks each request for its consumed capacity, and adds up.

It sits in botocore's events, so that the code under measurement is the product's own, unchanged.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import boto3

from benchmarks.cost import rules
from lifoq.items.schema import HASH_KEY
from lifoq.tables.dynamo import ONCE, PATIENT, DynamoTable

REFUSALS: Final = {"ConditionalCheckFailedException", "TransactionCanceledException"}
READS: Final = frozenset({"Query", "GetItem", "BatchGetItem"})


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request that was answered. Units as reported, and as AWS documents them."""

    operation: str
    refused: bool
    """Its condition did not hold."""
    write_units: float
    documented_write_units: float
    read_units: float
    documented_read_units: float


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Of several calls."""

    requests: dict[str, int]
    refused: int
    write_units: float
    documented_write_units: float
    read_units: float
    documented_read_units: float

    @classmethod
    def of(cls, calls: Sequence[Call]) -> "Sums":
        operations = sorted({call.operation for call in calls})
        return cls(
            requests={o: sum(call.operation == o for call in calls) for o in operations},
            refused=sum(call.refused for call in calls),
            write_units=sum(call.write_units for call in calls),
            documented_write_units=sum(call.documented_write_units for call in calls),
            read_units=sum(call.read_units for call in calls),
            documented_read_units=sum(call.documented_read_units for call in calls),
        )


@dataclass
class Reading:
    """What the meter saw in a block; complete once the block is over."""

    calls: list[Call] = field(default_factory=list)

    @property
    def sums(self) -> Sums:
        return Sums.of(self.calls)


class Meter:
    """Counts what its clients ask DynamoDB for."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._images: dict[str, rules.Item] = {}
        """Each item as its last write left it, for the rules."""
        self._unmetered: Any = None
        self._lock = threading.Lock()

    def table(self, name: str, **client_arguments: Any) -> DynamoTable:
        """The product's own table, metered. ``client_arguments`` go to ``boto3.client``."""

        def client(config: Any) -> Any:
            made = boto3.client("dynamodb", config=config, **client_arguments)
            made.meta.events.register("before-parameter-build.dynamodb", self._ask)
            made.meta.events.register("after-call.dynamodb", self._note)
            return made

        self._unmetered = boto3.client("dynamodb", **client_arguments)
        return DynamoTable(name=name, client=client(PATIENT), once=client(ONCE))

    @property
    def stored_bytes(self) -> int:
        """Of all items that were written, as their last write left them."""
        return sum(map(rules.item_bytes, self._images.values()))

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        found = Reading()
        with self._lock:
            start = len(self._calls)
        yield found
        with self._lock:
            found.calls = self._calls[start:]

    def _ask(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "INDEXES"
        if model.name == "UpdateItem":
            params["ReturnValues"] = "ALL_NEW"  # for the rules; it takes no units
        context["lifoq_request"] = dict(params)

    def _note(self, parsed: Any, model: Any, context: dict[str, Any], **_: Any) -> None:
        request = context["lifoq_request"]
        consumed = parsed.get("ConsumedCapacity") or []
        parts = consumed if isinstance(consumed, list) else [consumed]
        units = sum(float(part["CapacityUnits"]) for part in parts)
        writes = model.name not in READS
        code = parsed.get("Error", {}).get("Code")
        with self._lock:
            documented = self._documented(model.name, request, parsed, units)
            self._calls.append(
                Call(
                    operation=model.name,
                    refused=code in REFUSALS,
                    write_units=units if writes else 0.0,
                    documented_write_units=documented if writes else 0.0,
                    read_units=0.0 if writes else units,
                    documented_read_units=0.0 if writes else documented,
                )
            )

    def _documented(
        self, operation: str, request: dict[str, Any], answer: Any, reported: float
    ) -> float:
        """By the rules; as reported where they need more than the client can see: the size of
        rows that a filter dropped, of items that were read."""
        if operation == "TransactWriteItems" and answer.get("Error"):
            return 2.0 * len(request["TransactItems"])  # of small items
        if answer.get("Error"):
            return rules.refused_units(answer.get("Item"))
        if operation == "Query":
            return max(rules.EMPTY_QUERY_UNITS, reported)
        if operation in READS:
            return reported
        if operation == "DeleteItem":
            deleted = self._images.pop(request["Key"][HASH_KEY.value]["S"])
            return rules.write_units(deleted, None)
        units = sum(map(self._written, self._after(operation, request, answer)))
        return 2 * units if operation == "TransactWriteItems" else units

    def _after(self, operation: str, request: dict[str, Any], answer: Any) -> Iterator[rules.Item]:
        """The items as the request left them."""
        match operation:
            case "PutItem":
                yield request["Item"]
            case "UpdateItem":
                yield answer["Attributes"]
            case "BatchWriteItem":
                (requests,) = request["RequestItems"].values()
                yield from (one["PutRequest"]["Item"] for one in requests)
            case "TransactWriteItems":
                for action in request["TransactItems"]:
                    yield action["Put"]["Item"] if "Put" in action else self._read(action["Update"])
            case _:
                raise NotImplementedError(f"The meter knows no rule for {operation}.")

    def _read(self, update: dict[str, Any]) -> rules.Item:
        """An update in a transaction does not hand its item back."""
        item: rules.Item = self._unmetered.get_item(
            TableName=update["TableName"], Key=update["Key"], ConsistentRead=True
        )["Item"]
        return item

    def _written(self, after: rules.Item) -> float:
        task_id = after[HASH_KEY.value]["S"]
        before = self._images.get(task_id)
        self._images[task_id] = after
        return rules.write_units(before, after)
