"""``python -m tests.localcloud.changes_page`` writes what the page of the local cloud says about
changes of deployed resources, by the classes of the types."""

from pathlib import Path
from typing import Final

from lifoq_localcloud.deployments.resources import changes, types
from tests.docs.terms import NONE, table

PAGE: Final = Path(__file__).parents[2] / "docs" / "local-cloud.md"
BEGIN, END = "<!-- changes -->\n", "<!-- /changes -->"


def page(before: str) -> str:
    """The page, with the table as the classes have it."""
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    rows = (
        (f"`{name}`", _names(changes.in_place(kind)), _names(changes.replacing(kind)))
        for name, kind in types.changeable().items()
    )
    return head + BEGIN + table(("type", "changed in place", "replaced"), rows) + END + tail


def _names(properties: frozenset[str]) -> str:
    return ", ".join(sorted(properties)) or NONE


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
