"""A plugin of pytest: which statements of the product each test runs, in whichever thread.

Every statement tells by itself that it runs: modules are compiled with a call before each. That
costs a fifth of the tests' time, where a tracer costs a multiple of it and follows neither the
strands of virtual machines nor threads well.
"""

import ast
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

import pytest

from tests.mutants.operators import ROOTS

TELLS: Final = "__ran__"
"""The name by which a statement tells."""
CODE: Final = Path.cwd()
PACKAGES: Final = {Path(root).name for root in ROOTS}
now: Final[set[str]] = set()
"""Places, ``path:line``, that have run since the test began."""


class Telling(SourceFileLoader):
    """Loads a module whose statements tell that they run."""

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.path)
        tree = ast.parse(path.read_bytes())
        make_tell(tree, str(path.relative_to(CODE)))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, TELLS, now.add)
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the modules of the product."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Telling(fullname, spec.loader.path)
        return spec


def make_tell(tree: ast.AST, path: str) -> None:
    """Put a call before each statement, but for what must come first."""
    for node in [*ast.walk(tree)]:
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                setattr(node, field, [*_with_calls(body, path)])


def _with_calls(body: list[ast.stmt], path: str) -> Iterator[ast.stmt]:
    for statement in body:
        if not _must_be_first(statement):
            call = ast.parse(f"{TELLS}({f'{path}:{statement.lineno}'!r})").body[0]
            for part in ast.walk(call):
                ast.copy_location(part, statement)
            yield call
        yield statement


def _must_be_first(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.ImportFrom(module="__future__"):
            return True
    return False


class Record:
    """The notes of a process about the tests that pass, those of one function together."""

    def __init__(self, into: Path) -> None:
        self._into = into
        self._seconds: Counter[str] = Counter()
        self._with_database: Counter[str] = Counter()
        self._tests: defaultdict[str, set[str]] = defaultdict(set)
        self._failed: set[str] = set()
        self._fixtures: defaultdict[pytest.FixtureDef[Any], set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Count each statement that a fixture runs for all tests that are given it."""
        before = {*now}
        now.clear()
        result = yield
        self._fixtures[fixturedef] |= now
        now.update(before)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        now.clear()
        began = time.perf_counter()
        result = yield
        seconds = time.perf_counter() - began
        test, _, parameters = item.nodeid.partition("[")
        dear = "moto" in parameters or "dynamodb" in parameters
        (self._with_database if dear else self._seconds)[test] += seconds
        given = fixtures_of(item)
        for place in now.union(*(self._fixtures[fixture] for fixture in given)):
            self._tests[place].add(test)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid.partition("[")[0])

    def pytest_sessionfinish(self) -> None:
        seconds = {**self._with_database, **self._seconds}
        passed = {test: spent for test, spent in seconds.items() if test not in self._failed}
        places = {place: sorted(tests & passed.keys()) for place, tests in self._tests.items()}
        self._into.write_text(json.dumps({"seconds": passed, "places": places}))


def fixtures_of(item: Any) -> list[pytest.FixtureDef[Any]]:
    """Return the fixtures that a test is given; pytest has no public name for them."""
    by_name = item._fixtureinfo.name2fixturedefs
    return [fixture for same_name in by_name.values() for fixture in same_name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ran-into", type=Path, help="The folder for what each process notes.")


def pytest_configure(config: pytest.Config) -> None:
    worker: Any = getattr(config, "workerinput", None)
    if worker is not None or not config.getoption("numprocesses", None):
        name = "alone" if worker is None else worker["workerid"]
        config.pluginmanager.register(Record(config.getoption("--ran-into") / f"ran-{name}.json"))


sys.meta_path.insert(0, Finder())
