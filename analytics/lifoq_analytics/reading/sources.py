"""The files that a run reads: the data files of its exports, and what earlier runs have left."""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lifoq_analytics import storage
from lifoq_analytics.reading.exports import DataFile, Export, Kind
from lifoq_analytics.reading.images import Origin


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file to read. Without an origin it holds observations that an earlier run has merged."""

    number: int
    path: str
    length: int
    """Bytes, as stored."""
    items: int | None = None
    """Lines that its manifest promises."""
    md5: str | None = None
    origin: Origin | None = None


def of_exports(exports: Iterable[Export], *, cells: bool = False) -> tuple[list[Source], list[str]]:
    """Return the files that can be read, and a sentence for each that is missing. ``cells``: the
    tables are cells of one queue, and tasks are named with their table's name."""
    promised = {file.path: (file, export) for export in exports for file in export.files}
    lengths = _lengths(promised)
    missing = [f"{path} is missing" for path in sorted(promised) if path not in lengths]
    there = sorted(lengths.items())
    return [
        _source(number, length, *promised[path], cells=cells)
        for number, (path, length) in enumerate(there)
    ], missing


def of_state(files: Sequence[storage.File]) -> list[Source]:
    return [
        Source(number=-1 - number, path=file.path, length=file.size)
        for number, file in enumerate(files)
    ]


def _source(number: int, length: int, file: DataFile, export: Export, *, cells: bool) -> Source:
    full = export.kind is Kind.FULL
    origin = Origin(
        file=file.path,
        full_at=export.end if full else None,
        window_from=None if full else export.start,
        cell=export.table_name if cells else "",
    )
    return Source(
        number=number,
        path=file.path,
        length=length,
        items=file.items,
        md5=file.md5,
        origin=origin,
    )


def _lengths(paths: Iterable[str]) -> dict[str, int]:
    by_folder: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_folder[posixpath.dirname(path)].append(path)
    lengths: dict[str, int] = {}
    for folder, its in by_folder.items():
        sizes = storage.sizes(folder)
        lengths.update(
            (path, sizes[name]) for path in its if (name := posixpath.basename(path)) in sizes
        )
    return lengths
