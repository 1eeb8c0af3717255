"""The folder of a local cloud: there is one cloud in it at a time, and what it writes there is for
nobody else to read."""

import fcntl
import os
from pathlib import Path


class FolderError(Exception):
    """No local cloud can work in the folder."""


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner can look into; one that is there already becomes so."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def private_file(file: Path) -> Path:
    """Make a file that only its owner can read; one that is there already becomes so."""
    file.touch(mode=0o600)
    file.chmod(0o600)
    return file


def hold(folder: Path) -> None:
    """Make it, and keep others out until this process ends, however it does: the lock is the
    operating system's. Raises FolderError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FolderError(
            f"Another local cloud works in {folder}: end it, or choose another folder with "
            "--directory."
        ) from error
    except OSError as error:
        raise FolderError(
            f"{folder} cannot be made or read ({error.strerror}): choose another folder with "
            "--directory."
        ) from error
