"""As a new user: from the wheel to the first task of a project of one's own.

The commands and the code are those of ``docs/own-project.md``. Packages come from the caches of
this machine, and from their registries where a cache has them not yet: the first time.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from localcloud import LocalCloud
from tests.infrastructure.deployments import ROOT
from tests.infrastructure.users import Terminal, User, registries, terminals, until

PAGE = (ROOT / "docs" / "own-project.md").read_text()

pytestmark = pytest.mark.prove


def code(title: str) -> str:
    """An example of the page."""
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE, flags=re.DOTALL)
    assert found, title
    return found[1]


class Newcomer:
    """With the project of the page, which runs in one terminal and is worked with in another."""

    def __init__(self, user: User, open_terminal: Callable[[Path], Terminal]) -> None:
        self.project = user.folder / "thumbnails"
        begins = open_terminal(user.folder)
        begins.runs("\n".join(self._lines("lifoq init thumbnails", "cd thumbnails")))
        with (self.project / "app.py").open("a") as app:
            app.write('open("../runs", "a").write("once ")\n')
        assert "2 passed" in begins.runs(*self._lines("pytest"))
        self.dev = begins
        self.dev.deploys(*self._lines("lifoq dev"), meanwhile=self._write)
        self.dev.is_told("tasks/requirements.txt is live")
        self.another = partial(open_terminal, self.project)
        self.second = self.another()
        self.second.runs("\n".join(self._lines(". ../.venv/bin/activate", ". .local/environment")))

    def _write(self) -> None:
        for name in ("producer/handler.py", "tasks/__init__.py", "tasks/requirements.txt"):
            (self.project / name).write_text(code(name))

    @staticmethod
    def _lines(*lines: str) -> tuple[str, ...]:
        assert [line for line in lines if f"\n{line}\n" not in PAGE] == []
        return lines

    @property
    def sweeps(self) -> int:
        """How often the sweep has run."""
        logs = (self.project / ".local" / "logs").glob("*Sweep*.log")
        return sum(log.read_text().count('"swept"') for log in logs)

    def schedules(self, state: str) -> None:
        scheduler = LocalCloud.at(self.project / ".local").client("scheduler")
        for listed in scheduler.list_schedules()["Schedules"]:
            found = scheduler.get_schedule(Name=listed["Name"])
            kept = ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")
            scheduler.update_schedule(**{name: found[name] for name in kept}, State=state)

    def sends(self, event: dict[str, Any]) -> Any:
        assert "\npython send.py '" in PAGE
        return json.loads(self.second.runs(f"python send.py '{json.dumps(event)}'"))


@pytest.fixture(scope="module")
def running(wheel, tmp_path_factory) -> Iterator[Newcomer]:
    """The project runs on the local cloud, with the page's own task code in it."""
    user = User(tmp_path_factory.mktemp("user"), page=PAGE)
    user.install(wheel, "[dev]")
    with terminals(user) as open_terminal:
        yield Newcomer(user, open_terminal)


def test_the_first_deployment_runs_the_application_once(running):
    assert (running.project.parent / "runs").read_text() == "once "


def test_a_task_that_needs_pillow_and_was_put_by_the_projects_own_producer_succeeds(running):
    assert running.sends({"colour": "orange", "width": 64})["size"] == [64, 48]


def test_saved_code_is_live_without_a_deployment_and_a_slip_leaves_what_ran(running):
    (running.project / "report").mkdir()  # and what is written into it is no code
    tasks = running.project / "tasks" / "__init__.py"
    before = tasks.read_text()

    tasks.write_text(before + "def slip(:\n")
    running.dev.is_told("tasks/__init__.py is not live: line")
    running.schedules("DISABLED")
    sweeps = running.sweeps
    tasks.write_text(before.replace("(640, 480)", "(640, 320)"))
    running.dev.is_told("tasks/__init__.py is live")
    # Tasks may wait that the code before could not do: the sweep does not wait for its minute.
    until(lambda: running.sweeps > sweeps, lambda: running.dev.shown)
    running.schedules("ENABLED")

    assert running.sends({"colour": "red", "width": 64})["size"] == [64, 32]
    assert running.dev.shown.count("Deployed.") == 1
    assert " is deployed" not in running.dev.shown


def test_a_change_is_deployed_by_the_cdk_cli_that_lifoq_brings(running):
    tasks = running.project / "tasks" / "__init__.py"
    tasks.write_text(tasks.read_text().replace("(640, 320)", "(640, 640)"))

    assert "\nlifoq cdk deploy\n" in PAGE
    running.second.runs("lifoq cdk deploy < /dev/null")

    assert running.sends({"colour": "blue", "width": 64})["size"] == [64, 64]
    # The producer's, the task code, and at most what still ran when that was replaced.
    assert len(list((running.project / ".local" / "assets").iterdir())) <= 3


def test_the_task_type_of_the_readme_gives_the_result_that_it_shows_and_its_test_passes(running):
    readme = (ROOT / "README.md").read_text()
    files = re.findall(r'```\w+ title="(.+?)"\n(.*?)```', readme, re.DOTALL)
    lines = re.findall(r"^ {4}(.+)$", readme.partition("Save the files")[2], re.MULTILINE)
    put, wait, tested = lines[1:4]

    for title, text in reversed(files):  # requirements last: what was told for them is for all
        (running.project / title).write_text(text)
    with registries():
        running.dev.is_told("tasks/requirements.txt is live")

    third = running.another()  # has not read .local/environment
    third.runs(put)
    assert wait.partition("# ")[2] in third.runs(wait)
    assert "1 passed" in third.runs(tested.replace("pip install", "uv pip install"))
