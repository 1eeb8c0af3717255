"""``python -m tests.times``: where the processor time of ``make test`` goes, by room and by test.

Each process of pytest notes what it used, and what the programs used that it started. A fixture
that several tests share has a row of its own, in the room that it lies in; what its server does for
a test is the test's, but for the database that all processes share. Where there is no ``/proc``, a
program counts when it ends.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
import pytest

ROOT: Final = Path(__file__).parents[1]
TOGETHER: Final = "pytest: imports, collection, and what is told"
"""The row for what belongs to no test."""
REST: Final = "the shared database, the process that hands out tests, and this measurement"
"""The row for what no process of the tests has noted."""


def used() -> float:
    """Seconds of processor time of this process, and of its children that have ended."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def used_by_running() -> float:
    """Seconds of processor time of programs that this process has started and that still run, with
    all that they started."""
    parents, ticks = dict[int, int](), dict[int, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            number, _, fields = stat.read_text().rpartition(")")
            process, words = int(number.split()[0]), fields.split()
            parents[process], ticks[process] = int(words[1]), sum(map(int, words[11:15]))
    found = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(ticks[one] for one in found - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


class Meter:
    """Charges processor time, and time that passes, to whatever runs."""

    def __init__(self, into: Path) -> None:
        self._into = into
        self._spent: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._at_work = [TOGETHER]
        self._read = (0.0, time.monotonic())

    def _charge(self) -> None:
        began = used()
        now = (began + used_by_running(), time.monotonic())
        # Nobody waits for Chromium's own children: what they had used is gone from /proc with them.
        self._spent[self._at_work[-1]] += max(0.0, now[0] - self._read[0])
        self._passed[self._at_work[-1]] += now[1] - self._read[1]
        looking = used() - began  # no test's, and not told
        self._read = (now[0] + looking, now[1])

    def begin(self, name: str) -> None:
        self._charge()
        self._at_work.append(name)

    def end(self) -> None:
        self._charge()
        self._at_work.pop()

    def pytest_collection_finish(self) -> None:
        self._charge()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._at_work.append(item.nodeid)  # what passed since the test before is this one's
        try:
            return (yield)
        finally:
            self.end()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        where = fixturedef.func.__module__.replace(".", "/")
        name = f"{where}.py::fixture {fixturedef.argname}"
        self.begin(name)
        try:
            return (yield)
        finally:
            self.end()
            # What was registered last runs first: before the fixture's own way to end.
            fixturedef.addfinalizer(lambda: self.begin(name))

    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        if self._at_work[-1].endswith(f"::fixture {fixturedef.argname}"):
            self.end()

    def pytest_unconfigure(self) -> None:
        self._charge()
        noted = {"spent": self._spent, "passed": self._passed}
        self._into.write_text(json.dumps(noted))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times-into", type=Path, help="The folder for what each process notes.")


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", {"workerid": "alone"})["workerid"]
    meter = Meter(config.getoption("--times-into") / f"times-{worker}.json")
    config.pluginmanager.register(meter)


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "out" / "test-times")
@click.option("--rows", default=40, show_default=True, help="Tests and fixtures to print.")
@click.argument("asked", nargs=-1, type=click.UNPROCESSED)
def main(*, out: Path, rows: int, asked: tuple[str, ...]) -> None:
    """Run the tests, and print where their processor time went. ASKED: options and paths for
    pytest; without any, all that ``make test`` runs. OUT keeps the numbers, as JSON."""
    out.mkdir(parents=True, exist_ok=True)
    for part in out.glob("times-*.json"):
        part.unlink()
    plugin = ("-p", "tests.times", f"--times-into={out.resolve()}")
    ended = subprocess.run((sys.executable, "-m", "pytest", *plugin, *asked), check=False)
    click.echo("\n".join(table(out, rows=rows)))
    sys.exit(ended.returncode)


def table(folder: Path, *, rows: int) -> Iterator[str]:
    """Print seconds of processor time, and what passed: by room, then what took most."""
    spent, passed = Counter[str](), Counter[str]()
    parts = {part.name: json.loads(part.read_text()) for part in folder.glob("times-*.json")}
    alone = parts.pop("times-alone.json", None) if len(parts) > 1 else None
    for noted in parts.values():
        spent.update(noted["spent"])
        passed.update(noted["passed"])
    if alone is not None:  # it has the others for children
        spent[REST] = max(0.0, sum(alone["spent"].values()) - spent.total())
    rooms, counted = Counter[str](), Counter[str]()
    for name, seconds in spent.items():
        room = name if name in {TOGETHER, REST} else "/".join(name.split("::")[0].split("/")[:2])
        rooms[room] += seconds
        counted[room] += "::fixture " not in name and name not in {TOGETHER, REST}
    yield f"\n{sum(spent.values()):8.1f} s of processor time, {counted.total():,} tests\n"
    for room, seconds in rooms.most_common():
        yield f"{seconds:8.1f} s {counted[room]:6,} tests  {room}"
    yield "\nprocessor    passed  what took most"
    for name, seconds in spent.most_common(rows):
        yield f"{seconds:8.1f} s {passed[name]:7.1f} s  {name}"


if __name__ == "__main__":
    main()
