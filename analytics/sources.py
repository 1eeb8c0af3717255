"""The data files of exports, checked before a line of them is read."""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from analytics.exports import DataFile, Export, Kind
from analytics.storage import Storage, pattern, without_scheme

_TABLE: Final = "file string, full_at bigint, window_from bigint"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A data file that is there and is what its manifest says."""

    path: str
    spelled: str
    """The path as Spark's ``_metadata.file_path`` spells it."""
    length: int
    """Bytes, as stored."""
    items: int | None
    export: Export


@dataclass(frozen=True, kw_only=True)
class Check:
    """What can be read, and a sentence for each file that cannot."""

    sources: tuple[Source, ...]
    complaints: tuple[str, ...]


def check(spark: SparkSession, storage: Storage, exports: Iterable[Export]) -> Check:
    """Compare all data files with their manifests: presence, and the MD5 of their bytes, which
    Spark computes where the files are read."""
    promised = {file.path: (file, export) for export in exports for file in export.files}
    missing = _missing(storage, promised)
    sources: list[Source] = []
    complaints = [f"{path} is missing" for path in sorted(missing)]
    present = [path for path in promised if path not in missing]
    for digest in _digests(spark, present):
        file, export = promised[without_scheme(digest.path)]
        if file.md5 not in (None, digest.md5):
            complaints.append(
                f"{file.path} is truncated or changed: its MD5 is {digest.md5}, "
                f"its manifest says {file.md5}"
            )
            continue
        source = Source(
            path=file.path,
            spelled=digest.spelled,
            length=digest.length,
            items=file.items,
            export=export,
        )
        sources.append(source)
    sources.sort(key=lambda source: source.path)
    return Check(sources=tuple(sources), complaints=tuple(complaints))


def table(spark: SparkSession, sources: Sequence[Source]) -> DataFrame:
    """What a row must know about the export it comes from, by file.

    ``full_at``: the moment of a full export; ``window_from``: the start of an incremental one.
    """
    rows = [
        (
            source.spelled,
            source.export.end if source.export.kind is Kind.FULL else None,
            source.export.start if source.export.kind is Kind.INCREMENTAL else None,
        )
        for source in sources
    ]
    return spark.createDataFrame(rows, _TABLE)


def _missing(storage: Storage, promised: dict[str, tuple[DataFile, Export]]) -> set[str]:
    by_folder: defaultdict[str, set[str]] = defaultdict(set)
    for path in promised:
        by_folder[posixpath.dirname(path)].add(path)
    missing: set[str] = set()
    for folder, paths in by_folder.items():
        names = storage.names(folder)
        missing.update(path for path in paths if posixpath.basename(path) not in names)
    return missing


def _digests(spark: SparkSession, paths: Sequence[str]) -> list[Row]:
    if not paths:
        return []
    files = spark.read.format("binaryFile").load([pattern(path) for path in paths])
    spelled = sf.col("_metadata.file_path").alias("spelled")
    return files.select("path", spelled, "length", sf.md5("content").alias("md5")).collect()
