"""moto's DynamoDB tables: a journal of their writes, one writer at a time, deletion by TTL."""

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from moto.dynamodb.models import DynamoDBBackend, Table, dynamodb_backends
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import StreamShard

from localcloud.account import ACCOUNT, REGION
from localcloud.journal import Image, Journal, Write

_FIVE_YEARS = 5 * 365 * 24 * 3600
"""DynamoDB leaves items alone whose TTL lies further back: it takes it for a mistake."""

_lock = threading.RLock()
_deleting_by_ttl = threading.local()


def install() -> None:
    """Let every table have a journal, and keep moto from calling functions by itself."""
    original_streams = Table.set_stream_specification
    original_transaction = DynamoDBBackend.transact_write_items

    def set_stream_specification(table: Table, streams: dict[str, Any] | None) -> None:
        original_streams(table, streams)
        if table.stream_shard is None:
            table.stream_shard = StreamShard(table.account_id, table)

    def transact_write_items(backend: DynamoDBBackend, items: list[dict[str, Any]]) -> None:
        try:
            original_transaction(backend, items)
        except Exception:
            for table in backend.tables.values():
                journal_of(table).rollback()
            raise

    def shard_init(shard: StreamShard, account_id: str, table: Table) -> None:
        original_init(shard, account_id, table)
        shard.journal = Journal()
        shard.items = shard.journal.committed

    original_init = StreamShard.__init__
    StreamShard.__init__ = shard_init
    StreamShard.add = _stage
    StreamShard.get = _stream_records
    Table.set_stream_specification = set_stream_specification
    Table.__deepcopy__ = _snapshot
    DynamoDBBackend.transact_write_items = transact_write_items


def backend() -> DynamoDBBackend:
    return dynamodb_backends[ACCOUNT][REGION]


def tables() -> list[Table]:
    return list(backend().tables.values())


def journal_of(table: Table) -> Journal:
    journal: Journal = table.stream_shard.journal
    return journal


@contextmanager
def exclusive() -> Iterator[None]:
    """One request at a time: moto's condition and write are two steps. Then publish its writes."""
    with _lock:
        try:
            yield
        finally:
            for table in tables():
                journal_of(table).commit()


def table_of_stream(stream_arn: str) -> Table | None:
    name = stream_arn.split(":", 5)[5].split("/")[1]
    return backend().tables.get(name)


def delete_expired(now_seconds: float) -> int:
    """Delete what TTL would have deleted by now. How many items that were."""
    deleted = 0
    for table in tables():
        if table.ttl.get("TimeToLiveStatus") != "ENABLED":
            continue
        attribute = table.ttl["AttributeName"]
        with exclusive():
            for item in list(_expired(table, attribute, now_seconds)):
                _deleting_by_ttl.active = True
                try:
                    table.delete_item(item.hash_key, item.range_key)
                finally:
                    _deleting_by_ttl.active = False
                deleted += 1
    return deleted


def _expired(table: Table, attribute: str, now_seconds: float) -> Iterator[Item]:
    for row in table.items.values():
        for item in row.values() if table.has_range_key else (row,):
            value = item.attrs.get(attribute)
            if value is None or value.type != "N":
                continue
            if now_seconds - _FIVE_YEARS < float(value.value) < now_seconds:
                yield item


def images(table: Table) -> list[Image]:
    with exclusive():
        return [item.to_json()["Attributes"] for item in table.all_items()]


def _stage(shard: StreamShard, old: Item | None, new: Item | None) -> None:
    table = shard.table
    item = old if old is not None else new
    key = {table.hash_key_attr: item.hash_key.to_json()}
    if table.range_key_attr is not None:
        key[table.range_key_attr] = item.range_key.to_json()
    shard.journal.stage(
        key=key,
        old=None if old is None else old.to_json()["Attributes"],
        new=None if new is None else new.to_json()["Attributes"],
        by_ttl=getattr(_deleting_by_ttl, "active", False),
    )


def _stream_records(shard: StreamShard, start: int, quantity: int) -> list[dict[str, Any]]:
    """What GetRecords answers: the shape of DynamoDB Streams' own API."""
    position = start - shard.starting_sequence_number
    records = []
    for write in shard.journal.read(position, quantity):
        answer = record(shard.table, write)
        change = answer["dynamodb"]
        change["ApproximateCreationDateTime"] = datetime.fromtimestamp(
            change["ApproximateCreationDateTime"], UTC
        )
        if identity := answer.get("userIdentity"):
            answer["userIdentity"] = {
                "Type": identity["type"],
                "PrincipalId": identity["principalId"],
            }
        records.append(answer)
    return records


def record(table: Table, write: Write) -> dict[str, Any]:
    """A stream record, as an event for Lambda has it."""
    shard = table.stream_shard
    view = (table.stream_specification or {}).get("StreamViewType", "NEW_AND_OLD_IMAGES")
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": write.micros // 1_000_000,
        "Keys": write.key,
        "SequenceNumber": str(shard.starting_sequence_number + write.position),
        "SizeBytes": len(str(write.key)) + len(str(write.old or "")) + len(str(write.new or "")),
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
        answer["userIdentity"] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    return answer


def _event_name(write: Write) -> str:
    if write.old is None:
        return "INSERT"
    return "REMOVE" if write.new is None else "MODIFY"


def _snapshot(table: Table, memo: dict[int, Any]) -> Table:
    """For a transaction's roll-back: the items, and not the journal, which has its own."""
    snapshot = copy.copy(table)
    snapshot.items = copy.deepcopy(table.items, memo)
    return snapshot
