"""Files wherever the job finds them: local folders and ``s3://`` alike, through Arrow's file
systems, on the driver and in its tasks. S3 is reached with the role that the job runs under.

A file on S3 is there once it has been written to its end, and not before: a task that dies leaves
nothing, one that is repeated writes the same name again.
"""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from lifoq_analytics.errors import StorageError

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_S3: Final = re.compile(r"^s3a?://+")
_ATTEMPTS: Final = 5
_CONNECT_SECONDS: Final = 10
_AT_ONCE: Final = 16


@dataclass(frozen=True, kw_only=True)
class File:
    path: str
    size: int
    """Bytes."""


def is_remote(path: str) -> bool:
    return _S3.match(path) is not None


def exists(path: str) -> bool:
    """Raises ``StorageError``, as all functions here do, where the storage refuses."""
    with _reached(path) as (system, inner):
        return bool(system.get_file_info(inner).type != fs.FileType.NotFound)


def listed(folder: str) -> list[File]:
    """The files in a folder and below, by path; none where there is no folder."""
    with _reached(folder) as (system, inner):
        selector = fs.FileSelector(inner, recursive=True, allow_not_found=True)
        found = [info for info in system.get_file_info(selector) if info.is_file]
    root = folder.rstrip("/")
    below = len(inner.rstrip("/"))
    files = (File(path=root + info.path[below:], size=info.size) for info in found)
    return sorted(files, key=lambda file: file.path)


def sizes(folder: str) -> dict[str, int]:
    """The bytes of each file that lies in a folder itself, by name."""
    with _reached(folder) as (system, inner):
        selector = fs.FileSelector(inner, recursive=False, allow_not_found=True)
        return {
            info.base_name: info.size for info in system.get_file_info(selector) if info.is_file
        }


def read(path: str) -> bytes:
    with _reached(path) as (system, inner), system.open_input_stream(inner) as stream:
        return bytes(stream.read())


def read_all(paths: Iterable[str]) -> dict[str, bytes]:
    """Small files, side by side, since each may be a request away."""
    wanted = sorted(paths)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(wanted, pool.map(read, wanted), strict=True))


def open_stream(path: str) -> pa.NativeFile:
    """The file's bytes as they are stored."""
    with _reached(path) as (system, inner):
        return system.open_input_stream(inner, compression=None)


def write(path: str, content: bytes) -> None:
    with _reached(path) as (system, inner):
        _make_room(system, inner)
        with system.open_output_stream(inner) as stream:
            stream.write(content)


def delete(path: str) -> None:
    """Delete a file or a folder with all that it holds, where it exists."""
    with _reached(path) as (system, inner):
        kind = system.get_file_info(inner).type
        if kind == fs.FileType.Directory:
            system.delete_dir(inner)
        elif kind != fs.FileType.NotFound:
            system.delete_file(inner)


def copy(source: str, target: str, *, prefix: str = "") -> None:
    """Copy the files of one folder, small ones, into another, their names after a prefix."""
    for path, content in read_all(file.path for file in listed(source)).items():
        write(f"{target}/{prefix}{posixpath.basename(path)}", content)


def write_parquet(path: str, table: pa.Table) -> None:
    with parquet_writer(path, table.schema) as writer:
        writer.write_table(table)


@contextmanager
def parquet_writer(path: str, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Words are written once and referred to; numbers seldom occur twice."""
    words = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    with _reached(path) as (system, inner):
        _make_room(system, inner)
        with pq.ParquetWriter(inner, schema, filesystem=system, use_dictionary=words) as writer:
            yield writer


def read_parquet(path: str, columns: Sequence[str] | None = None) -> pa.Table:
    with _reached(path) as (system, inner):
        file = pq.ParquetFile(inner, filesystem=system)
        return file.read(columns, use_threads=False)


def _make_room(system: fs.FileSystem, path: str) -> None:
    """S3 has no folders; what makes them there writes empty objects."""
    if isinstance(system, fs.LocalFileSystem):
        system.create_dir(posixpath.dirname(path), recursive=True)


@contextmanager
def _reached(path: str) -> Iterator[tuple[fs.FileSystem, str]]:
    try:
        yield _resolved(path)
    except OSError as error:
        raise StorageError(path, str(error).splitlines()[0]) from error


def _resolved(path: str) -> tuple[fs.FileSystem, str]:
    remote = _S3.match(path)
    if remote is None:
        return fs.LocalFileSystem(), path
    inner = path[remote.end() :]
    credentials = _credentials()
    keys = tuple(credentials.get_frozen_credentials())[:3] if credentials else (None,) * 3
    return _s3(inner.partition("/")[0], *keys), inner


@cache
def _credentials() -> "Credentials | None":
    """Return boto3's credentials, which it renews. Arrow's own search was seen by others to find
    none where Glue's workers run."""
    import boto3  # noqa: PLC0415 - not where all files are local

    return boto3.Session().get_credentials()


@lru_cache
def _s3(
    bucket: str, access_key: str | None, secret_key: str | None, session_token: str | None
) -> fs.FileSystem:
    return fs.S3FileSystem(
        access_key=access_key,
        secret_key=secret_key,
        session_token=session_token,
        region=_region(bucket),
        endpoint_override=os.environ.get("AWS_ENDPOINT_URL_S3", os.environ.get("AWS_ENDPOINT_URL")),
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        connect_timeout=_CONNECT_SECONDS,
    )


def _region(bucket: str) -> str:
    """The job's own region, where it is known; asking S3 needs a way out to the internet."""
    known = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return known or str(fs.resolve_s3_region(bucket))
