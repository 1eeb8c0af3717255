"""The tutorial, as a reader follows it: each of its commands and files, in its order."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.infrastructure.deployments import ROOT
from tests.infrastructure.users import User

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)
PATIENCE_SECONDS = 240.0

pytestmark = pytest.mark.prove


def until(found: Callable[[], bool], otherwise: Callable[[], object]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < give_up, otherwise()
        time.sleep(0.2)


class Terminal:
    """A shell that stays in its folder, and keeps its environment, from one block to the next."""

    def __init__(self, folder: Path, user: User) -> None:
        self._log = folder / f"terminal-{id(self)}"
        self._shell = subprocess.Popen(
            ["bash", "-e"],
            cwd=folder,
            env=user.environment,
            stdin=subprocess.PIPE,
            stdout=self._log.open("w"),
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._blocks = 0

    @property
    def shown(self) -> str:
        return self._log.read_text()

    def begins(self, block: str) -> None:
        assert self._shell.stdin
        self._shell.stdin.write(block)
        self._shell.stdin.flush()

    def runs(self, block: str) -> str:
        """What it printed."""
        self._blocks += 1
        before, end = len(self.shown), f"END-OF-BLOCK-{self._blocks}"
        self.begins(f"{block}\necho {end}\n")
        until(lambda: end in self.shown or self.has_ended, lambda: self.shown)
        assert end in self.shown, self.shown
        return self.shown[before:].replace(end, "")

    @property
    def has_ended(self) -> bool:
        return self._shell.poll() is not None

    def close(self) -> None:
        """As by Ctrl-C: to all that runs in it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGINT)
        assert self._shell.stdin
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.close()
        self._shell.wait(30)


@pytest.fixture
def reader(wheel: Path, tmp_path: Path) -> User:
    user = User(tmp_path, page=PAGE, has=("JAVA_HOME",))
    user.install(wheel, "[dev,analytics]")
    return user


@pytest.fixture
def terminals(reader: User) -> Iterator[Callable[[Path], Terminal]]:
    opened: list[Terminal] = []

    def new(folder: Path) -> Terminal:
        opened.append(Terminal(folder, reader))
        return opened[-1]

    yield new
    for terminal in reversed(opened):
        terminal.close()


def test_who_follows_the_tutorial_sees_the_newest_served_and_the_rest_shed_in_the_report(
    reader: User, terminals: Callable[[Path], Terminal]
) -> None:
    blocks = iter([block for block in BLOCKS if block[0] != "text"])
    project = reader.folder / "devices"

    def commands() -> str:
        language, title, text = next(blocks)
        assert language == "sh", title
        return str(text)

    def file(name: str) -> None:
        _, title, text = next(blocks)
        assert title == name
        (project / name).write_text(text)

    first = terminals(reader.folder)
    make, environment, install, *rest = re.split(r" && |\n", commands(), maxsplit=3)
    assert (make, environment) == ("python3 -m venv .venv", ". .venv/bin/activate")
    assert install.startswith("pip install ")
    first.runs("\n".join(rest))
    file("tasks/__init__.py")
    file("test_tasks.py")
    assert "1 passed" in first.runs(commands())

    first.begins(commands().replace("lifoq dev", "lifoq dev --port=0"))
    until(lambda: "Console of" in first.shown or first.has_ended, lambda: first.shown)
    console = re.search(r"^Console of devices: (http\S+)$", first.shown, re.MULTILINE)
    assert console, first.shown

    second = terminals(project)
    assert '"firmware": "1.4"' in second.runs(commands())
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    assert browser.open(console[1]).status == 200
    pages = console[1].partition("/enter")[0]
    assert "SUCCESS" in browser.open(f"{pages}/task?id=first").read().decode()

    second.runs(commands())
    until(lambda: "DELAYED" in second.runs("lifoq get second"), lambda: second.shown)
    assert "due" in second.runs(commands())
    told = second.runs(commands())
    assert "attempts     2" in told
    assert "ConnectionError: the device did not answer" in told

    overload = second.runs(commands())
    assert "200 put" in overload
    assert "wait to be claimed" in overload
    fresh = json.loads(second.runs("lifoq get fresh --json"))
    entered, begun = (datetime.fromisoformat(fresh[at]) for at in ("enqueued_at", "first_taken_at"))
    # Behind the 200 it would have been begun when they were shed, or later.
    assert begun - entered < timedelta(seconds=8)
    until(lambda: json.loads(second.runs("lifoq stats --json"))["live"] == 0, lambda: second.shown)
    assert "Overloaded" in second.runs(commands())
    overview = browser.open(f"{pages}/").read().decode()
    assert re.search(r"shed, last 5 min</dt><dd>1\d\d<", overview), overview

    exported = second.runs(commands())
    (place,) = re.findall(r"^then: lifoq report (s3://\S+) --out report$", exported, re.MULTILINE)
    printed = second.runs(commands().replace("s3://…", place))
    assert next(blocks, None) is None
    _adds_up(printed)
    assert "shed" in (project / "report" / "report.html").read_text()


def _adds_up(report: str) -> None:
    rows = dict(re.findall(r"│ (\w+) +│ ([\d.]+%?) +│", report))
    created, done, shed = (int(rows[name]) for name in ("created", "succeeded", "shed"))
    assert (created, done + shed) == (203, 203)
    assert 120 < shed < 200, report
