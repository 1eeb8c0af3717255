"""A mutant before the tests: which of them catches it. Those are asked that run the changed line,
the nearest and quickest first."""

import importlib
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Final

import click
import pytest

from tests.mutants.operators import Mutant

FIRST: Final = (10, 50)
"""Tests that are asked before all are, without a database: most mutants are caught there."""
DATABASES: Final = ("moto", "dynamodb")
"""Words in the parameters of tests that need a database which runs beside them."""
NO_DATABASE: Final = ("-k", " and ".join(f"not {name}" for name in DATABASES))
ROOM: Final = 10
"""Times the seconds that the tests took, of processor time: more of it is standing still."""
PATIENCE: Final = 600
"""Seconds in which tests that use no processor time count as standing still."""
PRELOADED: Final = ["schemathesis", "boto3", "moto.server", "pyarrow.parquet", "pyspark.sql"]
CAUGHT_BY: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[| - |$)", re.MULTILINE)
NOT_FOUND: Final = re.compile(r"^ERROR: (?:file or directory )?not found: ", re.MULTILINE)
NO_CONFTEST: Final = "ImportError while loading conftest"
"""Pytest's message if the code cannot even be imported: any test has caught the mutant."""

Task = tuple[int, Mutant, dict[str, float]]
"""A mutant's number, and the tests that are asked about it."""
Verdict = tuple[int, str | None, str | None]
"""A mutant's number, the test that caught it (None: it slipped through), and what kept it from
being judged, if something did."""


def needs_database(parameters: str) -> bool:
    """Return True if a test with these parameters needs a database that runs beside it."""
    return any(name in parameters for name in DATABASES)


def copy_of(root: Path, to: Path) -> None:
    """Copy the files that git keeps; installed and built ones are shared."""
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


def environment_of(copy: Path) -> dict[str, str]:
    """For programs that a test starts: .venv knows these folders of the clone, not of its copy."""
    return {"PYTHONPATH": f"{copy / 'functions'}{os.pathsep}{copy / 'analytics'}"}


def verdicts(tasks: Iterable[Task], copies: list[Path]) -> Iterator[Verdict]:
    """Judge side by side, in one process for each copy of the code."""
    for name in PRELOADED:
        importlib.import_module(name)
    forks = multiprocessing.get_context("fork")
    waiting: SimpleQueue[Task | None] = forks.SimpleQueue()
    found: SimpleQueue[Verdict | None] = forks.SimpleQueue()
    judges = [forks.Process(target=_judge, args=(copy, waiting, found)) for copy in copies]
    feeder = forks.Process(target=_feed, args=([*tasks], waiting, len(copies)))
    for process in (*judges, feeder):
        process.start()
    try:
        at_work = len(judges)
        while at_work:
            verdict = found.get()
            if verdict is None:
                at_work -= 1
            else:
                yield verdict
    finally:
        for process in (*judges, feeder):
            process.terminate()
            process.join()


def _feed(tasks: list[Task], waiting: "SimpleQueue[Task | None]", judges: int) -> None:
    """A process of its own: a pipe holds less than many mutants."""
    for task in (*tasks, *[None] * judges):
        waiting.put(task)


def _judge(
    copy: Path, waiting: "SimpleQueue[Task | None]", found: "SimpleQueue[Verdict | None]"
) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and so ends what it has asked
    try:
        while task := waiting.get():
            number, mutant, tests = task
            try:
                found.put((number, caught_by(mutant, copy, tests), None))
            except click.ClickException as error:
                found.put((number, None, error.message))
    finally:
        found.put(None)


def caught_by(mutant: Mutant, copy: Path, tests: dict[str, float]) -> str | None:
    """The test; None where it slipped through. A test that rests on others fails alone without the
    mutant, too: it has caught nothing."""
    left = dict(tests)
    while (by := _first_of(left, mutant, copy)) in left and not _passes_alone(by, left[by], copy):
        del left[by]
    return by


@cache
def _passes_alone(test: str, seconds: float, copy: Path) -> bool:
    return _caught_by({test: seconds}, copy) is None


def _first_of(tests: dict[str, float], mutant: Mutant, copy: Path) -> str | None:
    """The first test that fails with the mutant. Changes the copy, and changes it back."""
    path = copy / mutant.path
    text = path.read_text()
    _write(path, mutant.applied(text))
    try:
        return next(filter(None, _answers(tests, copy)), None)
    finally:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write a file, and delete what Python has compiled of it. Python knows a change by the file's
    size and its second, which may be the same here."""
    path.write_text(text)
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _answers(tests: dict[str, float], copy: Path) -> Iterator[str | None]:
    for some in sorted({min(some, len(tests)) for some in FIRST} - {0}):
        yield _caught_by(dict(list(tests.items())[:some]), copy, NO_DATABASE)
    if tests:
        yield _caught_by(tests, copy)


def _caught_by(tests: dict[str, float], copy: Path, options: Iterable[str] = ()) -> str | None:
    seconds = 30 + ROOM * int(sum(tests.values()))
    ran = multiprocessing.get_context("fork").Process(
        target=_ask, args=([*options, *tests], copy, seconds)
    )
    ran.start()
    assert ran.pid is not None
    try:
        ran.join(PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(ran.pid, signal.SIGKILL)
        ran.join()
    told = (copy / "told").read_text()
    none_there = ran.exitcode == pytest.ExitCode.NO_TESTS_COLLECTED
    if NOT_FOUND.search(told) or (none_there and not options):
        raise click.ClickException("the map of tests is stale: delete --out, to draw it anew")
    if none_there or ran.exitcode == pytest.ExitCode.OK:
        return None
    by = next(iter(CAUGHT_BY.findall(told)), None)
    if by is None and ran.exitcode == pytest.ExitCode.USAGE_ERROR and NO_CONFTEST not in told:
        raise click.ClickException(f"pytest was not asked as it wants to be: {told[-500:]}")
    return by or f"stood still, or did not start: {ran.exitcode}"


def _ask(asked: list[str], copy: Path, seconds: int) -> None:
    """In a process that has what pytest and AWS's client import, and nothing of lifoq."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.chdir(copy)
    sys.path[0] = str(copy)
    os.environ["CI"] = "true"
    os.environ.update(environment_of(copy))
    told = os.open("told", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(told, 1)
    os.dup2(told, 2)
    options = ("-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider")
    os._exit(pytest.main([*options, *asked]))
