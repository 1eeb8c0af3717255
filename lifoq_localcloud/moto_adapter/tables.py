"""moto's DynamoDB tables: a journal of their writes, one request at a time, deletion by TTL."""

import base64
import copy
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import moto.dynamodb.models as dynamodb_models
from moto.dynamodb.exceptions import StreamAlreadyEnabledException
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import (
    RestoredPITTable,
    RestoredTable,
    SecondaryIndex,
    StreamShard,
    Table,
)

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.moto_adapter.patch import replace
from lifoq_localcloud.table_rules import values
from lifoq_localcloud.table_rules.keys import Schema
from lifoq_localcloud.tables import dynamodb_json
from lifoq_localcloud.tables.journal import Image, Journal, Write
from lifoq_localcloud.tables.rows import Index, Rows

_FIVE_YEARS_SECONDS = 5 * 365 * 24 * 3600
"""DynamoDB leaves items alone whose TTL lies further back: it takes that for a mistake."""

_lock = threading.RLock()


class JournaledShard(StreamShard):
    """A stream's one shard. moto would run functions from here; this one only takes notes."""

    def __init__(self, account_id: str, table: Table) -> None:
        super().__init__(account_id, table)
        self.journal = Journal()
        self.items = self.journal.committed  # type: ignore[assignment] # for its length: LATEST
        self.beginning = 0

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
    """A table that keeps its items in ``rows``. moto has its description alone: what it still does
    with items (PartiQL, imports, restored backups) goes through this class."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = Rows(key_names=self.table_key_attrs, size=values.size)
        self.reindex()

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

    @property
    def key_schema(self) -> Schema:
        """The key attributes of the table and its indexes."""
        types = {one["AttributeName"]: one["AttributeType"] for one in self.attr}
        return Schema(
            key={name: types[name] for name in self.rows.key_names},
            indexes={
                index.name: {name: types[name] for name in index.names}
                for index in self.rows.indexes.values()
            },
        )

    def set_stream_specification(self, streams: dict[str, Any] | None) -> None:
        """The journal is there from the beginning, and outlives changes of the stream. A stream
        that is switched on has no write from before."""
        journaled = self.stream_shard
        super().set_stream_specification(streams)
        self.stream_shard = journaled or JournaledShard(self.account_id, self)
        self.shard.beginning = len(self.journal.committed)

    def reindex(self) -> None:
        """Know the indexes that there are now."""
        self.rows.index(
            [
                *(self._index(one, local=False) for one in self.global_indexes),
                *(self._index(one, local=True) for one in self.indexes),
            ]
        )

    def _index(self, index: SecondaryIndex, *, local: bool) -> Index:
        names: dict[str, list[str]] = {"HASH": [], "RANGE": []}
        for part in index.schema:
            names[part["KeyType"]].append(part["AttributeName"])
        projection = index.projection or {}
        shown = None
        if projection.get("ProjectionType", "ALL") != "ALL":
            keys = (*self.table_key_attrs, *names["HASH"], *names["RANGE"])
            shown = frozenset((*keys, *(projection.get("NonKeyAttributes") or ())))
        return Index(
            name=index.name,
            hash_names=(*names["HASH"],),
            range_names=(*names["RANGE"],),
            local=local,
            shown=shown,
        )

    def expired(self, now_seconds: float) -> list[Image]:
        """The items that TTL may delete."""
        if self.ttl["TimeToLiveStatus"] != "ENABLED":
            return []
        attribute = self.ttl["AttributeName"]
        earliest = now_seconds - _FIVE_YEARS_SECONDS
        return [
            item
            for item in self.rows
            if "N" in (value := item.get(attribute, {}))
            and earliest < float(value["N"]) < now_seconds
        ]

    def put_item(self, item_attrs: dict[str, Any], *_: Any, **_more: Any) -> Item:
        image = {name: _plain(value) for name, value in item_attrs.items()}
        self.rows.write(image, image, self.journal)
        return self._item(image)

    def delete_item(self, hash_key: DynamoType, range_key: DynamoType | None) -> None:
        self.rows.write(self._key(hash_key, range_key), None, self.journal)

    def all_items(self) -> list[Item]:
        return [*map(self._item, self.rows)]

    def __len__(self) -> int:
        return len(self.rows)

    def _key(self, hash_key: DynamoType, range_key: DynamoType | None) -> Image:
        parts = (one for one in (hash_key, range_key) if one is not None)
        return {
            name: _plain(part.to_json())
            for name, part in zip(self.rows.key_names, parts, strict=True)
        }

    def _item(self, image: Image) -> Item:
        hash_key, *range_key = (DynamoType(image[name]) for name in self.rows.key_names)
        return Item(hash_key, range_key[0] if range_key else None, image)

    def __deepcopy__(self, _memo: dict[int, Any]) -> "JournaledTable":
        """A backup has the items of its moment; they are never changed, only replaced."""
        copied = copy.copy(self)
        copied.rows = Rows(key_names=self.rows.key_names, size=values.size)
        copied.reindex()
        for image in self.rows:
            copied.rows.write(image, image, Journal())
        return copied


class _Restored(JournaledTable):
    """A table with the items of another one."""

    def take(self, source: JournaledTable) -> None:
        self.reindex()  # moto has set the indexes by now
        for image in source.rows:
            self.rows.write(image, image, self.journal)


class JournaledRestoredTable(RestoredTable, _Restored):
    """A table that was made from a backup."""

    def __init__(self, name: str, account_id: str, region: str, backup: Any) -> None:
        super().__init__(name, account_id, region, backup)
        self.take(backup.table)


class JournaledPointInTimeTable(RestoredPITTable, _Restored):
    """A table that was made from another one."""

    def __init__(self, name: str, account_id: str, region: str, source: Any) -> None:
        super().__init__(name, account_id, region, source)
        self.take(source)


def _plain(value: Any) -> Any:
    """Return a value as DynamoDB stores it, also where moto has read its bytes."""
    plain = json.loads(dynamodb_json.encode(value))
    values.rewrite_value(plain)
    return plain


def install() -> None:
    """Let every table of moto's be one of these."""
    replace(dynamodb_models, "Table", JournaledTable)
    replace(dynamodb_models, "RestoredTable", JournaledRestoredTable)
    replace(dynamodb_models, "RestoredPITTable", JournaledPointInTimeTable)
    replace(DynamoDBBackend, "update_table_streams", _update_stream)
    _follow_indexes()


def _update_stream(_backend: DynamoDBBackend, changed: Table, stream: dict[str, Any]) -> None:
    """Let a stream that was switched off be switched on again; moto knows it by its label."""
    enabled = (changed.stream_specification or {}).get("StreamEnabled")
    if enabled and stream.get("StreamEnabled"):
        raise StreamAlreadyEnabledException
    changed.set_stream_specification(stream)


def _follow_indexes() -> None:
    """Fill an index that is added to a table with items."""
    change_indexes = DynamoDBBackend.update_table_global_indexes

    def update_table_global_indexes(
        backend: DynamoDBBackend, changed: Table, global_index_updates: list[dict[str, Any]]
    ) -> None:
        change_indexes(backend, changed, global_index_updates)
        if isinstance(changed, JournaledTable):
            changed.reindex()

    replace(DynamoDBBackend, "update_table_global_indexes", update_table_global_indexes)


def tables() -> list[JournaledTable]:
    found = dynamodb_backends[ACCOUNT][REGION].tables.values()
    return [table for table in found if isinstance(table, JournaledTable)]


def journals() -> dict[str, Journal]:
    """Return the journals by the names of their tables."""
    return {table.name: table.journal for table in tables()}


def table(name: str) -> JournaledTable | None:
    return next((one for one in tables() if one.name == name), None)


def encrypt(name: str, *, by_kms: bool, key: str | None) -> None:
    """Let DescribeTable say how a table is encrypted: by this key of KMS, or by the one that AWS
    keeps for DynamoDB, where ``key`` is None. moto's UpdateTable cannot set it, and a template's
    words for it are not those that moto reads."""
    found = table(name)
    if found is None:
        return
    if by_kms and key is None:
        key = found._get_default_encryption_key(ACCOUNT, REGION)  # noqa: SLF001 - no public way
    found.sse_specification = {"Enabled": by_kms, "KMSMasterKeyId": key}


def schema(name: str) -> Schema | None:
    """Return the key attributes of a table and its indexes, by the table's name or ARN."""
    found = by_name(name)
    return None if found is None else found.key_schema


def by_name(name: str) -> JournaledTable | None:
    """Return a table by its name or ARN."""
    return table(name.rsplit("/", maxsplit=1)[-1])


def table_of_stream(stream_arn: str) -> JournaledTable | None:
    return table(stream_arn.split(":")[5].split("/")[1])


@contextmanager
def exclusive() -> Iterator[None]:
    """One request at a time: moto's condition and write are two steps. Then publish its writes."""
    with _lock:
        try:
            yield
        finally:
            for one in tables():
                one.journal.commit()


def delete_expired(now_seconds: float) -> None:
    """Delete what TTL would have deleted by now."""
    for one in tables():
        with exclusive():
            for item in one.expired(now_seconds):
                one.rows.write(item, None, one.journal, by_ttl=True)


def _event_name(write: Write) -> str:
    if write.old is None:
        return "INSERT"
    return "REMOVE" if write.new is None else "MODIFY"


def _api_record(record: dict[str, Any]) -> dict[str, Any]:
    """A record as moto answers it: with capitals, a timestamp, and bytes, where the event has none,
    a number, and base64."""
    change = record["dynamodb"]
    moment = datetime.fromtimestamp(change["ApproximateCreationDateTime"], UTC)
    images = {
        name: {attribute: _with_bytes(value) for attribute, value in change[name].items()}
        for name in ("Keys", "NewImage", "OldImage")
        if name in change
    }
    told = {**change, **images, "ApproximateCreationDateTime": moment}
    answer = {**record, "dynamodb": told}
    if identity := record.get("userIdentity"):
        answer["userIdentity"] = {"Type": identity["type"], "PrincipalId": identity["principalId"]}
    return answer


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    ((kind, given),) = value.items()
    match kind:
        case "B":
            return {kind: base64.b64decode(given)}
        case "BS":
            return {kind: [*map(base64.b64decode, given)]}
        case "L":
            return {kind: [*map(_with_bytes, given)]}
        case "M":
            return {kind: {name: _with_bytes(one) for name, one in given.items()}}
    return value
