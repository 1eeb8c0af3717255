"""Exports of the queue's table, as AWS writes them: one full, and incremental ones over the run."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

PREFIX = "demo"
COMPLETION_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Window:
    """Epoch seconds; ``start`` inclusive, ``end`` exclusive."""

    start: int
    end: int


def windows(*, start: int, end: int, deadline_seconds: float) -> Iterator[Window]:
    """Consecutive windows that cover the run, each half as long as the shedding deadline: no task
    can be put and deleted inside one, and leave no row."""
    length = max(1, int(deadline_seconds / 2))
    for moment in range(start, end, length):
        yield Window(start=moment, end=min(moment + length, end))


class Exporter:
    """Exports one table into one bucket."""

    def __init__(
        self, *, dynamodb: "DynamoDBClient", s3: "S3Client", table_arn: str, bucket: str
    ) -> None:
        self._dynamodb = dynamodb
        self._s3 = s3
        self._table_arn = table_arn
        self._bucket = bucket

    def full(self, moment: int) -> None:
        """The table as it was at a moment (epoch seconds)."""
        self._export(ExportType="FULL_EXPORT", ExportTime=_moment(moment))

    def incremental(self, window: Window) -> None:
        """What changed within the window."""
        self._export(
            ExportType="INCREMENTAL_EXPORT",
            IncrementalExportSpecification={
                "ExportFromTime": _moment(window.start),
                "ExportToTime": _moment(window.end),
                "ExportViewType": "NEW_AND_OLD_IMAGES",
            },
        )

    def copy(self, folder: Path) -> None:
        """Copy all exports to a local folder, their layout kept."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=f"{PREFIX}/"
        )
        for key in [found["Key"] for page in pages for found in page.get("Contents", [])]:
            path = folder / key.removeprefix(f"{PREFIX}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._s3.download_file(self._bucket, key, str(path))

    def _export(self, **request: Any) -> None:
        description = self._dynamodb.export_table_to_point_in_time(
            TableArn=self._table_arn,
            S3Bucket=self._bucket,
            S3Prefix=PREFIX,
            ExportFormat="DYNAMODB_JSON",
            **request,
        )["ExportDescription"]
        give_up = time.monotonic() + COMPLETION_SECONDS
        while description["ExportStatus"] == "IN_PROGRESS" and time.monotonic() < give_up:
            time.sleep(0.1)
            description = self._dynamodb.describe_export(ExportArn=description["ExportArn"])[
                "ExportDescription"
            ]
        if description["ExportStatus"] != "COMPLETED":
            raise RuntimeError(
                f"export {description['ExportArn']} is {description['ExportStatus']}: "
                f"{description.get('FailureMessage', 'no reason given')}"
            )


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
