"""Writes table exports as DynamoDB lays them out in S3: manifests, checksums, gzipped lines."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from lifoq.basics.times import iso
from lifoq.items.schema import ATTRIBUTE_TYPES, Attribute

TABLE_ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/Tasks"

Item = Mapping[str, Any]


def marshal(item: Item) -> dict[str, dict[str, Any]]:
    """The item in DynamoDB's JSON notation."""
    return {
        name: TypeSerializer().serialize(value)
        if isinstance(value, list)
        else {ATTRIBUTE_TYPES[Attribute(name)]: str(value)}
        for name, value in item.items()
    }


def full_line(item: Item) -> dict[str, Any]:
    return {"Item": marshal(item)}


def incremental_line(
    task_id: str, written_at: int, old: Item | None, new: Item | None
) -> dict[str, Any]:
    line: dict[str, Any] = {
        "Metadata": {"WriteTimestampMicros": {"N": str(written_at)}},
        "Keys": {"taskId": {"S": task_id}},
    }
    if old is not None:
        line["OldImage"] = marshal(old)
    if new is not None:
        line["NewImage"] = marshal(new)
    return line


@dataclass(kw_only=True)
class Exporter:
    """Exports into ``<root>/AWSDynamoDB``, under keys that begin with ``prefix``."""

    root: Path
    prefix: str = ""
    table_arn: str = TABLE_ARN
    exports: int = 0
    """Made so far; ids go on from here."""

    def full(self, lines: Iterable[Any], *, at: int, files: int = 1) -> Path:
        """Returns the export's folder. A line is JSON data, or text that is written as it is."""
        export_id = self._next_id()
        times = {"exportTime": iso(at), "exportType": "FULL_EXPORT"}
        return self._write(export_id, f"{export_id}/data", list(lines), times, files)

    def incremental(self, lines: Iterable[Any], *, start: int, end: int, files: int = 1) -> Path:
        times = {
            "exportFromTime": iso(start),
            "exportToTime": iso(end),
            "exportType": "INCREMENTAL_EXPORT",
            "outputView": "NEW_AND_OLD_IMAGES",
        }
        return self._write(self._next_id(), "data", list(lines), times, files)

    def _next_id(self) -> str:
        self.exports += 1
        return f"{1_700_000_000_000 + self.exports:014d}-{self.exports:08x}"

    def _write(
        self, export_id: str, data: str, lines: Sequence[Any], times: dict[str, str], files: int
    ) -> Path:
        base = self.root / "AWSDynamoDB"
        folder = base / export_id
        folder.mkdir(parents=True)
        (base / data).mkdir(parents=True, exist_ok=True)
        key = f"{self.prefix}/AWSDynamoDB" if self.prefix else "AWSDynamoDB"
        entries = []
        for number in range(files):
            share = lines[number::files]
            name = f"{data}/{export_id[-8:]}{number:04d}.json.gz"
            entry = write_data(base / name, share)
            entries.append({**entry, "dataFileS3Key": f"{key}/{name}"})
        files_json = "".join(json.dumps(entry) + "\n" for entry in entries)
        summary = {
            "version": "2023-08-01",
            "exportArn": f"{self.table_arn}/export/{export_id}",
            "tableArn": self.table_arn,
            "tableId": "0a1b2c3d-0000-1111-2222-333344445555",
            **times,
            "s3Bucket": "exports",
            "s3Prefix": self.prefix or None,
            "s3SseAlgorithm": "AES256",
            "s3SseKmsKeyId": None,
            "manifestFilesS3Key": f"{key}/{export_id}/manifest-files.json",
            "billedSizeBytes": 0,
            "itemCount": len(lines),
            "outputFormat": "DYNAMODB_JSON",
        }
        (folder / "_started").touch()
        for name, text in (
            ("manifest-summary", json.dumps(summary)),
            ("manifest-files", files_json),
        ):
            (folder / f"{name}.json").write_text(text)
            (folder / f"{name}.checksum").write_bytes(_md5(text.encode()))
        return folder


def write_data(path: Path, lines: Sequence[Any]) -> dict[str, Any]:
    """Write a data file; returns what its manifest says about it, but for the key."""
    text = "".join(
        (line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))) + "\n"
        for line in lines
    )
    content = gzip.compress(text.encode(), compresslevel=1, mtime=0)
    path.write_bytes(content)
    return {
        "itemCount": len(lines),
        "md5Checksum": _md5(content).decode(),
        "etag": hashlib.md5(content, usedforsecurity=False).hexdigest(),
    }


def _md5(content: bytes) -> bytes:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest())
