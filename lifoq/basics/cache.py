"""What lifoq can make again, and keeps because that takes time."""

import os
from pathlib import Path


def folder() -> Path:
    """``LIFOQ_CACHE``, else lifoq's own folder in the user's cache: never where lifoq is installed,
    which may be read-only."""
    if own := os.environ.get("LIFOQ_CACHE"):
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "lifoq"
