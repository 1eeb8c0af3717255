"""Table exports as DynamoDB lays them out in S3, found and resolved through their manifests.

``<root>/AWSDynamoDB/<ExportId>/manifest-summary.json`` tells what the export is,
``manifest-files.json`` beside it names the data files: a full export's own lie in
``<ExportId>/data/``, those of all incremental exports in a shared ``AWSDynamoDB/data/``. Keys are
resolved against the folder that the summary lies in, so that a copy can be read under any prefix.
A file that no manifest names is not read.
"""

import base64
import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lifoq_analytics import storage, times
from lifoq_analytics.errors import ExportNotFoundError, ManifestError, OptionError

SUMMARY: Final = "manifest-summary.json"
FILES: Final = "manifest-files.json"


class Kind(StrEnum):
    FULL = "FULL_EXPORT"
    """The table at one moment."""
    INCREMENTAL = "INCREMENTAL_EXPORT"
    """An export of the changes in a window. The window's start belongs to it, its end does not."""


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A data file as a manifest promises it; what the manifest leaves open is None."""

    path: str
    items: int | None
    md5: str | None
    """Hexadecimal."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """One export. A full one starts and ends at its moment. Times are epoch microseconds."""

    folder: str
    table: str
    kind: Kind
    start: int
    end: int
    files: tuple[DataFile, ...]

    @property
    def table_name(self) -> str:
        return self.table.rpartition("/")[2]


def find(paths: Iterable[str], *, cells: bool = False) -> list[Export]:
    """The exports in these folders and below, by time; one that is found twice is one.

    Raises ``ExportNotFoundError`` for a path without an export, ``ManifestError`` for a manifest
    that cannot be followed, ``OptionError`` where exports of several tables would be mixed,
    and the tables are not said to be ``cells`` of one queue.
    """
    folders = list(paths)
    for path in folders:
        if not storage.exists(path):
            raise ExportNotFoundError(path)
    manifests = storage.read_all(
        {
            file.path
            for folder in folders
            for file in storage.listed(folder)
            if posixpath.basename(file.path) in (SUMMARY, FILES)
        }
    )
    summaries = [path for path in manifests if posixpath.basename(path) == SUMMARY]
    for path in folders:
        if not any(summary.startswith(f"{path.rstrip('/')}/") for summary in summaries):
            raise ExportNotFoundError(path)
    exports = sorted(
        (_read(manifests, summary) for summary in summaries),
        key=lambda export: (export.end, export.start, export.folder),
    )
    tables = sorted({export.table for export in exports})
    if len(tables) > 1 and not cells:
        raise OptionError(
            "PATH",
            " and ".join(tables),
            "name exports of one table; or give --cells, where the tables are cells of one queue.",
        )
    return exports


def _read(manifests: Mapping[str, bytes], summary_path: str) -> Export:
    summary = _json_object(summary_path, manifests[summary_path])
    kind = _kind(summary_path, summary)
    if kind is Kind.FULL:
        start = end = _time(summary_path, summary, "exportTime")
    else:
        start = _time(summary_path, summary, "exportFromTime")
        end = _time(summary_path, summary, "exportToTime")
    folder = posixpath.dirname(summary_path)
    return Export(
        folder=folder,
        table=str(summary.get("tableArn", "")),
        kind=kind,
        start=start,
        end=end,
        files=_files(manifests, folder),
    )


def _kind(summary_path: str, summary: dict[str, Any]) -> Kind:
    # Exports from before the incremental kind existed do not name theirs.
    name = summary.get("exportType", Kind.FULL)
    if name not in tuple(Kind):
        raise ManifestError(summary_path, f"has the unknown exportType {name!r}.")
    output_format = summary.get("outputFormat", "DYNAMODB_JSON")
    if output_format != "DYNAMODB_JSON":
        raise ManifestError(
            summary_path,
            f"has the outputFormat {output_format!r}: export again with DYNAMODB_JSON.",
        )
    view = summary.get("outputView", "NEW_AND_OLD_IMAGES")
    if view != "NEW_AND_OLD_IMAGES":
        raise ManifestError(
            summary_path,
            f"has the outputView {view!r}, which does not tell what was shed: "
            "export again with NEW_AND_OLD_IMAGES.",
        )
    return Kind(name)


def _files(manifests: Mapping[str, bytes], folder: str) -> tuple[DataFile, ...]:
    manifest = posixpath.join(folder, FILES)
    if manifest not in manifests:
        raise ManifestError(manifest, "is missing: copy the whole export again.")
    root = posixpath.dirname(folder)
    return tuple(
        _data_file(manifest, root, _json_object(manifest, line))
        for line in manifests[manifest].splitlines()
        if line.strip()
    )


def _data_file(manifest: str, root: str, entry: dict[str, Any]) -> DataFile:
    key = entry.get("dataFileS3Key")
    if not isinstance(key, str):
        raise ManifestError(manifest, "has a line without dataFileS3Key: copy the export again.")
    checksum = entry.get("md5Checksum")
    try:
        md5 = base64.b64decode(checksum, validate=True).hex() if checksum else None
    except (ValueError, TypeError) as error:
        raise ManifestError(manifest, f"has the md5Checksum {checksum!r} of {key}.") from error
    items = entry.get("itemCount")
    inside = key.rpartition("AWSDynamoDB/")[2]
    if ".." in inside.split("/") or inside.startswith("/"):
        raise ManifestError(
            manifest,
            f"has the dataFileS3Key {key!r}, which leads out of the export: do not use it.",
        )
    return DataFile(
        path=posixpath.join(root, inside),
        items=items if isinstance(items, int) else None,
        md5=md5,
    )


def _json_object(path: str, content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError as error:
        raise ManifestError(path, "is truncated or not JSON: copy the export again.") from error
    if not isinstance(value, dict):
        raise ManifestError(path, "does not hold a JSON object: copy the export again.")
    return value


def _time(path: str, summary: dict[str, Any], name: str) -> int:
    try:
        return times.from_iso(summary[name])
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestError(
            path, f"has no usable {name} ({summary.get(name)!r}): copy the export again."
        ) from error
