"""A plugin of pytest that judges changes in forks of one process, which has collected all tests.

A fork swaps the code of the functions that a change is in, or makes a constant anew, and asks the
quick tests. Most changes are noticed so, a few in a second. A process that a test starts is not
changed by that; whatever slips through here is judged again by ``trial``, which changes the file.
"""

import gc
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import click
import pytest

from tests.mutants import at_import
from tests.mutants.operators import Mutant
from tests.mutants.trial import Task, environment_of, needs_database

EACH: Final = 2.0
"""Seconds that a test may take to be asked here, with what it shares with others."""
ALL: Final = 8.0
"""Seconds of the tests that are asked about one change, together."""
DATABASE: Final = "dynamodb_local_endpoint"
"""The fixture of a server that each fork would have to start."""
PATIENCE: Final = 60
"""Seconds after which a fork stands still."""

Change = Callable[[], None]
"""Changes the process that calls it."""


def verdicts(tasks: Iterable[Task], copy: Path, *, processes: int) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the changes that were noticed, with the test that noticed each."""
    rows = [(number, asdict(mutant), asked) for number, mutant, asked in tasks]
    files = sorted({test.partition("::")[0] for _, _, asked in rows for test in asked})
    wanted, found = copy / "asked.json", copy / "found.txt"
    wanted.write_text(json.dumps(rows))
    found.touch()
    options = ("-q", "-p", "no:cacheprovider", "-p", "tests.mutants.quick")
    command = (sys.executable, "-m", "pytest", *options, f"--quick={processes}", *files)
    judge = subprocess.Popen(
        command, cwd=copy, env={**os.environ, **environment_of(copy)}, stdout=subprocess.DEVNULL
    )
    try:
        with found.open() as lines:
            ended = False
            while not ended:
                ended = judge.poll() is not None
                for line in lines:
                    number, _, by = line.rstrip("\n").partition(" ")
                    yield int(number), by
                time.sleep(0 if ended else 1)
    finally:
        judge.send_signal(signal.SIGINT)  # it then ends its forks; nothing, if it has ended
        judge.wait()
    if judge.returncode != pytest.ExitCode.OK:
        raise click.ClickException(f"the judge in forks ended with {judge.returncode}")


@dataclass(kw_only=True, eq=False)
class Fork:
    """A process that asks tests about one change."""

    process: Any
    answer: Connection
    """The process sends the name of the first test that fails."""
    number: int
    """The number of the change."""
    tests: list[str]
    change: Change | None
    without: str | None = None
    """A test that failed, and is asked alone, without the change: it may rest on other tests."""
    began: float = field(default_factory=time.monotonic)

    @property
    def stands_still(self) -> bool:
        return time.monotonic() - self.began > PATIENCE

    def failed(self) -> str | None:
        """End the process, with all that it has started. Return the test that failed."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()
        with self.answer, suppress(EOFError):  # it ended without a word
            return self.answer.recv() if self.answer.poll() else None
        return None


class Judge:
    """Judges changes, some forks at a time."""

    def __init__(self, session: pytest.Session, root: Path) -> None:
        self._session = session
        self._root = root
        self._items: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            test, _, parameters = item.nodeid.partition("[")
            if not needs_database(parameters) and DATABASE not in getattr(item, "fixturenames", ()):
                self._items[test].append(item)
        self._functions = _functions(root)
        self._passes: dict[str, bool] = {}
        """By test: does it pass alone, without a change?"""

    def judge(self, tasks: Iterable[Any], *, processes: int) -> Iterator[tuple[int, str]]:
        """Yield the number of each change that is noticed, and the test that notices it."""
        first = filter(None, (self._first(*task) for task in tasks))
        at_work = list(islice(first, processes))
        try:
            while at_work:
                ended = wait([fork.process.sentinel for fork in at_work], timeout=1)
                for fork in [*at_work]:
                    if fork.process.sentinel not in ended and not fork.stands_still:
                        continue
                    at_work.remove(fork)
                    told = self._told_by(fork)
                    if isinstance(told, str):
                        yield fork.number, told
                    at_work += [told] if isinstance(told, Fork) else islice(first, 1)
        finally:
            for fork in at_work:
                fork.failed()

    def _first(self, number: int, told: dict[str, Any], seconds: dict[str, float]) -> Fork | None:
        """Begin with a change; None where no quick test has to do with it, or it cannot be made."""
        tests, change = self._quick_of(seconds), self._change(Mutant(**told))
        return self._fork(number, tests, change) if tests and change else None

    def _quick_of(self, seconds: dict[str, float]) -> list[str]:
        """Return the tests to ask here. What is dear in a file is most often what all of it share,
        and is counted for its first test: the others are not asked either."""
        tests: list[str] = []
        dear: set[str] = set()
        left = ALL
        for test, each in seconds.items():
            file, _, _ = test.partition("::")
            if each > EACH:
                dear.add(file)
            elif test in self._items and file not in dear and each <= left:
                tests.append(test)
                left -= each
        return tests

    def _change(self, mutant: Mutant) -> Change | None:
        if swapped := self._swapped(mutant):
            return partial(_swap, swapped)
        at = at_import.is_at_import(mutant, self._root)
        return partial(at_import.make, mutant, self._root) if at else None

    def _swapped(self, mutant: Mutant) -> list[tuple[FunctionType, CodeType]]:
        """Return the functions that a change is in, each with the code that it makes of it."""
        path = str(self._root / mutant.path)
        text = Path(path).read_text()
        before, after = codes(text, path), codes(mutant.applied(text), path)
        pairs = {
            code: changed
            for name in before.keys() & after.keys()
            if len(before[name]) == len(after[name])
            for code, changed in zip(before[name], after[name], strict=True)
            if not same(code, changed) and code.co_freevars == changed.co_freevars
        }
        return [
            (function, pairs[function.__code__])
            for function in self._functions[path]
            if function.__code__ in pairs
        ]

    def _fork(
        self, number: int, tests: list[str], change: Change | None, without: str | None = None
    ) -> Fork:
        forks = multiprocessing.get_context("fork")
        answer, says = forks.Pipe(duplex=False)
        asked = ([without], None) if without else (tests, change)
        process = forks.Process(target=self._ask, args=(*asked, says))
        process.start()
        says.close()
        return Fork(
            process=process,
            answer=answer,
            number=number,
            tests=tests,
            change=change,
            without=without,
        )

    def _told_by(self, fork: Fork) -> str | Fork | None:
        """Return the test that noticed the change, or the fork that has to be asked next, or None
        where no test noticed it."""
        failed, passed = fork.failed(), fork.process.exitcode == 0
        if fork.without is not None:
            self._passes[fork.without] = passed
            failed = fork.without
        elif passed:
            return None
        elif failed is None:
            return f"stood still, or ended: {fork.process.exitcode}"
        if failed not in self._passes:
            return self._fork(fork.number, fork.tests, fork.change, without=failed)
        if self._passes[failed]:
            return failed
        left = [test for test in fork.tests if test != failed]
        return self._fork(fork.number, left, fork.change) if left else None

    def _ask(self, tests: list[str], change: Change | None, says: Connection) -> None:
        """Run the tests with the changed code, and end this process."""
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(quiet, stream)
        try:
            if change is not None:
                change()
        except Exception:  # noqa: BLE001  (not noticed here, so ``trial`` judges it)
            os._exit(0)
        self._session.config.pluginmanager.register(FirstFailure(says))
        items = [item for test in tests for item in self._items[test]]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os._exit(0)


class FirstFailure:
    """Ends the process at the first test that fails, before its report is written: that takes
    longer than most tests."""

    def __init__(self, says: Connection) -> None:
        self._says = says

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.excinfo and not isinstance(call.excinfo.value, pytest.skip.Exception):
            self._says.send(item.nodeid.partition("[")[0])
            os._exit(1)


def _swap(changes: Iterable[tuple[FunctionType, CodeType]]) -> None:
    for function, code in changes:
        function.__code__ = code


def _functions(root: Path) -> Mapping[str, list[FunctionType]]:
    """All functions of the code below a folder, by their file's path."""
    found: defaultdict[str, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # what is frozen is not told
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(root)):
            found[one.__code__.co_filename].append(one)
    gc.freeze()
    return found


def codes(text: str, path: str) -> dict[str, list[CodeType]]:
    """All code in a text, by its qualified name, in the text's order."""
    found: dict[str, list[CodeType]] = {}

    def add(code: CodeType) -> None:
        found.setdefault(code.co_qualname, []).append(code)
        for each in code.co_consts:
            if isinstance(each, CodeType):
                add(each)

    add(compile(text, path, "exec", dont_inherit=True))
    return found


def same(one: Any, other: Any) -> bool:
    """True if both do the same, on whichever lines they are."""
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        alike = all(
            getattr(one, part) == getattr(other, part)
            for part in ("co_code", "co_names", "co_varnames")
        )
        return alike and same(one.co_consts, other.co_consts)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", type=int, help="Forks at a time; asked.json says what is asked.")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    root = session.config.invocation_params.dir
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
    judge = Judge(session, root)
    tasks = json.loads((root / "asked.json").read_text())
    with (root / "found.txt").open("a") as found:
        for number, by in judge.judge(tasks, processes=session.config.getoption("quick")):
            found.write(f"{number} {by}\n")
            found.flush()
    return True
