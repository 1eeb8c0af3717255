"""The logs of all functions as one stream, a line each, as a person reads them."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lifoq.basics.shown import harmless

_PLATFORM: Final = re.compile(
    rb"(START|END|REPORT) RequestId|\S+ (START|END) |.*LAMBDA_WARNING: Unhandled exception"
)
"""The lines that Lambda's runtime writes around an invocation. The error that follows its warning
says more than the warning."""
_EXITED: Final = re.compile(rb"\S+ \S+ Runtime exited with error: (.*)")
_ID: Final = re.compile(r"[0-9A-F]{8}-\w+$")
_UNTOLD: Final = re.compile(
    r"level|message|timestamp|location|service|name|requestId|xray_.*|cold_start|function_.*"
)
"""Fields that say nothing here, or stand at their own place."""


class JoinedLogs:
    """Follows the files of a folder, those that are still to come among them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        for file in folder.glob("*.log"):
            self._read[file] = file.stat().st_size

    def news(self) -> Iterator[str]:
        """Yield the lines that were written since the last call, each with its function's name."""
        for file in sorted(self._folder.glob("*.log")):
            with file.open("rb") as stream:
                stream.seek(self._read.get(file, 0))
                text = stream.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._read[file] = self._read.get(file, 0) + len(whole)
            for line in whole.splitlines():
                if told := _told(line):
                    label = function_label(file.stem)
                    yield f"{clock()}  {label}  {harmless(told, lines=True)}"


def clock() -> str:
    """Return the time of day: lines are told within a moment of being written."""
    return f"{datetime.now().astimezone():%H:%M:%S}"


def function_label(name: str) -> str:
    """``ProcessTasksFunction`` of ``lifoq-dev-queue-ProcessTasksFunction1A2B3C4D-x1y2``."""
    return _ID.sub("", name).rpartition("-")[2] or name


def _told(line: bytes) -> str | None:
    if not line.strip() or _PLATFORM.match(line):
        return None
    if exited := _EXITED.fullmatch(line.rstrip()):
        how = exited[1].decode(errors="replace")
        return f"its process ended: {how}; what it had begun comes again when its lease is over"
    try:
        document: Any = json.loads(line)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return line.decode(errors="replace")
    if "_aws" in document:
        return None  # metrics
    if "function_arn" in document and document.get("level") == "INFO":
        return None  # lifoq's own account of a run
    more = " ".join(
        f"{name}={value}"
        for name, value in document.items()
        if value and not _UNTOLD.fullmatch(name)
    )
    return f"{document.get('level', '')} {document.get('message', '')} {more}".strip()
