"""Packages of code: of the Lambda functions, with what they bring along, and of the Spark job.

Built without Docker, and reproducibly: the same files give the same hash and the same bytes,
whatever their times and modes, so that an unchanged function is not deployed again. Where this is
the very Python that Lambda runs, bytecode goes along, as Lambda's folder takes none: a start then
compiles nothing. That is another hash, and its bytes may differ, as Python does not promise equal
ones.
``python -m lifoq_project.asset [FOLDER]`` builds one beforehand, so that ``cdk synth`` needs no
network.
"""

import argparse
import functools
import hashlib
import importlib.util
import marshal
import os
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final, get_args

from lifoq_project import cache, requirements
from lifoq_project.requirements import Architecture, Platform, RequirementsError

LIBRARY: Final = "lifoq"
FUNCTIONS: Final = "lifoq_functions"
"""The package of lifoq's own Lambda functions."""
REPORT: Final = "lifoq_analytics"
"""The package of the Spark job."""
LAMBDA_TAG: Final = "cpython-{}{}".format(*requirements.LAMBDA_PYTHON)
"""The tag that Lambda's Python looks for in the names of bytecode."""
UNZIPPED_LIMIT_BYTES: Final = 250 * 1024 * 1024
"""The most that Lambda takes for a function and its layers."""
EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a zip file can hold."""
RUNNABLE: Final = 0o755 << 16
"""The mode of every entry: some wheels bring programs."""
UNUSED_METADATA: Final = frozenset(
    {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_cache.json"}
)
"""Files that an installer writes for itself; they may differ from machine to machine."""
NOT_CODE: Final = frozenset({requirements.REQUIREMENTS, requirements.LOCK})
CODE: Final = (".py", ".pyi")

Entries = Mapping[PurePosixPath, Path]


class AssetError(RuntimeError):
    """The package could not be built; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A built package."""

    path: Path
    digest: str
    """SHA-256 of the names and contents, whatever the compression made of them."""
    unzipped_bytes: int

    @property
    def size(self) -> str:
        zipped = _megabytes(self.path.stat().st_size)
        limit = _megabytes(UNZIPPED_LIMIT_BYTES)
        return f"{zipped}, unzipped {_megabytes(self.unzipped_bytes)} of the {limit} that fit"


def build(tasks: Path | None = None, *, architecture: Architecture = "arm64") -> Asset:
    """The Lambda functions' package.

    In it are lifoq's own functions and library, the folder of task code ``tasks`` under its own
    name, and what its ``requirements.txt`` asks for, as wheels for Lambda. Without ``tasks`` it is
    the package for a container image, which has the task code. Raises ``AssetError``, where this
    is too large or two files have one name, and ``RequirementsError``.
    """
    own = {**_own_files(LIBRARY, CODE), **_own_files(FUNCTIONS, CODE)}
    folder = tasks and tasks.absolute()
    lock = requirements.locked(folder) if folder else requirements.OWN / requirements.LOCK
    vendored = requirements.installed(lock, Platform.of_lambda(architecture))
    entries = _joined(
        _vendored_files(vendored),
        {
            **own,
            **(_task_files(folder, own) if folder else {}),
            # By it the local cloud installs the same for the machine that it runs on.
            PurePosixPath(requirements.LOCK): lock,
        },
    )
    _check_size(folder, entries)
    name = folder.name if folder else FUNCTIONS
    known = _contents_of(vendored)
    return _package(entries, name=name, compiled=_is_compiled(entries), known=known)


def build_report() -> Asset:
    """The Spark job's package: the report, its page's files, and the names of the table."""
    return _package({**_own_files(REPORT), **_own_files(LIBRARY)}, name="report")


def handler(function: str) -> str:
    """Return the handler that Lambda calls for one of lifoq's own functions."""
    return f"{FUNCTIONS}.{function}.handler.handle"


def _task_files(folder: Path, own: Entries) -> Entries:
    """Return the files of a folder of task code. Raises ``AssetError`` for a folder that is
    missing, or would hide a package of lifoq's."""
    if not folder.is_dir():
        raise AssetError(f"{folder} is no folder of task code.")
    if folder.name in (LIBRARY, FUNCTIONS):
        raise AssetError(f"{folder} has the name of a package of lifoq's own: rename it.")
    # lifoq's own functions may lie in the folder, as they do in lifoq's repository.
    packaged = {*own.values()}
    return {name: file for name, file in _files(folder).items() if file.resolve() not in packaged}


def _joined(vendored: Entries, own: Entries) -> Entries:
    """Return vendored packages and task code together. Raises ``AssetError`` where a folder of task
    code would hide a package, or mix with it."""
    packages = {name.parts[0] for name in vendored}
    if same := sorted({name.parts[0] for name in own} & packages):
        raise AssetError(
            f"The task code's folder {same[0]!r} has the name of a package that its requirements "
            "bring: rename it."
        )
    return {**vendored, **own}


def _check_size(folder: Path | None, entries: Entries) -> None:
    total = _unzipped(entries)
    if total <= UNZIPPED_LIMIT_BYTES:
        return
    sizes: Counter[str] = Counter()
    for name, file in entries.items():
        sizes[name.parts[0]] += file.stat().st_size
    largest = ", ".join(f"{name} {_megabytes(size)}" for name, size in sizes.most_common(3))
    raise AssetError(
        f"The task code in {folder} has {_megabytes(total)} unzipped with what it requires; Lambda "
        f"takes {_megabytes(UNZIPPED_LIMIT_BYTES)}, layers included. The largest: {largest}. "
        "Leave out what is not needed, or use a container image, which may have 10 GB."
    )


def _unzipped(entries: Entries) -> int:
    return sum(file.stat().st_size for file in entries.values())


def _megabytes(size: int) -> str:
    """Say a size in Lambda's megabytes: 250 MB are 262,144,000 bytes."""
    return f"{size / 1024 / 1024:.1f} MB"


def _is_compiled(entries: Entries) -> bool:
    """Bytecode is of use to the Python that wrote it alone, and has half as much again as its
    source."""
    if sys.implementation.cache_tag != LAMBDA_TAG:
        return False
    sources = {name: file for name, file in entries.items() if name.suffix == ".py"}
    return _unzipped(entries) + 2 * _unzipped(sources) <= UNZIPPED_LIMIT_BYTES


def _package(
    entries: Entries,
    *,
    name: str,
    compiled: bool = False,
    known: Mapping[PurePosixPath, str] = MappingProxyType({}),
) -> Asset:
    """Return the package of these entries. A new one is told, with its size, where the CDK shows
    it. ``known``: SHA-256 of contents that are known already."""
    ordered = dict(sorted(entries.items()))
    digest = _digest(ordered, LAMBDA_TAG if compiled else "", known=known)
    path = cache.folder() / "assets" / f"{digest}.zip"
    is_new = not path.exists()
    if is_new:
        _write(path, ordered, compiled=compiled)
    asset = Asset(path=path, digest=digest, unzipped_bytes=_unzipped_of(path))
    if is_new:
        print(f"Packaged {name}: {asset.size}", file=sys.stderr)  # noqa: T201 - a command's message
    return asset


@functools.cache
def _unzipped_of(package: Path) -> int:
    """The package's name says its contents."""
    with zipfile.ZipFile(package) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def _own_files(package: str, suffixes: tuple[str, ...] = ("",)) -> Entries:
    """The files of a package of lifoq's, from wherever Python imports it."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise AssetError(f"{package} is not installed: in a clone of lifoq, run 'make setup'.")
    return _files(Path(found.origin).resolve().parent, suffixes)


def _files(folder: Path, suffixes: tuple[str, ...] = ("",)) -> Entries:
    """The files of a folder, by their names in a package. The first part is the folder's name."""
    return {
        folder.name / name: file
        for name, file in _below(folder)
        if file.name.endswith(suffixes) and not _is_left_out(folder.name / name)
    }


def _below(folder: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    """All files below a folder, by their names in it."""
    for place, _, files in os.walk(folder):
        inside = PurePosixPath(Path(place).relative_to(folder).as_posix())
        for name in files:
            if (file := Path(place, name)).is_file():
                yield inside / name, file


def _is_left_out(name: PurePosixPath) -> bool:
    hidden = any(part.startswith(".") for part in name.parts)
    return hidden or "__pycache__" in name.parts or name.name in NOT_CODE


@functools.cache
def _vendored_files(vendored: Path) -> Entries:
    """A folder that packages are installed in has a name that says which, and never changes."""
    return {name: file for name, file in _below(vendored) if _is_wanted(name)}


@functools.cache
def _contents_of(vendored: Path) -> Mapping[PurePosixPath, str]:
    return {name: _content(file) for name, file in _vendored_files(vendored).items()}


def _content(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_wanted(name: PurePosixPath) -> bool:
    hidden_or_script = name.parts[0].startswith(".") or name.parts[0] == "bin"
    written_by_installer = ".dist-info" in name.parts[0] and name.name in UNUSED_METADATA
    return not (hidden_or_script or written_by_installer or "__pycache__" in name.parts)


def _digest(entries: Entries, compiled_by: str, *, known: Mapping[PurePosixPath, str]) -> str:
    digest = hashlib.sha256(compiled_by.encode())
    for name, file in entries.items():
        digest.update(f"{name}\n{known.get(name) or _content(file)}\n".encode())
    return digest.hexdigest()


def _write(path: Path, entries: Entries, *, compiled: bool) -> None:
    """Write beside ``path`` and rename, so that nobody ever packages half an archive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
            for name, file in entries.items():
                content = file.read_bytes()
                _add(archive, str(name), content)
                if compiled and name.suffix == ".py" and (code := _bytecode(name, content)):
                    cached = name.parent / "__pycache__" / f"{name.stem}.{LAMBDA_TAG}.pyc"
                    _add(archive, str(cached), code)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    cache.trim(path.parent)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, date_time=EARLIEST)
    entry.create_system = 3  # Unix, wherever it is built: Lambda reads the modes
    entry.external_attr = RUNNABLE
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def _bytecode(name: PurePosixPath, source: bytes) -> bytes | None:
    """A file that Python reads without a look at its source, whose time a package does not keep
    (https://peps.python.org/pep-0552/). None: Python cannot compile it, and says so who imports it.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            code = compile(source, str(name), "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return None
    unchecked = (1).to_bytes(4, "little")
    header = importlib.util.MAGIC_NUMBER + unchecked + importlib.util.source_hash(source)
    return header + marshal.dumps(code)


def main(arguments: Sequence[str]) -> int:
    """Build the package of a folder of task code, and say how large it is."""
    parser = argparse.ArgumentParser(prog="python -m lifoq_project.asset", description=main.__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of task code")
    parser.add_argument("--architecture", choices=get_args(Architecture), default="arm64")
    chosen = parser.parse_args(arguments)
    try:
        asset = build(chosen.folder, architecture=chosen.architecture)
    except (AssetError, RequirementsError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command's message
        return 1
    print(f"{asset.path}: {asset.size}")  # noqa: T201 - a command's answer
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
