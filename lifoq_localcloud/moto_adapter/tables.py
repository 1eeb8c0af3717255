"""moto's DynamoDB tables: a journal of their writes, one request at a time, deletion by TTL."""

import copy
import itertools
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import moto.dynamodb.models as dynamodb_models
from moto.dynamodb.exceptions import ItemSizeToUpdateTooLarge, StreamAlreadyEnabledException
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import StreamShard, Table

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.moto_adapter.order import Bounds, IndexOrder, sort_value
from lifoq_localcloud.moto_adapter.patch import replace
from lifoq_localcloud.table_rules import values
from lifoq_localcloud.table_rules.keys import Schema
from lifoq_localcloud.tables.journal import Journal, Write

_FIVE_YEARS_SECONDS = 5 * 365 * 24 * 3600
"""DynamoDB leaves items alone whose TTL lies further back: it takes that for a mistake."""

_WITH_LOW_BOUND = {">", "GT", ">=", "GE", "=", "EQ", "BETWEEN"}
_WITH_HIGH_BOUND = {"<", "LT", "<=", "LE", "=", "EQ", "BETWEEN"}
_WITHOUT_THE_BOUND = {"<", "LT", ">", "GT"}

_lock = threading.RLock()


class JournaledShard(StreamShard):
    """A stream's one shard. moto would run functions from here; this one only takes notes."""

    def __init__(self, account_id: str, table: Table) -> None:
        super().__init__(account_id, table)
        self.journal = Journal()
        self.items = self.journal.committed  # type: ignore[assignment] # for its length: LATEST
        self.by_ttl = False
        self.beginning = 0

    def add(self, old: Item | None, new: Item | None) -> None:
        item: Any = old if old is not None else new
        key = {self.table.hash_key_attr: item.hash_key.to_json()}
        if self.table.range_key_attr is not None:
            key[self.table.range_key_attr] = item.range_key.to_json()
        self.journal.stage(
            key=key,
            old=None if old is None else old.to_json()["Attributes"],
            new=None if new is None else new.to_json()["Attributes"],
            by_ttl=self.by_ttl,
        )

    def get(self, start: int, quantity: int) -> list[dict[str, Any]]:
        """Return records of a shard in the form in which GetRecords answers."""
        position = start - self.starting_sequence_number
        return [_api_record(self.record(one)) for one in self.journal.read(position, quantity)]

    def record(self, write: Write) -> dict[str, Any]:
        """A write as the event for a function has it."""
        view = (self.table.stream_specification or {}).get("StreamViewType", "NEW_AND_OLD_IMAGES")
        change: dict[str, Any] = {
            "ApproximateCreationDateTime": write.micros // 1_000_000,
            "Keys": write.key,
            "SequenceNumber": str(self.starting_sequence_number + write.position),
            "SizeBytes": len(str(write.key)) + len(str(write.old)) + len(str(write.new)),
            "StreamViewType": view,
        }
        if write.new is not None and view in {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"}:
            change["NewImage"] = write.new
        if write.old is not None and view in {"OLD_IMAGE", "NEW_AND_OLD_IMAGES"}:
            change["OldImage"] = write.old
        answer: dict[str, Any] = {
            "eventID": f"{write.micros:032x}",
            "eventName": _event_name(write),
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": REGION,
            "dynamodb": change,
        }
        if write.by_ttl:
            answer["userIdentity"] = {
                "type": "Service",
                "principalId": "dynamodb.amazonaws.com",
            }
        return answer


class JournaledTable(Table):
    """A table whose every write goes through a journal, with or without a stream."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._candidates: list[Item] | None = None
        self.in_transaction = False
        super().__init__(*args, **kwargs)
        self._orders = {} if self.has_range_key else _orders(self)

    @property
    def shard(self) -> JournaledShard:
        if not isinstance(self.stream_shard, JournaledShard):
            raise TypeError(f"The table {self.name} has no journal.")
        return self.stream_shard

    @property
    def journal(self) -> Journal:
        return self.shard.journal

    @property
    def recoverable(self) -> bool:
        """True if point-in-time recovery is on."""
        recovery = self.continuous_backups["PointInTimeRecoveryDescription"]
        return bool(recovery["PointInTimeRecoveryStatus"] == "ENABLED")

    def set_stream_specification(self, streams: dict[str, Any] | None) -> None:
        """The journal is there from the beginning, and outlives changes of the stream. A stream
        that is switched on has no write from before."""
        journaled = self.stream_shard
        super().set_stream_specification(streams)
        self.stream_shard = journaled or JournaledShard(self.account_id, self)
        self.shard.beginning = len(self.journal.committed)

    def commit(self) -> None:
        for write in self.journal.commit():
            for order in self._orders.values():
                order.apply(write)

    def reorder(self) -> None:
        """Know the order of the indexes that there are now."""
        if self.has_range_key:
            return
        self._orders = _orders(self)
        for item in self._each():
            image = item.to_json()["Attributes"]
            for order in self._orders.values():
                order.add(image)

    def expired(self, now_seconds: float) -> list[Item]:
        """The items that TTL may delete."""
        if self.ttl["TimeToLiveStatus"] != "ENABLED":
            return []
        attribute = self.ttl["AttributeName"]
        earliest = now_seconds - _FIVE_YEARS_SECONDS
        return [
            item
            for item in self._each()
            if (value := item.attrs.get(attribute)) is not None
            and value.type == "N"
            and earliest < float(value.value) < now_seconds
        ]

    def delete_by_ttl(self, item: Item) -> None:
        self.shard.by_ttl = True
        try:
            self.delete_item(item.hash_key, item.range_key)
        finally:
            self.shard.by_ttl = False

    def all_items(self) -> list[Item]:
        return super().all_items() if self._candidates is None else self._candidates

    def query(  # noqa: PLR0917 - moto's signature
        self,
        hash_key: DynamoType | None,
        range_comparison: str | None,
        range_objs: list[DynamoType],
        limit: int,
        exclusive_start_key: dict[str, Any],
        scan_index_forward: bool,  # noqa: FBT001
        projection_expressions: list[list[str]] | None,
        index_name: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[list[Item], int, dict[str, Any] | None]:
        """moto's query, on those items only that the answer can be made of."""
        order = self._orders.get(index_name or "")
        hash_conditions = kwargs.get("hash_key_conditions") or []
        range_conditions = kwargs.get("range_key_conditions") or []
        if order is not None and len(hash_conditions) == 1 and len(range_conditions) <= 1:
            keys = order.keys(
                hash_conditions[0][1].value,
                bounds=_bounds(range_comparison, range_objs),
                forward=scan_index_forward is not False,
                after=exclusive_start_key,
            )
            # One more than is asked for tells moto that there are more.
            wanted = itertools.islice(keys, None if limit is None else limit + 1)
            self._candidates = self._items_of(wanted)
        try:
            return super().query(
                hash_key,
                range_comparison,
                range_objs,
                limit,
                exclusive_start_key,
                scan_index_forward,
                projection_expressions,
                index_name,
                *args,
                **kwargs,
            )
        finally:
            self._candidates = None

    def _items_of(self, keys: Iterable[str]) -> list[Item]:
        items: Any = self.items
        return [items[DynamoType({self.hash_key_type: key})] for key in keys]

    def _each(self) -> Iterator[Item]:
        rows: Any = self.items.values()
        for row in rows:
            yield from row.values() if self.has_range_key else (row,)

    def roll_back(self) -> None:
        """Undo what was staged: the items become what they were before."""
        items: Any = self.items
        for key, old in self.journal.roll_back():
            hash_key = DynamoType(key[self.hash_key_attr])
            range_key = DynamoType(key[self.range_key_attr]) if self.range_key_attr else None
            row, place = (items, hash_key) if range_key is None else (items[hash_key], range_key)
            if old is None:
                row.pop(place, None)
            else:
                row[place] = Item(hash_key, range_key, old)

    def __deepcopy__(self, memo: dict[int, Any]) -> "JournaledTable":
        """moto copies a table, items and all, before every transaction; the journal is cheaper."""
        if self.in_transaction:
            return self
        copied = copy.copy(self)
        copied.items = copy.deepcopy(self.items, memo)
        return copied


def install() -> None:
    """Let every table of moto's be one of these."""
    replace(dynamodb_models, "Table", JournaledTable)
    transact = DynamoDBBackend.transact_write_items

    def transact_write_items(backend: DynamoDBBackend, items: list[dict[str, Any]]) -> None:
        for one in tables():
            one.in_transaction = True
        try:
            transact(backend, items)
        except Exception:
            for one in tables():
                one.roll_back()
            raise
        finally:
            for one in tables():
                one.in_transaction = False

    replace(DynamoDBBackend, "transact_write_items", transact_write_items)
    update = DynamoDBBackend.update_item

    def update_item(backend: DynamoDBBackend, name: str, *arguments: Any, **named: Any) -> Item:
        item = update(backend, name, *arguments, **named)
        if values.size(item.to_json()["Attributes"]) > values.MOST_ITEM_BYTES:
            grown = backend.get_table(name)
            if isinstance(grown, JournaledTable):
                grown.roll_back()
            raise ItemSizeToUpdateTooLarge
        return item

    replace(DynamoDBBackend, "update_item", update_item)
    replace(DynamoDBBackend, "update_table_streams", _update_stream)
    _follow_indexes()


def _update_stream(_backend: DynamoDBBackend, changed: Table, stream: dict[str, Any]) -> None:
    """Let a stream that was switched off be switched on again; moto knows it by its label."""
    enabled = (changed.stream_specification or {}).get("StreamEnabled")
    if enabled and stream.get("StreamEnabled"):
        raise StreamAlreadyEnabledException
    changed.set_stream_specification(stream)


def _follow_indexes() -> None:
    """Keep the order of an index that is added to a table with items."""
    change_indexes = DynamoDBBackend.update_table_global_indexes

    def update_table_global_indexes(
        backend: DynamoDBBackend, changed: Table, global_index_updates: list[dict[str, Any]]
    ) -> None:
        change_indexes(backend, changed, global_index_updates)
        if isinstance(changed, JournaledTable):
            changed.reorder()

    replace(DynamoDBBackend, "update_table_global_indexes", update_table_global_indexes)


def tables() -> list[JournaledTable]:
    found = dynamodb_backends[ACCOUNT][REGION].tables.values()
    return [table for table in found if isinstance(table, JournaledTable)]


def journals() -> dict[str, Journal]:
    """Return the journals by the names of their tables."""
    return {table.name: table.journal for table in tables()}


def table(name: str) -> JournaledTable | None:
    return next((one for one in tables() if one.name == name), None)


def encrypt(name: str, specification: dict[str, Any] | None) -> None:
    """Let a table say how it is encrypted; moto has no call for it once the table is made."""
    found = table(name)
    if found is not None:
        found.sse_specification = specification


def schema(name: str) -> Schema | None:
    """Return the key attributes of a table and its indexes, by the table's name or ARN."""
    found = table(name.rsplit("/", maxsplit=1)[-1])
    if found is None:
        return None
    types = {one["AttributeName"]: one["AttributeType"] for one in found.attr}
    return Schema(
        key=_typed(found.schema, types),
        indexes={
            index.name: _typed(index.schema, types)
            for index in (*found.global_indexes, *found.indexes)
        },
    )


def _typed(key: list[dict[str, str]], types: dict[str, str]) -> dict[str, str]:
    return {part["AttributeName"]: types[part["AttributeName"]] for part in key}


def table_of_stream(stream_arn: str) -> JournaledTable | None:
    return table(stream_arn.split(":", 5)[5].split("/")[1])


@contextmanager
def exclusive() -> Iterator[None]:
    """One request at a time: moto's condition and write are two steps. Then publish its writes."""
    with _lock:
        try:
            yield
        finally:
            for one in tables():
                one.commit()


def delete_expired(now_seconds: float) -> None:
    """Delete what TTL would have deleted by now."""
    for one in tables():
        with exclusive():
            for item in one.expired(now_seconds):
                one.delete_by_ttl(item)


def _orders(table: Table) -> dict[str, IndexOrder]:
    """Return the orders of the indexes with one hash and one sort key, which are all that we
    have."""
    orders = {}
    for index in table.global_indexes:
        names = {part["KeyType"]: part["AttributeName"] for part in index.schema}
        if len(index.schema) == len(names) == len(("HASH", "RANGE")):
            orders[index.name] = IndexOrder(
                hash_name=names["HASH"], range_name=names["RANGE"], key_name=table.hash_key_attr
            )
    return orders


def _bounds(comparison: str | None, operands: list[DynamoType]) -> Bounds:
    """Return bounds that hold every item moto would let through, since moto compares once more. All
    items, if the condition is not clear."""
    values = [sort_value({one.type: one.value}) for one in operands or []]
    return Bounds(
        low=values[0] if comparison in _WITH_LOW_BOUND else None,
        high=values[-1] if comparison in _WITH_HIGH_BOUND else None,
        open=comparison in _WITHOUT_THE_BOUND,
    )


def _event_name(write: Write) -> str:
    if write.old is None:
        return "INSERT"
    return "REMOVE" if write.new is None else "MODIFY"


def _api_record(record: dict[str, Any]) -> dict[str, Any]:
    """The API has a timestamp and capitals where the event has a number and none."""
    change = record["dynamodb"]
    moment = datetime.fromtimestamp(change["ApproximateCreationDateTime"], UTC)
    answer = {**record, "dynamodb": {**change, "ApproximateCreationDateTime": moment}}
    if identity := record.get("userIdentity"):
        answer["userIdentity"] = {"Type": identity["type"], "PrincipalId": identity["principalId"]}
    return answer
