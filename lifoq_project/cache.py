"""The folder for files that lifoq can make again, and keeps because that takes time."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PARTS: Final = ("assets", "installed", "jsii", "spark", "aws-cdk-*")
"""All that is ever in the folder of lifoq's: what else is there is somebody else's."""
KEPT: Final = 20
"""Entries of a part that stay, however old: the latest."""
USED_WITHIN: Final = 24 * 3600.0
"""Seconds since its last use for which an entry stays in any case: somebody may be using it."""


def folder() -> Path:
    """Return ``LIFOQ_CACHE``, else lifoq's own folder in the user's cache: never where lifoq is
    installed, which may be read-only."""
    if own := os.environ.get("LIFOQ_CACHE"):
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "lifoq"


def trim(part: Path) -> None:
    """Keep the newest of a part, and what is of today: something may still work with it."""
    aged = sorted((_age(one), one) for one in part.iterdir())
    for age, old in aged[KEPT:]:
        if age > USED_WITHIN:
            _delete(old)


def clear() -> int:
    """Delete all of it. Return how many bytes that were."""
    freed = 0
    for pattern in PARTS:
        for part in folder().glob(pattern):
            freed += sum(file.lstat().st_size for file in _files(part))
            _delete(part)
    return freed


def _age(path: Path) -> float:
    """Return the age in seconds; 0 where another process has just renamed or deleted it."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0


def _files(part: Path) -> Iterator[Path]:
    return (file for file in part.rglob("*") if file.is_symlink() or file.is_file())


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)  # another process may be at it, too
    else:
        path.unlink(missing_ok=True)
