"""A mutant before the tests: which of them catch it. Those are asked that run the changed line, the
quickest first."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coverage import CoverageData

from tests.mutants.operators import Mutant

SECONDS: Final = 900
"""After which the tests count as standing still, and the mutant as caught."""
AT_ONCE: Final = 60
"""Tests that are asked together, so that one that fails early ends the rest."""
CAUGHT_BY: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[| - |$)", re.MULTILINE)
MAP: Final = ".coverage"
SETTINGS: Final = """[run]
dynamic_context = test_function
concurrency = thread,greenlet
source = lifoq,functions,analytics
data_file = {folder}/.coverage
"""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    mutant: Mutant
    asked: int
    caught_by: tuple[str, ...]
    """Empty: it slipped through."""


class Map:
    """Which test runs which line, and how long each takes. A line that runs at import alone is
    looked at by whatever runs any line of its file."""

    def __init__(self, folder: Path) -> None:
        self._data = CoverageData(str(folder / MAP))
        self._data.read()
        self._seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())
        self._ids = {_context(test): test for test in self._seconds}

    @staticmethod
    def draw(copy: Path, folder: Path, tests: Iterable[str]) -> None:
        """Runs the tests once, slowly."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings").write_text(SETTINGS.format(folder=folder))
        plugin = ("-p", "tests.mutants.seconds")
        run = ("coverage", "run", f"--rcfile={folder / 'settings'}", "-m", "pytest", "-q", *plugin)
        subprocess.run(
            (sys.executable, "-m", *run, "-p", "no:cacheprovider", *tests),
            cwd=copy,
            env={**os.environ, "SECONDS_OF_TESTS": str(folder / "seconds.json")},
            check=True,
        )

    def tests_of(self, copy: Path, mutant: Mutant) -> list[str]:
        """Node ids without their parameters."""
        lines = range(mutant.line, mutant.line + mutant.was.count("\n") + 1)
        by_line = self._data.contexts_by_lineno(str(copy / mutant.path))
        contexts = {each for line in lines for each in by_line.get(line, ())} - {""}
        if not contexts:
            contexts = {each for found in by_line.values() for each in found} - {""}
        tests = [self._ids[each] for each in contexts if each in self._ids]
        return sorted(tests, key=self._seconds.__getitem__)


def _context(test: str) -> str:
    """What coverage calls a test: its module and its function."""
    path, _, function = test.partition("::")
    return f"{path.removesuffix('.py').replace('/', '.')}.{function}"


def copy_of(root: Path, to: Path) -> None:
    """What git keeps; what is installed and built is shared."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    for name in (".venv", "node_modules", ".build"):
        if (root / name).exists():
            (to / name).symlink_to((root / name).resolve())


def judge(mutant: Mutant, copy: Path, tests: list[str], *, to_the_end: bool) -> Verdict:
    """Changes the copy, and changes it back. ``to_the_end``: every test that catches it is named,
    not the first alone."""
    path = copy / mutant.path
    text = path.read_text()
    path.write_text(mutant.applied(text))
    found: list[str] = []
    try:
        for group in _groups(tests):
            found += _caught_by(group, copy, to_the_end=to_the_end)
            if found and not to_the_end:
                break
    finally:
        path.write_text(text)
    return Verdict(mutant=mutant, asked=len(tests), caught_by=tuple(dict.fromkeys(found)))


def _groups(tests: list[str]) -> Iterator[list[str]]:
    for begin in range(0, len(tests), AT_ONCE):
        yield tests[begin : begin + AT_ONCE]


def _caught_by(tests: list[str], copy: Path, *, to_the_end: bool) -> list[str]:
    first = () if to_the_end else ("-x",)
    options = ("-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *first)
    try:
        ran = subprocess.run(
            (sys.executable, "-m", "pytest", *options, *tests),
            cwd=copy,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"},
            capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ["stood still"]
    if ran.returncode == 0:
        return []
    return CAUGHT_BY.findall(ran.stdout) or ["the tests did not start"]
