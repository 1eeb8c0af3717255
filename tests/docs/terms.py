"""``python -m tests.docs.terms`` writes what the pages say of the terms of a put, by the table."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from lifoq.items.put_terms import TERMS, Door, Seconds, Term
from lifoq.items.schema import Preview
from lifoq_cdk import RecurringTask

DOCS: Final = Path(__file__).parents[2] / "docs"
NONE: Final = "–"
DOORS: Final = {
    "follow-up": Door.FOLLOW_UP,
    "HTTP": Door.HTTP,
    "found in a message": Door.MESSAGE,
    "`lifoq put`": Door.COMMAND,
    "`RecurringTask`, `schedules.put`": Door.RECURRING,
}
RECURRING: Final = {one.name for one in dataclasses.fields(RecurringTask)}


def page(before: str) -> str:
    """The page of the terms, whose first part is written by hand."""
    meanings = (
        (f"`{term.name}`", f"{term.meaning} {term.more}".rstrip(), term.rule.words, term.by_default)
        for term in TERMS
    )
    names = (
        (
            f"`{term.name}`",
            *(_name(term, door) for door in DOORS.values()),
            NONE if term.attribute is None else f"`{term.attribute}`",
        )
        for term in TERMS
    )
    return (
        f"{before}## What they mean\n\n{table(('term', 'meaning', 'value', 'default'), meanings)}"
        "\n## Their names\n\nA message is searched by [JMESPath](ingest.md), which a mapping "
        "changes. In JSON, durations are seconds; the command takes `30s`, `5m`, `2h`, `1d` or "
        "seconds, and times as ISO 8601; a `RecurringTask` takes durations of the CDK. `lifoq "
        "schedule put` has the options of `lifoq put` for what `schedules.put` has.\n\n"
        + table(("`put`, `NewTask`", *DOORS, "in the [item](item-format.md)"), names)
    )


def _name(term: Term, door: Door) -> str:
    if door not in term.doors or (door is Door.RECURRING and term.name not in RECURRING):
        return NONE
    name = term.name if door is Door.RECURRING else term.at(door)
    return code(name)


def code(text: str) -> str:
    """Return code for the cell of a table, which ends with ``|`` in backticks, too."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def item(before: str) -> str:
    """The page of the item format, up to and with the attributes that terms have."""
    rows = (
        (f"`{term.attribute}`", _type(term), " ".join(filter(None, (term.meaning, term.item_note))))
        for term in TERMS
        if term.attribute is not None
    )
    return (
        f"{before}## Attributes that a task may have\n\nTerms of its put, which it keeps; each is "
        "left out where it is not given, and changes only where a newer put replaces the task. "
        '[What each may be](terms.md). Fields of `preview` lie in one map: `{"M": {"headStart": '
        '{"N": "60000000"}}}`; workers see them before they claim a task.\n\n'
        + table(("attribute", "type", "meaning"), rows)
        + "\n"
    )


def _type(term: Term) -> str:
    unit = ", µs" if isinstance(term.rule, Seconds) else ""
    return term.rule.attribute_type + unit + (", in `preview`" if term.attribute in Preview else "")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


PAGES: Final[Mapping[str, tuple[Callable[[str], str], str, str]]] = {
    "terms.md": (page, "## What they mean", ""),
    "item-format.md": (item, "## Attributes that a task may have", "## Put a delayed task"),
}
"""The functions that write a part of a page, with the headings of that part and of the next one."""


def written(name: str) -> str:
    """The page as it should be."""
    write, heading, following = PAGES[name]
    text = (DOCS / name).read_text(encoding="utf-8")
    before, _, rest = text.partition(heading)
    after = following + rest.partition(following)[2] if following else ""
    return write(before) + after


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(written(name), encoding="utf-8")
