"""The page of the command says what the command says of itself."""

import re
import subprocess
import sys
from pathlib import Path

from lifoq_cli import statuses
from tests.cli import page

ROOT = Path(__file__).parents[2]


def test_the_page_is_the_commands_own_help():
    # In a process of its own: click keeps the options of a command as they were first asked for.
    code = "from tests.cli import page; print(page.written(), end='')"
    written = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert page.PAGE.read_text() == written, "run: python -m tests.cli.page"


def test_the_page_has_every_exit_status():
    rows = re.findall(r"^\| (\d+) \|", page.PAGE.read_text(), re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(
        value for name, value in vars(statuses).items() if name.isupper()
    )
