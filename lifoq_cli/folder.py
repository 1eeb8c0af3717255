"""``lifoq.toml``: which queue the commands of a folder are about."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from lifoq.errors import LifoqError

FILE: Final = "lifoq.toml"


class BadFolderFile(LifoqError):
    """``lifoq.toml`` makes no sense."""


@dataclass(frozen=True, kw_only=True)
class FolderFile:
    """The settings of the file in this folder, or in the nearest one above it that has one."""

    queue: tuple[str, ...] = ()
    """The queue's name; several where it is made of cells."""
    region: str | None = None


def read(folder: Path) -> FolderFile:
    """Return the settings of a folder; empty ones where there is no file. Raises BadFolderFile."""
    for place in (folder, *folder.parents):
        if (place / FILE).is_file():
            return _parsed(place / FILE)
    return FolderFile()


def _parsed(path: Path) -> FolderFile:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFolderFile(f"{path} cannot be read: {error}") from error
    known = [field.name for field in fields(FolderFile)]
    if unknown := sorted(found.keys() - set(known)):
        raise BadFolderFile(f"{path}: {unknown[0]} is unknown; it may hold {' and '.join(known)}")
    queue = found.get("queue", ())
    names = tuple(queue) if isinstance(queue, list | tuple) else (queue,)
    region = found.get("region")
    if not all(_is_name(name) for name in names):
        raise BadFolderFile(f'{path}: queue must be a name, such as "dev", or a list of names')
    if region is not None and not _is_name(region):
        raise BadFolderFile(f'{path}: region must be a name, such as "eu-central-1"')
    return FolderFile(queue=names, region=region)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
