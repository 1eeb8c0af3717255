"""The page of the command says what the command says of itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lifoq_cli import statuses
from tests.cli import page

ROOT = Path(__file__).parents[2]


WRITTEN = """
import os
from tests.cli import page

for name in page.app.root.list_commands(None):
    page.app.root.get_command(None, name)  # what is imported serves both
for width in (page.WIDTH, 80):
    if not os.fork():  # click keeps the options of a command as they were first asked for
        print(page.written(width), end="\\0", flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def written() -> list[str]:
    """The page, and the page for a terminal of eighty columns."""
    code = [sys.executable, "-c", WRITTEN]
    said = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return said.split("\0")


def test_the_page_is_the_commands_own_help(written):
    assert page.PAGE.read_text() == written[0], "run: python -m tests.cli.page"


def test_help_fits_a_terminal_of_eighty_columns(written):
    _, found, commands = written[1].partition(page.MARK)
    assert found
    assert [line for line in commands.splitlines() if len(line) > 80] == []


def test_the_page_has_every_exit_status():
    rows = re.findall(r"^\| (\d+) \|", page.PAGE.read_text(), re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(
        value for name, value in vars(statuses).items() if name.isupper()
    )
