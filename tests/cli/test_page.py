"""The page of the command says what the command says of itself."""

import re

from lifoq_cli import statuses
from tests.cli import page


def test_the_page_is_the_commands_own_help() -> None:
    assert page.PAGE.read_text() == page.written(), "run: python -m tests.cli.page"


def test_the_page_has_every_exit_status() -> None:
    rows = re.findall(r"^\| (\d+) \|", page.PAGE.read_text(), re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(
        value for name, value in vars(statuses).items() if name.isupper()
    )
