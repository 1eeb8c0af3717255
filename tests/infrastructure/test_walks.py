"""The walks of a newcomer, from the wheel on: the tutorial, a project of one's own, the README.
Their commands, files and answers are those of the pages. Packages come from the caches of this
machine, and the first time from their registries."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.commands import ROOT
from tests.infrastructure.users import Terminal, blocks, registries, until

OWN_PROJECT = (ROOT / "docs" / "own-project.md").read_text()
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()

pytestmark = pytest.mark.prove


def test_who_follows_the_tutorial_sees_the_newest_served_and_the_rest_shed_in_the_report(
    user, open_terminal
):
    steps = iter([block for block in blocks(TUTORIAL) if block[0] != "text"])
    project = user.folder / "devices"

    def commands() -> str:
        language, title, text = next(steps)
        assert language == "sh", title
        return text

    def file() -> None:
        _, title, text = next(steps)
        (project / title).write_text(text)

    first = open_terminal(user.folder)
    make, install, *begin = commands().splitlines()
    assert make == "python3 -m venv .venv && . .venv/bin/activate"
    assert install == 'pip install --no-compile "./lifoq[dev,analytics]"'
    first.runs("\n".join(begin))
    file()
    file()
    assert "1 passed" in first.runs(commands())
    first.deploys(commands().strip())
    first.is_told("Console of devices: http")

    second = open_terminal(project)
    assert '"firmware": "1.4"' in second.runs(commands())
    second.runs(commands())
    until(lambda: "DELAYED" in second.runs("lifoq get second"), lambda: second.shown)
    assert "due" in second.runs(commands())
    told = second.runs(commands())
    assert "attempts     2" in told
    assert "ConnectionError: the device did not answer" in told

    overload = second.runs(commands())
    assert "200 put" in overload
    assert "wait to be claimed" in overload  # when the newest, put last, was done
    until(lambda: '"live": 0' in second.runs("lifoq stats --json"), lambda: second.shown)
    assert "Overloaded" in second.runs(commands())

    exported = second.runs(commands())
    (place,) = re.findall(r"^then: lifoq report (s3://\S+) --out report$", exported, re.MULTILINE)
    report = second.runs(commands().replace("s3://…", place))
    assert next(steps, None) is None
    rows = dict(re.findall(r"│ (\w+) +│ ([\d.]+%?) +│", report))
    created, done, shed = (int(rows[name]) for name in ("created", "succeeded", "shed"))
    assert (created, done + shed) == (203, 203)
    assert 120 < shed < 200, report
    assert "shed" in (project / "report" / "report.html").read_text()


def test_a_project_of_ones_own_runs_here_is_changed_while_it_runs_and_is_deployed(
    user, open_terminal
):
    def said(*lines: str) -> str:
        assert [line for line in lines if f"\n{line}\n" not in OWN_PROJECT] == []
        return "\n".join(lines)

    def write() -> None:
        for _, name, text in blocks(OWN_PROJECT):
            (project / name).write_text(text)

    def sends(**event: Any) -> Any:
        return json.loads(second.runs(f"python send.py '{json.dumps(event)}'"))

    project = user.folder / "thumbnails"
    tasks = project / "tasks" / "__init__.py"
    assert said('pip install --no-compile "./lifoq[dev]"')
    first = open_terminal(user.folder)
    first.runs(said("lifoq init thumbnails", "cd thumbnails"))
    with (project / "app.py").open("a") as app:
        app.write('open("../runs", "a").write("once ")\n')
    assert "2 passed" in first.runs(said("pytest"))
    first.deploys(said("lifoq dev"), meanwhile=write)
    first.is_told("tasks/requirements.txt is live")
    assert (user.folder / "runs").read_text() == "once "

    second = open_terminal(project)
    second.runs(said(". ../.venv/bin/activate", ". .local/environment"))
    assert sends(colour="orange", width=64)["size"] == [64, 48]

    before = tasks.read_text()
    tasks.write_text(before + "def slip(:\n")
    first.is_told("tasks/__init__.py is not live: line")
    assert sends(colour="orange", width=64)["size"] == [64, 48]
    tasks.write_text(before.replace("(640, 480)", "(640, 320)"))
    first.is_told("tasks/__init__.py is live")
    assert sends(colour="red", width=64)["size"] == [64, 32]
    assert first.shown.count("Deployed.") == 1

    tasks.write_text(before.replace("(640, 480)", "(640, 640)"))
    second.runs(said("lifoq cdk deploy") + " < /dev/null")
    assert sends(colour="blue", width=64)["size"] == [64, 64]
    # The producer's, the task code, and at most what still ran when that was replaced.
    assert len(list((project / ".local" / "assets").iterdir())) <= 3

    _follow_the_readme(project, first, open_terminal(project))


def _follow_the_readme(project: Path, dev: Terminal, terminal: Terminal) -> None:
    """Its task type, in a terminal that has not read ``.local/environment``."""
    readme = (ROOT / "README.md").read_text()
    _, _, then = readme.partition("Save the files")
    _, put, wait, tested = re.findall(r"^ {4}(.+)$", then, re.MULTILINE)[:4]
    for _, title, text in reversed(blocks(readme)):
        if title:  # requirements last: what was told for them is for all
            (project / title).write_text(text)
    with registries():
        dev.is_told("tasks/requirements.txt is live")
    terminal.runs(put)
    assert wait.partition("# ")[2] in terminal.runs(wait)
    assert "1 passed" in terminal.runs(tested.replace("pip install", "uv pip install"))
