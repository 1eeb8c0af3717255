"""A report from S3 to S3: nothing but Arrow's file system and the environment's credentials."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.credentials import Credentials

from lifoq_analytics import storage
from lifoq_analytics.errors import StorageError
from tests.analytics.exportfiles import Exporter, full_line
from tests.analytics.items import at, item


@pytest.fixture
def bucket(moto_endpoint, monkeypatch) -> Iterator[Any]:
    """In an S3 of this machine, which the environment names."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    forget()
    made = boto3.resource("s3").create_bucket(Bucket="exports")
    yield made
    made.objects.delete()
    made.delete()
    forget()


def forget() -> None:
    storage._s3.cache_clear()
    storage._credentials.cache_clear()


@pytest.mark.prove
def test_exports_in_s3_make_a_report_in_s3_again_and_again_without_an_activated_environment(
    bucket, tmp_path
):
    """In a process of its own, since Spark's workers keep the environment that they began with."""
    lines = [full_line(item(f"t{number}", "PENDING")) for number in range(3)]
    Exporter(root=tmp_path).full([*lines, "bad"], at=at(60), files=2)
    for file in (file for file in tmp_path.rglob("*") if file.is_file()):
        bucket.upload_file(str(file), f"all of/them 100%/{file.relative_to(tmp_path)}")
    root = "s3://exports"
    command = [
        *(sys.executable, "-m", "lifoq_analytics.report", f"{root}/all of/them 100%"),
        *("--out", f"{root}/out", "--state", "s3a://exports/state", "--format", "json"),
    ]

    first = tmp_path / "bin" / "python3"  # of whoever has activated nothing: it knows no report
    first.parent.mkdir()
    first.write_text("#!/bin/sh\nexit 1\n")
    first.chmod(0o755)
    path = f"{first.parent}{os.pathsep}{os.environ['PATH']}"

    for _ in range(2):
        told = subprocess.run(
            command, env={**os.environ, "PATH": path}, capture_output=True, check=False, text=True
        )
        assert told.returncode == 0, told.stderr
        assert '"created": 3' in told.stdout
        assert all(line.startswith("step: ") for line in told.stderr.splitlines()), told.stderr

    written = {each.key for each in bucket.objects.all() if not each.key.endswith("/")}
    assert {"out/report.html", "out/tasks.parquet/part-00000.parquet"} <= written
    for folder in ("out/quarantine.parquet/", "state/observations/window="):
        assert any(key.startswith(folder) for key in written)
    assert storage.read(f"{root}/out/summary.json").decode().strip() == told.stdout.strip()


def test_sizes_are_those_of_the_files_that_lie_in_the_folder_itself(tmp_path):
    (tmp_path / "inner").mkdir()
    for name in ("summary.json", "inner/part"):
        (tmp_path / name).write_bytes(b"12")
    assert storage.sizes(str(tmp_path)) == {"summary.json": 2}


def test_s3_that_refuses_is_told_with_the_path(bucket):
    bucket.delete()
    with pytest.raises(StorageError, match="s3://exports/reports/x cannot be reached"):
        storage.write("s3://exports/reports/x", b"text")
    boto3.resource("s3").create_bucket(Bucket="exports")


def test_s3_is_reached_with_what_boto3_finds_as_long_as_that_holds(bucket, monkeypatch):
    """Arrow's own search was seen to find nothing where Glue's workers run; boto3's does."""
    made: list[str] = []
    original = storage.fs.S3FileSystem

    def file_system(**given: Any) -> Any:
        made.append(given["access_key"])
        return original(**given)

    monkeypatch.setattr(storage.fs, "S3FileSystem", file_system)
    found = Credentials("first", "secret", "token")
    monkeypatch.setattr(storage, "_credentials", cache(lambda: found))
    for key in ("first", "first", "refreshed"):
        found.access_key = key
        storage.write("s3://exports/x", b"text")
    assert made == ["first", "refreshed"]


def test_what_was_written_to_s3_is_found_read_and_deleted_there(bucket):
    path, table = "s3://exports/a/part.parquet", pa.table({"numbers": [1, 2]})
    storage.write_parquet(path, table)
    assert storage.read_parquet(path) == table
    (found,) = storage.listed("s3://exports/a/")
    with storage.open_stream(path) as stream:
        assert (found.path, found.size) == (path, len(stream.read()))
    assert storage.sizes("s3://exports/a") == {"part.parquet": found.size}
    storage.delete("s3://exports/a")
    assert not storage.exists(path)


def test_words_are_written_once_and_numbers_as_they_are(tmp_path):
    path = str(tmp_path / "a folder" / "part.parquet")
    words, numbers = pa.array(["a", "b", "a"]).dictionary_encode(), [1, 2, 1]
    table = pa.table({"words": words, "numbers": numbers})
    storage.write_parquet(path, table)
    group = pq.read_metadata(path).row_group(0)
    assert [group.column(n).has_dictionary_page for n in range(2)] == [True, False]
    assert storage.read_parquet(path) == table
    assert storage.read_parquet(path, ["numbers"]).to_pydict() == {"numbers": numbers}


def test_s3_is_told_from_folders_by_how_a_path_begins():
    told = {path: storage.is_remote(path) for path in ("s3://b", "s3a://b/c", "/s3://b", "s3/b")}
    assert told == {"s3://b": True, "s3a://b/c": True, "/s3://b": False, "s3/b": False}


def test_files_are_listed_copied_and_deleted_with_all_that_a_folder_holds(tmp_path):
    folder, other = str(tmp_path / "a folder"), str(tmp_path / "other")
    for name, content in (("b", b"123"), ("inner/a", b"1"), ("a", b"12")):
        storage.write(f"{folder}/{name}", content)
    known = [(f"{folder}/a", 2), (f"{folder}/b", 3), (f"{folder}/inner/a", 1)]
    for named in (folder, f"{folder}/"):
        assert [(file.path, file.size) for file in storage.listed(named)] == known
    assert storage.read_all([f"{folder}/b", f"{folder}/a"]) == {
        f"{folder}/a": b"12",
        f"{folder}/b": b"123",
    }
    storage.copy(f"{folder}/inner", other, prefix="of-")
    storage.copy(str(tmp_path / "none"), other)
    storage.delete(f"{folder}/b")
    assert storage.sizes(folder) == {"a": 2}
    assert (storage.exists(f"{folder}/a"), storage.exists(folder)) == (True, True)
    for path in (folder, str(tmp_path / "none")):
        storage.delete(path)
        assert not storage.exists(path)
        assert (storage.listed(path), storage.sizes(path)) == ([], {})
    assert [(file.path, file.size) for file in storage.listed(other)] == [(f"{other}/of-a", 1)]
    with storage.open_stream(f"{other}/of-a") as stream:
        assert stream.read() == b"1"


@pytest.mark.parametrize(
    ("known", "region"),
    [
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1"}, "eu-west-1"),
        ({"AWS_REGION": "", "AWS_DEFAULT_REGION": "us-east-1"}, "us-east-1"),
        ({}, "the bucket's"),
    ],
)
def test_the_region_is_the_jobs_own_or_else_the_buckets(known, region, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(storage.fs, "resolve_s3_region", lambda bucket: f"the {bucket}'s")
    assert storage._region("bucket") == region
