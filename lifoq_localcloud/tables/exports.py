"""Point-in-time exports of a table to S3, in the layout that AWS writes.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
"""

import base64
import gzip
import hashlib
import json
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from lifoq_localcloud.tables import dynamodb_json
from lifoq_localcloud.tables.journal import Image, Journal, Write

FILES = 2
"""Into how many files the rows are spread; AWS uses one per partition."""
TOKEN_SECONDS = 8 * 3600.0
"""Seconds for which a client's token makes a request idempotent."""

Request = dict[str, Any]
Row = dict[str, Any]


class ExportRefusedError(Exception):
    """A request that DynamoDB would refuse; ``code`` is the service's name for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ExportedTable(Protocol):
    """The parts of a table that an export needs."""

    @property
    def table_arn(self) -> str: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def recoverable(self) -> bool:
        """True if point-in-time recovery is on."""


@dataclass(kw_only=True)
class _Export:
    description: dict[str, Any]
    accepted_at: float = field(default_factory=time.monotonic)


class Exports:
    """The exports of one local cloud. They are written at once, before the call returns."""

    def __init__(
        self,
        *,
        table: Callable[[str], ExportedTable | None],
        bucket_exists: Callable[[str], bool],
        put: Callable[[str, str, bytes], None],
    ) -> None:
        self._table = table
        self._bucket_exists = bucket_exists
        self._put = put
        self._lock = threading.Lock()
        self._exports: dict[str, _Export] = {}
        self._by_token: dict[str, tuple[Request, _Export]] = {}

    def answer(self, operation: str, request: Request) -> dict[str, Any]:
        """Any of the three operations. Raises ExportRefusedError."""
        with self._lock:
            match operation:
                case "ExportTableToPointInTime":
                    return {"ExportDescription": self._export(request)}
                case "DescribeExport":
                    return {"ExportDescription": self._described(request["ExportArn"])}
                case "ListExports":
                    return {"ExportSummaries": self._summaries(request.get("TableArn"))}
        raise ExportRefusedError("UnknownOperationException", f"There is no {operation}.")

    def _described(self, arn: str) -> dict[str, Any]:
        if arn not in self._exports:
            raise ExportRefusedError("ExportNotFoundException", f"Export not found: {arn}")
        return self._exports[arn].description

    def _summaries(self, table_arn: str | None) -> list[dict[str, Any]]:
        return [
            {name: one.description[name] for name in ("ExportArn", "ExportStatus", "ExportType")}
            for one in self._exports.values()
            if table_arn is None or one.description["TableArn"] == table_arn
        ]

    def _export(self, request: Request) -> dict[str, Any]:
        if (token := request.get("ClientToken")) and token in self._by_token:
            earlier, export = self._by_token[token]
            if time.monotonic() - export.accepted_at < TOKEN_SECONDS:
                if earlier != request:
                    raise ExportRefusedError(
                        "ExportConflictException",
                        "There was a conflict when writing to the specified S3 bucket: "
                        "the client token was used with other parameters.",
                    )
                return {**export.description, "ExportStatus": "IN_PROGRESS"}
        table = self._checked_table(request)
        window = _Window.of(request)
        description = self._write(request, table, window)
        export = _Export(description=description)
        self._exports[description["ExportArn"]] = export
        if token:
            self._by_token[token] = (request, export)
        # AWS works on it for minutes; whoever asks again finds it completed.
        return {**description, "ExportStatus": "IN_PROGRESS"}

    def _checked_table(self, request: Request) -> ExportedTable:
        table = self._table(request["TableArn"])
        if table is None:
            raise ExportRefusedError(
                "TableNotFoundException", f"Table not found: {request['TableArn']}"
            )
        if not table.recoverable:
            raise ExportRefusedError(
                "PointInTimeRecoveryUnavailableException",
                f"Point in time recovery is not enabled for table {table.table_arn.split('/')[-1]}",
            )
        if not self._bucket_exists(request["S3Bucket"]):
            raise ExportRefusedError(
                "ValidationException", f"The bucket {request['S3Bucket']} does not exist"
            )
        if request.get("ExportFormat", "DYNAMODB_JSON") != "DYNAMODB_JSON":
            raise ExportRefusedError(
                "ValidationException", "The local cloud exports DYNAMODB_JSON only"
            )
        return table

    def _write(self, request: Request, table: ExportedTable, window: "_Window") -> dict[str, Any]:
        started = time.time()
        export_id = f"{int(started * 1000):014d}-{secrets.token_hex(4)}"
        prefix = request.get("S3Prefix", "")
        root = f"{prefix}/AWSDynamoDB" if prefix else "AWSDynamoDB"
        rows = window.rows(table)
        bucket = request["S3Bucket"]
        # Full data lies with its export; incremental data of all exports lies together.
        data = f"{root}/{export_id}/data" if window.full else f"{root}/data"
        self._put(bucket, f"{root}/{export_id}/_started", b"")
        files, size = [], 0
        for number in range(FILES):
            part = rows[number::FILES]
            text = "".join(dynamodb_json.encode(row) + "\n" for row in part).encode()
            size += len(text)
            files.append(self._put_data(bucket, data, text, len(part)))
        manifest = f"{root}/{export_id}/manifest-files.json"
        lines = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in files)
        self._put_with_checksum(bucket, manifest, lines.encode())
        description = {
            "ExportArn": f"{table.table_arn}/export/{export_id}",
            "ExportStatus": "COMPLETED",
            "StartTime": started,
            "EndTime": time.time(),
            "ExportManifest": f"{root}/{export_id}/manifest-summary.json",
            "TableArn": table.table_arn,
            "TableId": str(_table_id(table.table_arn)),
            "ClientToken": request.get("ClientToken", export_id),
            "S3Bucket": bucket,
            "S3Prefix": prefix or None,
            "S3SseAlgorithm": request.get("S3SseAlgorithm", "AES256"),
            "ExportFormat": "DYNAMODB_JSON",
            "BilledSizeBytes": size,
            "ItemCount": len(rows),
            **window.description(),
        }
        description = {name: value for name, value in description.items() if value is not None}
        summary = _summary(description, manifest)
        self._put_with_checksum(
            bucket,
            description["ExportManifest"],
            json.dumps(summary, separators=(",", ":")).encode(),
        )
        return description

    def _put_data(self, bucket: str, folder: str, text: bytes, count: int) -> dict[str, Any]:
        name = base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()
        body = gzip.compress(text, compresslevel=6, mtime=0)
        key = f"{folder}/{name}.json.gz"
        self._put(bucket, key, body)
        digest = hashlib.md5(body, usedforsecurity=False)
        return {
            "itemCount": count,
            "md5Checksum": base64.b64encode(digest.digest()).decode(),
            "etag": digest.hexdigest() + "-1",
            "dataFileS3Key": key,
        }

    def _put_with_checksum(self, bucket: str, key: str, body: bytes) -> None:
        """A manifest's ``.checksum`` file holds its MD5 in base64."""
        self._put(bucket, key, body)
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        folder, _, name = key.rpartition("/")
        stem = name.removesuffix(".json")
        self._put(bucket, f"{folder}/{stem}.checksum", base64.b64encode(digest))


@dataclass(frozen=True, kw_only=True)
class _Window:
    """The window of an export: the table at ``end``, or the changes from ``start`` up to ``end``.

    Both are epoch microseconds; the end is exclusive.
    """

    start: int | None
    end: int
    view: str

    @property
    def full(self) -> bool:
        return self.start is None

    @classmethod
    def of(cls, request: Request) -> "_Window":
        now = time.time()
        if request.get("ExportType", "FULL_EXPORT") == "FULL_EXPORT":
            end = float(request.get("ExportTime", now))
            return cls(start=None, end=_micros(end), view="NEW_AND_OLD_IMAGES")
        specification = request.get("IncrementalExportSpecification", {})
        if "ExportFromTime" not in specification:
            raise ExportRefusedError(
                "ValidationException", "An incremental export needs an ExportFromTime"
            )
        start = float(specification["ExportFromTime"])
        end = float(specification.get("ExportToTime", now))
        if start >= end:
            raise ExportRefusedError(
                "ValidationException", "ExportFromTime must be earlier than ExportToTime"
            )
        if end > now:
            raise ExportRefusedError(
                "InvalidExportTimeException", "ExportToTime must not lie in the future"
            )
        view = specification.get("ExportViewType", "NEW_AND_OLD_IMAGES")
        return cls(start=_micros(start), end=_micros(end), view=view)

    def rows(self, table: ExportedTable) -> list[Row]:
        if self.start is None:
            return [{"Item": item} for item in _state(table.journal.between(0, self.end))]
        rows = (
            _row(writes, self.view)
            for writes in _by_item(table.journal.between(self.start, self.end))
        )
        return [row for row in rows if row is not None]

    def description(self) -> dict[str, Any]:
        if self.start is None:
            return {"ExportType": "FULL_EXPORT", "ExportTime": self.end / 1_000_000}
        return {
            "ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": {
                "ExportFromTime": self.start / 1_000_000,
                "ExportToTime": self.end / 1_000_000,
                "ExportViewType": self.view,
            },
        }


def _by_item(writes: Iterable[Write]) -> Iterable[list[Write]]:
    items: dict[str, list[Write]] = {}
    for write in writes:
        items.setdefault(dynamodb_json.encode(write.key), []).append(write)
    return items.values()


def _state(writes: Iterable[Write]) -> list[Image]:
    """The items that are there after these writes."""
    last = (one[-1].new for one in _by_item(writes))
    return [image for image in last if image is not None]


def _row(writes: list[Write], view: str) -> Row | None:
    """An item's last state in the window, and the state before it; none if it came and went."""
    first, last = writes[0], writes[-1]
    if first.old is None and last.new is None:
        return None
    row: Row = {
        "Metadata": {"WriteTimestampMicros": {"N": str(last.micros)}},
        "Keys": last.key,
    }
    if first.old is not None and view == "NEW_AND_OLD_IMAGES":
        row["OldImage"] = first.old
    if last.new is not None:
        row["NewImage"] = last.new
    return row


def _summary(description: Mapping[str, Any], manifest: str) -> dict[str, Any]:
    """``manifest-summary.json``."""
    full = description["ExportType"] == "FULL_EXPORT"
    summary: dict[str, Any] = {
        "version": "2020-06-30" if full else "2023-08-01",
        "exportArn": description["ExportArn"],
        "startTime": _iso(description["StartTime"]),
        "endTime": _iso(description["EndTime"]),
        "tableArn": description["TableArn"],
        "tableId": description["TableId"],
    }
    if full:
        summary["exportTime"] = _iso(description["ExportTime"])
    else:
        window = description["IncrementalExportSpecification"]
        summary["exportFromTime"] = _iso(window["ExportFromTime"])
        summary["exportToTime"] = _iso(window["ExportToTime"])
    summary |= {
        "s3Bucket": description["S3Bucket"],
        "s3Prefix": description.get("S3Prefix"),
        "s3SseAlgorithm": description["S3SseAlgorithm"],
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": manifest,
        "billedSizeBytes": description["BilledSizeBytes"],
        "itemCount": description["ItemCount"],
        "outputFormat": "DYNAMODB_JSON",
    }
    if not full:
        summary["outputView"] = (
            "NEW_AND_OLD_IMAGES"
            if description["IncrementalExportSpecification"]["ExportViewType"]
            == "NEW_AND_OLD_IMAGES"
            else "NEW_IMAGE"
        )
        summary["exportType"] = "INCREMENTAL_EXPORT"
    return summary


def _table_id(arn: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, arn)


def _micros(epoch_seconds: float) -> int:
    return round(epoch_seconds * 1_000_000)


def _iso(epoch_seconds: float) -> str:
    moment = datetime.fromtimestamp(epoch_seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
