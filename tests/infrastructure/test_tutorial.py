"""The tutorial, as a reader follows it: each of its commands and files, in its order."""

import json
import re
import urllib.request
from collections.abc import Callable
from datetime import datetime, timedelta
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.infrastructure.deployments import ROOT
from tests.infrastructure.users import Terminal, User, terminals, until

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.prove


@pytest.fixture
def reader(wheel, tmp_path) -> User:
    user = User(tmp_path, page=PAGE, has=("JAVA_HOME",))
    user.install(wheel, "[dev,analytics]")
    return user


def test_who_follows_the_tutorial_sees_the_newest_served_and_the_rest_shed_in_the_report(reader):
    with terminals(reader) as open_terminal:
        _follow(reader.folder, open_terminal)


def _follow(folder: Path, open_terminal: Callable[[Path], Terminal]) -> None:
    blocks = iter([block for block in BLOCKS if block[0] != "text"])
    project = folder / "devices"

    def commands() -> str:
        language, title, text = next(blocks)
        assert language == "sh", title
        return str(text)

    def file(name: str) -> None:
        _, title, text = next(blocks)
        assert title == name
        (project / name).write_text(text)

    first = open_terminal(folder)
    make, environment, install, *rest = re.split(r" && |\n", commands(), maxsplit=3)
    assert (make, environment) == ("python3 -m venv .venv", ". .venv/bin/activate")
    assert install.startswith("pip install ")
    first.runs("\n".join(rest))
    file("tasks/__init__.py")
    file("test_tasks.py")
    assert "1 passed" in first.runs(commands())

    first.deploys(commands().strip())
    first.is_told("Console of")
    console = re.search(r"^Console of devices: (http\S+)$", first.shown, re.MULTILINE)
    assert console, first.shown

    second = open_terminal(project)
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
    fresh = json.loads(second.runs("lifoq get fresh --json 2> /dev/null"))
    entered, begun = (datetime.fromisoformat(fresh[at]) for at in ("enqueued_at", "first_taken_at"))
    # Behind the 200 it would have been begun when they were shed, or later.
    assert begun - entered < timedelta(seconds=8)
    until(
        lambda: json.loads(second.runs("lifoq stats --json 2> /dev/null"))["live"] == 0,
        lambda: second.shown,
    )
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
