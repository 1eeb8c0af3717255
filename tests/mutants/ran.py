"""A plugin of pytest: which statements of the product each test runs, in whichever thread, and in
Python's processes that it starts."""

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.mutants import telling
from tests.mutants.telling import now
from tests.mutants.trial import needs_database

ELSEWHERE: Final = Path(__file__).with_name("elsewhere")
"""Python loads what is here when it starts."""


class Record:
    """The notes of a process about the tests that pass, those of one function together."""

    def __init__(self, into: Path) -> None:
        self._into = into
        self.elsewhere = into.with_suffix("")
        self.elsewhere.mkdir()
        # When each test began and ended, by the machine's monotonic clock.
        self._spans: list[tuple[float, float, str]] = []
        self._seconds: Counter[str] = Counter()
        self._seconds_of_shared: dict[str, float] = {}
        self._seconds_of_fixture: Counter[pytest.FixtureDef[Any]] = Counter()
        self._with_database: Counter[str] = Counter()
        self._tests: defaultdict[str, set[str]] = defaultdict(set)
        self._failed: set[str] = set()
        self._fixtures: defaultdict[pytest.FixtureDef[Any], set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Count each statement that a fixture runs for all tests that are given it. So are the
        seconds of one that several tests share: each, asked alone, has to wait for it."""
        before = {*now}
        now.clear()
        began = time.monotonic()
        result = yield
        if fixturedef.scope != "function":
            self._seconds_of_fixture[fixturedef] += time.monotonic() - began
        self._fixtures[fixturedef] |= now
        now.update(before)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        now.clear()
        began, shared = time.monotonic(), self._seconds_of_fixture.total()
        result = yield
        ended = time.monotonic()
        seconds = ended - began - (self._seconds_of_fixture.total() - shared)
        test, _, parameters = item.nodeid.partition("[")
        self._spans.append((began, ended, test))
        of = self._with_database if needs_database(parameters) else self._seconds
        of[test] += seconds
        given = fixtures_of(item)
        self._seconds_of_shared[test] = sum(self._seconds_of_fixture[fixture] for fixture in given)
        for place in now.union(*(self._fixtures[fixture] for fixture in given)):
            self._tests[place].add(test)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid.partition("[")[0])

    def _add_elsewhere(self) -> None:
        """Count what ran in processes that tests started for the tests that ran meanwhile."""
        for path in self.elsewhere.glob("*.jsonl"):
            for line in path.read_text().splitlines():
                since, until, places = json.loads(line)
                at_work = {
                    test for began, ended, test in self._spans if began < until and since < ended
                }
                for place in places:
                    self._tests[place] |= at_work

    def pytest_sessionfinish(self) -> None:
        self._add_elsewhere()
        seconds = {**self._with_database, **self._seconds}
        passed = {test: spent for test, spent in seconds.items() if test not in self._failed}
        places = {place: sorted(tests & passed.keys()) for place, tests in self._tests.items()}
        self._into.write_text(
            json.dumps({"seconds": passed, "shared": self._seconds_of_shared, "places": places})
        )


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
        record = Record(config.getoption("--ran-into") / f"ran-{name}.json")
        config.pluginmanager.register(record)
        os.environ["RAN_INTO"] = str(record.elsewhere)
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(ELSEWHERE), os.environ.get("PYTHONPATH")))
        )


telling.begin()
