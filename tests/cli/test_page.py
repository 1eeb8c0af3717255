"""The page of the command says what the command says of itself."""

import re
import subprocess
import sys
from pathlib import Path

from lifoq_cli import statuses
from tests.cli import page

ROOT = Path(__file__).parents[2]


def written(width: int) -> str:
    # In a process of its own: click keeps the options of a command as they were first asked for.
    code = f"from tests.cli import page; print(page.written({width}), end='')"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_the_page_is_the_commands_own_help():
    assert page.PAGE.read_text() == written(page.WIDTH), "run: python -m tests.cli.page"


def test_help_fits_a_terminal_of_eighty_columns():
    _, _, commands = written(80).partition(page.MARK)
    assert [line for line in commands.splitlines() if len(line) > 80] == []


def test_the_page_has_every_exit_status():
    rows = re.findall(r"^\| (\d+) \|", page.PAGE.read_text(), re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(
        value for name, value in vars(statuses).items() if name.isupper()
    )
