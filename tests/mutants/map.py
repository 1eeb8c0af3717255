"""Which tests run a changed line: the map that a mutant's tests are chosen by."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import click
import pytest

from tests.mutants.operators import Mutant
from tests.mutants.trial import environment_of

MOST_SECONDS: Final = 150
"""The tests that are asked about one mutant take so long together, at the most."""


class Map:
    """Which test runs which statement, and how long each takes, its parameters together, but for
    those with a database where it can do without one. What several tests share, such as a
    deployment, has seconds of its own."""

    def __init__(self, folder: Path, copy: Path) -> None:
        """``copy``: the code that the map was drawn of."""
        self._copy = copy
        self._seconds: Counter[str] = Counter()
        self._shared: Counter[str] = Counter()
        self._tests: dict[str, dict[int, set[str]]] = {}
        for part in folder.glob("ran-*.json"):
            noted: dict[str, Any] = json.loads(part.read_text())
            self._seconds.update(noted["seconds"])
            self._shared.update(noted["shared"])
            for place, tests in noted["places"].items():
                path, _, line = place.rpartition(":")
                self._tests.setdefault(path, {}).setdefault(int(line), set()).update(tests)

    @staticmethod
    def fits(copy: Path, folder: Path) -> bool:
        """True if there is a map, and no file of the copy is younger."""
        drawn = [part.stat().st_mtime for part in folder.glob("ran-*.json")]
        youngest = max(path.stat().st_mtime for path in copy.rglob("*.py"))
        return bool(drawn) and youngest < min(drawn)

    @staticmethod
    def draw(copy: Path, folder: Path, tests: Iterable[str], *, processes: int) -> None:
        """Run the tests once. Those that fail are told, and are not on the map."""
        folder.mkdir(parents=True, exist_ok=True)
        for part in folder.glob("ran-*.json"):
            part.unlink()
        for part in folder.glob("ran-*/"):
            shutil.rmtree(part)
        plugin = ("-p", "tests.mutants.ran", f"--ran-into={folder}", "-p", "no:cacheprovider")
        beside = ("-n", str(processes), "--dist", "loadfile")
        command = (sys.executable, "-m", "pytest", "-q", *plugin, *beside, *tests)
        ended = subprocess.run(
            command, cwd=copy, env={**os.environ, **environment_of(copy)}, check=False
        )
        if ended.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise click.ClickException(f"no map was drawn: pytest ended with {ended.returncode}")
        if len([*folder.glob("ran-*.json")]) != processes:
            raise click.ClickException("no map was drawn: a process has not noted what it ran")

    @cached_property
    def _all(self) -> Counter[str]:
        return Counter(test for path in self._tests for test in self._in(path))

    @cache  # noqa: B019  (a map is read once, and lives as long as its process)
    def _near(self, path: str) -> Counter[str]:
        return Counter(self._in(path))

    def _in(self, path: str) -> Iterator[str]:
        """Each test as often as it runs a statement of the file."""
        return (test for tests in self._tests.get(path, {}).values() for test in tests)

    def tests_of(self, mutant: Mutant) -> dict[str, float]:
        """Node ids without their parameters, and their seconds, the nearest and quickest first: of
        a test that runs little beside the file it is the likelier that it looks at it. What runs at
        import is looked at by whatever runs a line that names it, or any line of its file. Those
        that run other lines of the file are asked last: a server that tests share runs a line at
        its start, or beside all tests, and not for the test that looks at it."""
        text = (self._copy / mutant.path).read_text()
        line = statements(text).get(mutant.line, 0)
        found = self._tests.get(mutant.path, {}).get(line, set())
        name = named_at_import(text, mutant.line)
        if name or not found:
            found = {*self._in(mutant.path), *self._naming(name or Path(mutant.path).stem)}
        near = self._near(mutant.path)

        def far(test: str) -> tuple[float, str]:
            """Return a larger number for a test that takes longer alone, or runs much beside this
            file."""
            alone = self._seconds[test] + self._shared[test]
            return alone * self._all[test] / (near[test] + 1), test

        asked: dict[str, float] = {}
        files: set[str] = set()
        for test in (*sorted(found, key=far), *sorted(near.keys() - found, key=far)):
            file, _, _ = test.partition("::")
            shared = 0 if file in files else self._shared[test]
            asked[test] = self._seconds[test] + shared
            files.add(file)
            if sum(asked.values()) >= MOST_SECONDS:
                break
        return asked

    def _naming(self, name: str) -> Iterator[str]:
        """Tests that run a statement which names it, or what is made of it at import."""
        names, fresh = {name}, {name}
        while fresh:
            word, fresh = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(fresh)))})\b"), set()
            for path, text in self._texts.items():
                for number in _lines_with(word, text):
                    line = statements(text).get(number, 0)
                    yield from self._tests[path].get(line, ())
                    made = named_at_import(text, number)
                    fresh |= {made} - names if made is not None and made.isupper() else set()
            names |= fresh

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {path: (self._copy / path).read_text() for path in self._tests}


def _lines_with(word: re.Pattern[str], text: str) -> Iterator[int]:
    lines = enumerate(text.splitlines(), start=1)
    return (number for number, line in lines if word.search(line))


@cache
def statements(text: str) -> dict[int, int]:
    """For each line, the line in which the innermost statement begins that it belongs to."""
    return {
        line: node.lineno
        for node in ast.walk(_parsed(text))  # the innermost last
        if isinstance(node, ast.stmt)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def named_at_import(text: str, line: int) -> str | None:
    """Return the name whose value a line is, if it runs at import alone."""
    name = None
    for node in ast.walk(_parsed(text)):  # the innermost last
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() if line >= node.body[0].lineno:
                    return None
                case ast.Assign(targets=[ast.Name(id=of)]) | ast.AnnAssign(target=ast.Name(id=of)):
                    name = of
                case ast.FunctionDef(name=of) | ast.ClassDef(name=of):
                    name = of
    return name


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)
