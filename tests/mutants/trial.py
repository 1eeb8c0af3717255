"""A mutant before the tests: which of them catches it. Those are asked that run the changed line,
the nearest and quickest first."""

import ast
import importlib
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import click
import pytest
from coverage import CoverageData

from tests.mutants.operators import ROOTS, Mutant

MOST_SECONDS: Final = 60
"""Of tests that are asked about one mutant."""
FIRST: Final = (10, 50)
"""Tests that are asked before all are, without a database: most mutants are caught there."""
NO_DATABASE: Final = ("-k", "not moto and not dynamodb")
ROOM: Final = 10
"""Times the seconds that the tests took, of processor time: more of it is standing still."""
PATIENCE: Final = 600
"""Seconds in which tests that use no processor time count as standing still."""
PRELOADED: Final = ["schemathesis", "boto3", "moto.server", "pyarrow.parquet", "pyspark.sql"]
CAUGHT_BY: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[| - |$)", re.MULTILINE)
NOT_FOUND: Final = re.compile(r"^ERROR: (?:file or directory )?not found: ", re.MULTILINE)
SETTINGS: Final = f"""[run]
dynamic_context = test_function
concurrency = thread,greenlet
relative_files = true
source = {",".join(ROOTS)}
data_file = """


class Map:
    """Which test runs which line, and how long each takes, its parameters together, but for those
    with a database where it can do without one."""

    def __init__(self, folder: Path) -> None:
        data = CoverageData(str(folder / ".coverage"))
        data.read()
        spent: Counter[str] = Counter()
        with_database: Counter[str] = Counter()
        for case in ET.parse(folder / "tests.xml").iter("testcase"):  # noqa: S314 - ours
            test, _, parameters = f"{case.get('classname')}.{case.get('name')}".partition("[")
            dear = "moto" in parameters or "dynamodb" in parameters
            (with_database if dear else spent)[test] += float(case.get("time", 0))
        self._seconds = {**with_database, **spent}
        self._lines = {
            path: {
                line: self._seconds.keys() & contexts
                for line, contexts in data.contexts_by_lineno(path).items()
            }
            for path in sorted(data.measured_files())
        }
        self._all = Counter(test for path in self._lines for test in self._in(path))

    @staticmethod
    def fits(copy: Path, folder: Path) -> bool:
        """Whether no file of the copy is younger than the map."""
        drawn = folder / ".coverage"
        return drawn.exists() and all(
            path.stat().st_mtime < drawn.stat().st_mtime for path in copy.rglob("*.py")
        )

    @staticmethod
    def draw(copy: Path, folder: Path, tests: Iterable[str]) -> None:
        """Runs the tests once, slowly."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings").write_text(f"{SETTINGS}{folder}/.coverage\n")
        run = ("coverage", "run", f"--rcfile={folder / 'settings'}", "-m", "pytest", "-q")
        told = ("-p", "no:cacheprovider", f"--junitxml={folder / 'tests.xml'}")
        subprocess.run((sys.executable, "-m", *run, *told, *tests), cwd=copy, check=True)

    def _in(self, path: str) -> Iterator[str]:
        """Each test as often as it runs a line of the file."""
        return (test for tests in self._lines.get(path, {}).values() for test in tests)

    def tests_of(self, copy: Path, mutant: Mutant) -> dict[str, float]:
        """Node ids without their parameters, and their seconds, the nearest and quickest first: of
        a test that runs little beside the file it is the likelier that it looks at it. What runs at
        import is looked at by whatever runs a line that names it, or any line of its file."""
        lines = range(mutant.line, mutant.line + mutant.was.count("\n") + 1)
        here = self._lines.get(mutant.path, {})
        found = {test for line in lines for test in here.get(line, ())}
        name = _named_at_import((copy / mutant.path).read_text(), mutant.line)
        if name or not found:
            found = {*self._in(mutant.path), *self._naming(copy, name or Path(mutant.path).stem)}
        near = Counter(self._in(mutant.path))
        ordered = sorted(
            found, key=lambda test: self._seconds[test] * self._all[test] / (near[test] + 1)
        )
        sums = accumulate(self._seconds[test] for test in ordered)
        return {
            _node(test): self._seconds[test]
            for test, spent in zip(ordered, sums, strict=True)
            if spent - self._seconds[test] < MOST_SECONDS
        }

    def _naming(self, copy: Path, name: str) -> Iterator[str]:
        word = re.compile(rf"\b{re.escape(name)}\b")
        for path, tests in self._lines.items():
            for number, line in enumerate((copy / path).read_text().splitlines(), start=1):
                if word.search(line):
                    yield from tests.get(number, ())


def _node(test: str) -> str:
    """What pytest calls a test, of which coverage knows the module and the function."""
    module, _, function = test.rpartition(".")
    return f"{module.replace('.', '/')}.py::{function}"


def _named_at_import(text: str, line: int) -> str | None:
    """What a line is the value of, where it runs at import alone."""
    name = None
    for node in ast.walk(ast.parse(text)):  # the innermost last
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() if line >= node.body[0].lineno:
                    return None
                case ast.Assign(targets=[ast.Name(id=of)]) | ast.AnnAssign(target=ast.Name(id=of)):
                    name = of
                case ast.FunctionDef(name=of) | ast.ClassDef(name=of):
                    name = of
    return name


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


def caught_by(mutant: Mutant, copy: Path, tests: dict[str, float]) -> str | None:
    """The test; None where it slipped through. Changes the copy, and changes it back; its time,
    too, by which Python knows what it has compiled."""
    path = copy / mutant.path
    text, kept = path.read_text(), path.stat()
    path.write_text(mutant.applied(text))
    try:
        return next(filter(None, _answers(tests, copy)), None)
    finally:
        path.write_text(text)
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def _answers(tests: dict[str, float], copy: Path) -> Iterator[str | None]:
    for some in sorted({min(some, len(tests)) for some in FIRST} - {0}):
        yield _caught_by(dict(list(tests.items())[:some]), copy, NO_DATABASE)
    if tests:
        yield _caught_by(tests, copy)


def _caught_by(tests: dict[str, float], copy: Path, options: Iterable[str] = ()) -> str | None:
    for name in PRELOADED:
        importlib.import_module(name)
    seconds = 30 + ROOM * int(sum(tests.values()))
    ran = multiprocessing.get_context("fork").Process(
        target=_ask, args=([*options, *tests], copy, seconds)
    )
    ran.start()
    ran.join(PATIENCE)
    assert ran.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(ran.pid, signal.SIGKILL)
    ran.join()
    told = (copy / "told").read_text()
    none_there = ran.exitcode == pytest.ExitCode.NO_TESTS_COLLECTED
    if NOT_FOUND.search(told) or (none_there and not options):
        raise click.ClickException("the map of tests is stale: delete --out, to draw it anew")
    if none_there or ran.exitcode == pytest.ExitCode.OK:
        return None
    return next(iter(CAUGHT_BY.findall(told)), f"stood still, or did not start: {ran.exitcode}")


def _ask(asked: list[str], copy: Path, seconds: int) -> None:
    """In a process that has what pytest and AWS's client import, and nothing of lifoq."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.chdir(copy)
    sys.path[0] = str(copy)
    os.environ["CI"] = "true"
    told = os.open("told", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(told, 1)
    os.dup2(told, 2)
    options = ("-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider")
    os._exit(pytest.main([*options, *asked]))
