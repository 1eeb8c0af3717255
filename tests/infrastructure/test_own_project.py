"""As a new user: from the wheel to the first task of a project of one's own.

The commands and the code are those of ``docs/own-project.md``. Packages come from the caches of
this machine, and from their registries where a cache has them not yet: the first time.
"""

import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infrastructure.commands import run
from tests.infrastructure.deployments import ROOT
from tests.infrastructure.users import User, registries

PAGE = (ROOT / "docs" / "own-project.md").read_text()
START_SECONDS = 240.0
TOLD_SECONDS = 60.0
SOON_SECONDS = 20.0
"""Less than until the next sweep."""

pytestmark = pytest.mark.prove


def code(title: str) -> str:
    """An example of the page."""
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE, flags=re.DOTALL)
    assert found, title
    return found[1]


class Newcomer(User):
    """With the project of the page."""

    @property
    def project(self) -> Path:
        return self.folder / "thumbnails"

    @property
    def in_the_local_cloud(self) -> dict[str, str]:
        """What ``. .local/environment`` adds."""
        lines = (self.project / ".local" / "environment").read_text().splitlines()
        return dict(line.removeprefix("export ").split("=", 1) for line in lines)

    @property
    def log(self) -> Path:
        """What ``lifoq dev`` prints."""
        return self.folder / "log"

    @property
    def sweeps(self) -> int:
        """How often the sweep has run."""
        logs = (self.project / ".local" / "logs").glob("*Sweep*.log")
        return sum(log.read_text().count('"swept"') for log in logs)

    def is_told(self, words: str) -> None:
        until = time.monotonic() + TOLD_SECONDS
        while words not in self.log.read_text():
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.1)

    def does(self, command: str, *arguments: str, cwd: Path) -> str:
        """A command that the page has, with further arguments."""
        assert f"{command}\n" in PAGE or f"{command} '" in PAGE, command
        environment = self.environment
        if (self.project / ".local" / "environment").exists():
            environment |= self.in_the_local_cloud
        program, *own = command.split()
        return run(
            *(self.folder / ".venv" / "bin" / program, *own, *arguments),
            cwd=cwd,
            env=environment,
        )


@pytest.fixture(scope="module")
def user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """One with a new project."""
    user = Newcomer(tmp_path_factory.mktemp("user"), page=PAGE)
    user.install(wheel, "[dev]")
    user.does("lifoq init thumbnails", cwd=user.folder)
    return user


@pytest.fixture(scope="module")
def running(user: Newcomer) -> Iterator[Newcomer]:
    """The project runs on the local cloud, with the page's own task code in it."""
    tested = user.does("pytest", cwd=user.project)
    assert "2 passed" in tested
    for name in ("tasks/requirements.txt", "tasks/__init__.py", "producer/handler.py"):
        (user.project / name).write_text(code(name))
    assert "\nlifoq dev\n" in PAGE
    cloud = subprocess.Popen(
        [
            user.folder / ".venv" / "bin" / "lifoq",
            "dev",
            "--port=0",
            "--until-stdin-closes",
        ],
        cwd=user.project,
        env=user.environment,
        stdin=subprocess.PIPE,
        stdout=user.log.open("w"),
        stderr=subprocess.STDOUT,
    )
    try:
        until = time.monotonic() + START_SECONDS
        with registries():
            while "\nDeployed." not in user.log.read_text():
                assert cloud.poll() is None, user.log.read_text()
                assert time.monotonic() < until, user.log.read_text()
                time.sleep(0.2)
        yield user
    finally:
        assert cloud.stdin
        cloud.stdin.close()
        cloud.wait(20)


def test_a_task_that_needs_pillow_and_was_put_by_the_projects_own_producer_succeeds(
    running: Newcomer,
) -> None:
    said = running.does(
        "python send.py", json.dumps({"colour": "orange", "width": 64}), cwd=running.project
    )

    assert json.loads(said)["size"] == [64, 48]


def test_saved_code_is_live_without_a_deployment_and_a_slip_leaves_what_ran(
    running: Newcomer,
) -> None:
    (running.project / "report").mkdir()  # and what is written into it is no code
    tasks = running.project / "tasks" / "__init__.py"
    before = tasks.read_text()

    tasks.write_text(before + "def slip(:\n")
    running.is_told("tasks/__init__.py is not live: line")
    sweeps = running.sweeps
    tasks.write_text(before.replace("(640, 480)", "(640, 320)"))
    running.is_told("tasks/__init__.py is live")
    # Tasks may wait that the code before could not do: the sweep does not wait for its minute.
    until = time.monotonic() + SOON_SECONDS
    while running.sweeps == sweeps:
        assert time.monotonic() < until
        time.sleep(0.2)

    said = running.does("python send.py", '{"colour": "red", "width": 64}', cwd=running.project)
    assert json.loads(said)["size"] == [64, 32]
    assert running.log.read_text().count("Deployed.") == 1
    assert " is deployed" not in running.log.read_text()


def test_a_change_is_deployed_by_the_cdk_cli_that_lifoq_brings(running: Newcomer) -> None:
    tasks = running.project / "tasks" / "__init__.py"
    tasks.write_text(tasks.read_text().replace("(640, 320)", "(640, 640)"))

    running.does("lifoq cdk deploy", cwd=running.project)

    said = running.does("python send.py", '{"colour": "blue", "width": 64}', cwd=running.project)
    assert json.loads(said)["size"] == [64, 64]


def test_the_task_type_of_the_readme_gives_the_result_that_it_shows(running: Newcomer) -> None:
    readme = (ROOT / "README.md").read_text()
    files = re.findall(r'```\w+ title="(.+?)"\n(.*?)```', readme, re.DOTALL)
    put, wait = re.findall(r"^    lifoq ((?:put|wait) .+)$", readme, re.MULTILINE)

    for title, text in reversed(files):  # requirements last: what was told for them is for all
        (running.project / title).write_text(text)
    with registries():
        running.is_told("tasks/requirements.txt is live")

    def lifoq(line: str) -> str:
        return run(
            *(running.folder / ".venv" / "bin" / "lifoq", *shlex.split(line, comments=True)),
            cwd=running.project,
            env=running.environment | running.in_the_local_cloud,
        )

    lifoq(put)
    assert lifoq(wait).strip() == wait.partition("# ")[2]
