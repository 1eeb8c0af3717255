"""Packages of code: of the Lambda functions, with what they bring along, and of the Spark job.

Built without Docker, and reproducibly: the same files give the same hash and the same bytes,
whatever their times and modes, so that an unchanged function is not deployed again.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from lifoq_cdk import vendor

LAMBDA_PACKAGES: Final = ("lifoq", "functions")
REPORT_PACKAGES: Final = ("lifoq", "analytics")
EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a zip file can hold."""
READABLE: Final = 0o644 << 16
UNUSED_METADATA: Final = frozenset({"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"})
"""What an installer writes for itself; it may differ from machine to machine."""


class AssetError(RuntimeError):
    """The package could not be built; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A built package."""

    path: Path
    digest: str
    """SHA-256 of the names and contents, whatever the compression made of them."""


def build(
    tasks: Path | None = None, *, root: Path = vendor.ROOT, vendored: Path = vendor.VENDOR
) -> Asset:
    """The Lambda functions' package: ``root``'s own code and what is ``vendored``, and beside it
    the folder of task code ``tasks``, which is imported there by its own name."""
    if not vendored.is_dir():
        raise AssetError(
            f"The packages of the Lambda functions are not in {vendored}: "
            "run 'python -m lifoq_cdk.vendor'."
        )
    own = _own_files(root, LAMBDA_PACKAGES, suffixes=(".py",))
    team = _own_files(tasks.parent, [tasks.name]) if tasks else ()
    return _package(root, dict(sorted([*_vendored_files(vendored), *own, *team])))


def build_report(*, root: Path = vendor.ROOT) -> Asset:
    """The Spark job's package: the report, its page's files, and the names of the table."""
    return _package(root, dict(sorted(_own_files(root, REPORT_PACKAGES))))


def _package(root: Path, entries: dict[PurePosixPath, Path]) -> Asset:
    digest = _digest(entries)
    path = root / ".build" / "asset" / f"{digest}.zip"
    if not path.exists():
        _write(path, entries)
    return Asset(path=path, digest=digest)


def _own_files(
    root: Path, packages: Iterable[str], *, suffixes: tuple[str, ...] = ("",)
) -> Iterator[tuple[PurePosixPath, Path]]:
    for package in packages:
        for file in (root / package).rglob("*"):
            wanted = file.is_file() and file.name.endswith(suffixes)
            if wanted and "__pycache__" not in file.parts:
                yield PurePosixPath(file.relative_to(root).as_posix()), file


def _vendored_files(vendored: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    for file in vendored.rglob("*"):
        name = PurePosixPath(file.relative_to(vendored).as_posix())
        if file.is_file() and _is_wanted(name):
            yield name, file


def _is_wanted(name: PurePosixPath) -> bool:
    hidden_or_script = name.parts[0].startswith(".") or name.parts[0] == "bin"
    written_by_installer = ".dist-info" in name.parts[0] and name.name in UNUSED_METADATA
    return not (hidden_or_script or written_by_installer or "__pycache__" in name.parts)


def _digest(entries: dict[PurePosixPath, Path]) -> str:
    digest = hashlib.sha256()
    for name, file in entries.items():
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{name}\n{content}\n".encode())
    return digest.hexdigest()


def _write(path: Path, entries: dict[PurePosixPath, Path]) -> None:
    """Write beside ``path`` and rename, so that nobody ever packages half an archive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
            for name, file in entries.items():
                entry = zipfile.ZipInfo(str(name), date_time=EARLIEST)
                entry.create_system = 3  # Unix, wherever it is built: Lambda reads the modes
                entry.external_attr = READABLE
                archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=9)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
