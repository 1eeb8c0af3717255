"""Exports in DynamoDB's S3 layout."""

import base64
import gzip
import hashlib
import itertools
import json
import random
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lifoq_localcloud.tables import exports, journal
from lifoq_localcloud.tables.exports import ExportRefusedError, Exports
from lifoq_localcloud.tables.journal import Journal

BUCKET = "exports"


class Shop:
    """A table with a journal, and a bucket, without a cloud around them."""

    table_arn = "arn:aws:dynamodb:us-east-1:123456789012:table/shop"
    recoverable = True

    def __init__(self) -> None:
        self.journal = Journal()
        self.objects: dict[str, bytes] = {}
        self.exports = Exports(
            table=lambda arn: self if arn == self.table_arn else None,
            bucket_exists=lambda bucket: bucket == BUCKET,
            put=lambda _bucket, key, body: self.objects.update({key: body}),
        )

    def write(self, key: str, old: int | None, new: int | None) -> int:
        """The write's time in microseconds."""
        self.journal.stage(key={"id": {"S": key}}, old=_image(key, old), new=_image(key, new))
        (write,) = self.journal.commit()
        return write.micros

    def export(self, **request: Any) -> dict[str, Any]:
        request = {"TableArn": self.table_arn, "S3Bucket": BUCKET, **request}
        accepted = self.exports.answer("ExportTableToPointInTime", request)["ExportDescription"]
        assert accepted["ExportStatus"] == "IN_PROGRESS"
        described = self.exports.answer("DescribeExport", {"ExportArn": accepted["ExportArn"]})
        return described["ExportDescription"]

    def rows(self, description: dict[str, Any]) -> list[dict[str, Any]]:
        """Resolved through the manifests, with every checksum verified."""
        summary = json.loads(self.objects[description["ExportManifest"]])
        rows = []
        for line in self.objects[summary["manifestFilesS3Key"]].splitlines():
            entry = json.loads(line)
            body = self.objects[entry["dataFileS3Key"]]
            md5 = hashlib.md5(body, usedforsecurity=False)
            assert entry["md5Checksum"] == base64.b64encode(md5.digest()).decode()
            lines = gzip.decompress(body).splitlines()
            assert entry["itemCount"] == len(lines)
            rows += [json.loads(one) for one in lines]
        assert summary["itemCount"] == len(rows)
        return sorted(rows, key=json.dumps)


def window(start_micros: int, end_micros: int) -> dict[str, Any]:
    times = {"ExportFromTime": start_micros / 1e6, "ExportToTime": end_micros / 1e6}
    return {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": times}


def _image(key: str, value: int | None) -> dict[str, Any] | None:
    return None if value is None else {"id": {"S": key}, "n": {"N": str(value)}}


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_an_export_is_the_table_at_a_moment_or_what_a_window_changed(shop):
    """Random writes of a few keys, and windows that meet."""
    chance = random.Random("exports")
    writes: list[tuple[int, str, int | None]] = []

    def state(moment: int) -> dict[str, int | None]:
        return {key: value for at, key, value in writes if at < moment}

    for number in range(60):
        key = chance.choice("abcdefgh")
        old = state(time.time_ns()).get(key)
        new = None if old is not None and chance.random() < 0.4 else number
        writes.append((shop.write(key, old, new), key, new))
    time.sleep(0.001)
    edges = [writes[number][0] for number in (1, 20, 21, 45)] + [time.time_ns() // 1000]
    for start, end in itertools.pairwise(edges):
        before, after = state(start), state(end)
        last = {key: at for at, key, _ in writes if start <= at < end}
        assert shop.rows(shop.export(ExportTime=end / 1e6)) == [
            {"Item": image} for key in sorted(after) if (image := _image(key, after[key]))
        ]
        changes = []
        for key in sorted(last):
            images = {"OldImage": _image(key, before.get(key)), "NewImage": _image(key, after[key])}
            if shown := {name: image for name, image in images.items() if image}:
                time_written = {"WriteTimestampMicros": {"N": str(last[key])}}
                changes.append({"Metadata": time_written, "Keys": {"id": {"S": key}}, **shown})
        assert shop.rows(shop.export(**window(start, end))) == sorted(changes, key=json.dumps)


def test_exports_are_listed_by_their_table(shop):
    made = shop.export()
    entry = {name: made[name] for name in ("ExportArn", "ExportStatus", "ExportType")}
    for asked, listed in (
        ({}, [entry]),
        ({"TableArn": shop.table_arn}, [entry]),
        ({"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/other"}, []),
    ):
        assert shop.exports.answer("ListExports", asked) == {"ExportSummaries": listed}


def test_the_layout_is_that_of_aws_and_bytes_are_base64(shop):
    key = {"id": {"S": "a"}}
    shop.journal.stage(key=key, old=None, new={**key, "list": {"L": [{"B": b"\x00\xff"}]}})
    shop.journal.commit()
    full = shop.export(S3Prefix="here")
    assert shop.rows(full) == [{"Item": {**key, "list": {"L": [{"B": "AP8="}]}}}]
    some = shop.export(S3Prefix="here", **window(0, time.time_ns() // 1000))

    for description in (full, some):
        folder = description["ExportManifest"].removesuffix("/manifest-summary.json")
        assert folder == f"here/AWSDynamoDB/{description['ExportArn'].rsplit('/', 1)[-1]}"
        assert shop.objects[f"{folder}/_started"] == b""
        for name in ("manifest-summary", "manifest-files"):
            md5 = hashlib.md5(shop.objects[f"{folder}/{name}.json"], usedforsecurity=False)
            checksum = base64.b64encode(md5.digest())
            assert shop.objects[f"{folder}/{name}.checksum"] == checksum
    folders = {key.rpartition("/")[0] for key in shop.objects if key.endswith(".json.gz")}
    assert folders == {
        full["ExportManifest"].replace("manifest-summary.json", "data"),
        "here/AWSDynamoDB/data",
    }


def test_an_export_and_its_summary_say_what_was_asked_for_and_what_there_is(shop):
    start, end = shop.write("a", None, 1) + 1, shop.write("a", 1, 2) + 1
    shop.write("b", None, 1)
    asked = window(start, end)
    asked["IncrementalExportSpecification"]["ExportViewType"] = "NEW_IMAGE"
    own_words = {"ClientToken": "mine", "S3Prefix": "here", "S3SseAlgorithm": "KMS"}
    time.sleep(0.001)  # the window lies in the past
    some = shop.export(**own_words, **asked)
    full = shop.export(ExportTime=end / 1e6)
    ((change,), (item,)) = (shop.rows(one) for one in (some, full))
    assert change.keys() == {"Metadata", "Keys", "NewImage"}
    assert (change["NewImage"], item) == (_image("a", 2), {"Item": _image("a", 2)})

    common = {"ExportStatus": "COMPLETED", "TableArn": shop.table_arn, "S3Bucket": BUCKET}
    common |= {"ExportFormat": "DYNAMODB_JSON", "ItemCount": 1, "TableId": full["TableId"]}
    own = ("ExportArn", "StartTime", "EndTime", "ExportManifest")
    for export, row, given in (
        (some, change, {**own_words, **asked}),
        (full, item, {"S3SseAlgorithm": "AES256", "ExportTime": end / 1e6}),
    ):
        summary = json.loads(shop.objects[export["ExportManifest"]])
        begun = {"ExportType": "FULL_EXPORT", "ClientToken": export["ExportArn"].split("/")[-1]}
        size = len(json.dumps(row, separators=(",", ":"))) + 1  # with the line's end
        told = {**common, **begun, **given, "BilledSizeBytes": size}
        assert export == {**told, **{name: export[name] for name in own}}
        folder = export["ExportManifest"].removesuffix("/manifest-summary.json")
        times = {"exportTime": end}
        if export is some:
            times = {"exportFromTime": start, "exportToTime": end}
        words = {"outputView": "NEW_IMAGE", "exportType": "INCREMENTAL_EXPORT"}
        assert summary == {
            "version": "2023-08-01" if export is some else "2020-06-30",
            "exportArn": export["ExportArn"],
            "startTime": _iso(export["StartTime"]),
            "endTime": _iso(export["EndTime"]),
            "tableArn": shop.table_arn,
            "tableId": full["TableId"],
            **{name: _iso(micros / 1e6) for name, micros in times.items()},
            "s3Bucket": BUCKET,
            "s3Prefix": given.get("S3Prefix"),
            "s3SseAlgorithm": given["S3SseAlgorithm"],
            "s3SseKmsKeyId": None,
            "manifestFilesS3Key": f"{folder}/manifest-files.json",
            "billedSizeBytes": size,
            "itemCount": 1,
            "outputFormat": "DYNAMODB_JSON",
            **(words if export is some else {}),
        }
    assert full["ExportManifest"].startswith("AWSDynamoDB/")


def _iso(epoch_seconds: float) -> str:
    moment = datetime.fromtimestamp(epoch_seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def test_a_clients_token_makes_a_request_idempotent(shop):
    first = shop.export(ClientToken="once")
    count = len(shop.objects)

    assert shop.export(ClientToken="once") == first
    assert len(shop.objects) == count
    with pytest.raises(ExportRefusedError) as refused:
        shop.export(ClientToken="once", S3Prefix="elsewhere")
    assert refused.value.code == "ExportConflictException"


def test_a_clients_token_is_known_for_eight_hours(shop, monkeypatch):
    first = shop.export(ClientToken="once")
    hours = 7.9
    begun, own = time.monotonic(), SimpleNamespace(time=time.time)
    own.monotonic = lambda: begun + hours * 3600
    monkeypatch.setattr(exports, "time", own)
    assert shop.export(ClientToken="once") == first
    hours = 8
    assert shop.export(ClientToken="once")["ExportArn"] != first["ExportArn"]


def test_a_window_ends_now_at_the_latest(shop, monkeypatch):
    monkeypatch.setattr(exports, "time", SimpleNamespace(time=lambda: 5.0, monotonic=lambda: 0.0))
    assert shop.rows(shop.export(**window(1, 5_000_000))) == []
    with pytest.raises(ExportRefusedError, match="must not lie in the future"):
        shop.export(**window(1, 5_000_001))


def test_each_write_has_a_time_of_its_own_and_is_waited_for(shop, monkeypatch):
    monkeypatch.setattr(journal, "time", SimpleNamespace(time_ns=lambda: 5_000))
    for key in "ab":
        shop.journal.stage(key={"id": {"S": key}}, old=None, new=_image(key, 1))
    told = [(write.key["id"]["S"], write.micros) for write in shop.journal.commit()]
    assert told == [("a", 5), ("b", 6)]
    assert [shop.journal.wait(position, 0.0) for position in (1, 2)] == [True, False]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"TableArn": "arn:aws:dynamodb:us-east-1:1:table/other"}, "TableNotFoundException"),
        ({"S3Bucket": "nowhere"}, "ValidationException"),
        ({"ExportType": "INCREMENTAL_EXPORT"}, "ValidationException"),
        ({"ExportFormat": "ION"}, "ValidationException"),
        (window(2, 1), "ValidationException"),
        (window(1, 1), "ValidationException"),
        (window(1, 9_000_000_000_000_000), "InvalidExportTimeException"),
        ({"unrecoverable": True}, "PointInTimeRecoveryUnavailableException"),
    ],
)
def test_what_dynamodb_would_refuse_is_refused_and_writes_nothing(shop, request_, code):
    shop.recoverable = "unrecoverable" not in request_
    with pytest.raises(ExportRefusedError) as refused:
        shop.export(**request_)

    assert refused.value.code == code
    assert shop.objects == {}


def test_an_export_that_nobody_made_is_not_found(shop):
    arn = f"{shop.table_arn}/export/none"
    with pytest.raises(ExportRefusedError, match=f"^Export not found: {arn}$") as refused:
        shop.exports.answer("DescribeExport", {"ExportArn": arn})
    assert refused.value.code == "ExportNotFoundException"


def test_a_refused_export_is_dynamodbs_own_error(deployed):
    with pytest.raises(ClientError) as refused:
        deployed.client("dynamodb").export_table_to_point_in_time(
            TableArn="arn:aws:dynamodb:us-east-1:123456789012:table/none", S3Bucket="b"
        )
    assert refused.value.response["Error"]["Code"] == "TableNotFoundException"


def test_a_table_is_exported_into_a_bucket_once_its_recovery_is_on(deployed):
    dynamodb, s3 = deployed.client("dynamodb"), deployed.client("s3")
    key = {"AttributeName": "id"}
    table = dynamodb.create_table(
        TableName="exported",
        KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )["TableDescription"]
    s3.create_bucket(Bucket="of-exports")
    asked = {"TableArn": table["TableArn"], "S3Bucket": "of-exports"}
    with pytest.raises(ClientError, match="is not enabled for table exported"):
        dynamodb.export_table_to_point_in_time(**asked)
    recovery = {"PointInTimeRecoveryEnabled": True}
    dynamodb.update_continuous_backups(
        TableName="exported", PointInTimeRecoverySpecification=recovery
    )
    with pytest.raises(ClientError, match="The bucket nowhere does not exist"):
        dynamodb.export_table_to_point_in_time(**{**asked, "S3Bucket": "nowhere"})
    told = dynamodb.export_table_to_point_in_time(**asked)["ExportDescription"]
    (listed,) = dynamodb.list_exports(TableArn=table["TableArn"])["ExportSummaries"]
    assert (listed["ExportArn"], told["TableArn"]) == (told["ExportArn"], table["TableArn"])
    assert s3.get_object(Bucket="of-exports", Key=told["ExportManifest"])
    dynamodb.delete_table(TableName="exported")
