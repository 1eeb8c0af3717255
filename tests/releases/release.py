"""A release as it is kept here: its wheel, its templates, and samples of all that it wrote."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.infrastructure.updates import Templates

RECORDS: Final = Path(__file__).parent
READING: Final = RECORDS / "reading.py"
"""The program that says what lifoq makes of samples. A record holds it as it was at the release."""


@dataclass(frozen=True)
class Release:
    """The record of one release, in the folder of its version."""

    folder: Path

    @property
    def version(self) -> str:
        return self.folder.name

    @property
    def wheel(self) -> Path:
        (found,) = self.folder.glob("*.whl")
        return found

    @property
    def templates(self) -> dict[str, Templates]:
        """The templates, by application."""
        return self._json("templates.json")

    @property
    def samples(self) -> dict[str, Any]:
        """The samples that the release wrote."""
        return self._json("samples.json")

    @property
    def told(self) -> dict[str, Any]:
        """The release's own reading of its samples."""
        return self._json("told.json")

    @property
    def report_state(self) -> Path:
        """The state that a run of the report left."""
        return self.folder / "report-state"

    @property
    def reading(self) -> Path:
        """The program ``READING``, as it was at the release. Its name ends in ``txt``: it is no
        code of today."""
        return self.folder / "reading.txt"

    def _json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())


def releases() -> list[Release]:
    """Return all releases, the oldest first."""
    folders = (file.parent for file in RECORDS.glob("*/samples.json"))
    return [
        Release(folder)
        for folder in sorted(folders, key=lambda each: [*map(int, each.name.split("."))])
    ]


def unpacked(wheel: Path, folder: Path) -> Path:
    """Return the folder in which the wheel's packages lie, as if it were installed there."""
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def python(
    packages: Path, *arguments: object, given: str = "", cwd: Path = RECORDS, **environment: str
) -> str:
    """Run Python with these packages, whatever else is installed, and return what it printed.
    ``given``: its standard input."""
    finished = subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=given,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(packages), "PYTHONSAFEPATH": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-4000:]
    return finished.stdout


def told_by(packages: Path, reading: Path, samples: Any) -> dict[str, Any]:
    """Return what the lifoq in ``packages`` makes of samples."""
    told: dict[str, Any] = json.loads(python(packages, reading, given=json.dumps(samples)))
    assert Path(told.pop("lifoq")).is_relative_to(packages)
    return told


def differences(older: Any, newer: Any, place: str = "") -> Iterator[str]:
    """Say where two releases make something else of the same. The newer one may tell more: a field
    that the older one does not know."""
    if isinstance(older, dict) and isinstance(newer, dict):
        for name, value in older.items():
            if name in newer:
                yield from differences(value, newer[name], f"{place}/{name}")
            else:
                yield f"{place}/{name} is not told any more"
    elif isinstance(older, list) and isinstance(newer, list) and len(older) == len(newer):
        for number, pair in enumerate(zip(older, newer, strict=True)):
            yield from differences(*pair, f"{place}/{number}")
    elif older != newer:
        yield f"{place}: {older!r} by the older release, {newer!r} by the newer one"
