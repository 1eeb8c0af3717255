"""The local cloud that `lifoq dev` runs in this folder, or in the nearest one above it."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

FILE: Final = Path(".local", "environment")
"""The file that `lifoq dev` writes: a shell that reads it works with the local cloud."""
ENDPOINT: Final = "AWS_ENDPOINT_URL"
SAY_WHICH_AWS: Final = (
    *(ENDPOINT, "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
)
"""Variables, of which each tells which AWS is meant."""
_entered: dict[str, str] = {}
"""The variables of the local cloud that this process works with, since it found it here."""


def enter() -> str | None:
    """Let this process work with the local cloud that runs here from now on, if no variable says
    which AWS is meant. Return what to tell of it."""
    if _is_said() or (found := _local_cloud()) is None or not _answers(found[1]):
        return None
    os.environ.update(found[1])
    _entered.update(found[1])
    return f"(in the local cloud of this folder, {found[1][ENDPOINT]})"


def enter_again() -> None:
    """Work with the local cloud that runs here now, where this process worked with one that ran
    here before: it was started anew, and has other credentials."""
    found, before = _local_cloud(), os.environ.get(ENDPOINT)
    if found is None or before is None or not _answers(found[1]):
        return
    if before in (found[1][ENDPOINT], _entered.get(ENDPOINT)):
        os.environ.update(found[1])
        _entered.update(found[1])


def remedy(client_arguments: Mapping[str, Any]) -> str:
    """The end of a sentence, where neither the arguments for ``boto3.client`` nor a variable lead
    to the local cloud of this folder."""
    elsewhere = "endpoint_url" in client_arguments or ENDPOINT in os.environ
    if elsewhere or (found := _local_cloud()) is None:
        return ""
    file, variables = found
    if _answers(variables):
        return f"; for the local cloud of this folder, first run: . {os.path.relpath(file)}"
    return (
        "" if _is_said() else "; the local cloud of this folder does not run: start it by lifoq dev"
    )


def _is_said() -> bool:
    return any(name in os.environ for name in SAY_WHICH_AWS)


def _local_cloud() -> tuple[Path, dict[str, str]] | None:
    """The nearest one's file, and the variables in it."""
    here = Path.cwd()
    for file in (place / FILE for place in (here, *here.parents)):
        if file.is_file() and _is_ours(file):
            lines = file.read_text(encoding="utf-8").splitlines()
            return file, dict(line.removeprefix("export ").split("=", 1) for line in lines)
    return None


def _is_ours(file: Path) -> bool:
    """Return True if the file is the user's own. On a machine that people share it may be somebody
    else's, in ``/tmp`` say."""
    return not hasattr(os, "getuid") or file.stat().st_uid == os.getuid()


def _answers(variables: Mapping[str, str]) -> bool:
    place = urlsplit(variables[ENDPOINT])
    try:
        socket.create_connection((place.hostname, place.port), timeout=1).close()
    except OSError:
        return False
    return True
