"""Writes table exports as DynamoDB lays them out in S3, as far as they are read: manifests, gzipped
lines."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lifoq.aws.dynamo_values import typed
from lifoq.basics.times import iso
from lifoq.items.change import Item


def full_line(item: Item) -> dict[str, Any]:
    return {"Item": typed(item)}


def incremental_line(
    task_id: str, written_at: int, old: Item | None, new: Item | None
) -> dict[str, Any]:
    images = {"OldImage": old, "NewImage": new}
    return {
        "Metadata": {"WriteTimestampMicros": {"N": str(written_at)}},
        "Keys": {"taskId": {"S": task_id}},
        **{name: typed(image) for name, image in images.items() if image is not None},
    }


@dataclass(kw_only=True)
class Exporter:
    """Exports into ``<root>/AWSDynamoDB``, under keys that begin with ``prefix``."""

    root: Path
    prefix: str = ""
    table: str = "Tasks"
    exports: int = 0
    """Made so far; ids go on from here."""

    def full(self, lines: Iterable[Any], *, at: int, files: int = 1) -> Path:
        """Returns the export's folder. A line is JSON data, or text that is written as it is."""
        times = {"exportTime": iso(at), "exportType": "FULL_EXPORT"}
        return self._write(lines, times, files)

    def incremental(self, lines: Iterable[Any], *, start: int, end: int, files: int = 1) -> Path:
        times = {
            "exportFromTime": iso(start),
            "exportToTime": iso(end),
            "exportType": "INCREMENTAL_EXPORT",
            "outputView": "NEW_AND_OLD_IMAGES",
        }
        return self._write(lines, times, files)

    def _write(self, lines: Iterable[Any], times: dict[str, str], files: int) -> Path:
        self.exports += 1
        export_id = f"{1_700_000_000_000 + self.exports:014d}-{self.exports:08x}"
        base, shared = self.root / "AWSDynamoDB", "exportToTime" in times
        folder, data = base / export_id, "data" if shared else f"{export_id}/data"
        folder.mkdir(parents=True)
        (base / data).mkdir(exist_ok=True)
        all_lines, entries = list(lines), []
        for number in range(files):
            name = f"{data}/{export_id[-8:]}{number:04d}.json.gz"
            entry = write_data(base / name, all_lines[number::files])
            key = f"{self.prefix}/AWSDynamoDB/{name}".removeprefix("/")
            entries.append(json.dumps({**entry, "dataFileS3Key": key}) + "\n")
        arn = f"arn:aws:dynamodb:us-east-1:123456789012:table/{self.table}"
        summary = {"tableArn": arn, "outputFormat": "DYNAMODB_JSON", **times}
        (folder / "manifest-summary.json").write_text(json.dumps(summary))
        (folder / "manifest-files.json").write_text("".join(entries))
        return folder


def write_data(path: Path, lines: Iterable[Any]) -> dict[str, Any]:
    """Write a data file; returns what its manifest says about it, but for the key."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    content = gzip.compress("".join(f"{text}\n" for text in texts).encode(), compresslevel=1)
    path.write_bytes(content)
    return {"itemCount": len(texts), "md5Checksum": md5(content)}


def md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
