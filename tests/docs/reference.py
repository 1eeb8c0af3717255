"""``python -m tests.docs.reference`` writes the reference of the Python library, by its docstrings.

The first part of each page, up to its first heading, is written by hand.
"""

import math
import re
from collections.abc import Iterator, Sequence
from doctest import DocTestParser
from pathlib import Path
from typing import Any, Final

from lifoq.items.put_terms import TERMS
from tests.docs.public_names import (
    NOT_GIVEN,
    PAGES,
    Row,
    attributes,
    constant,
    constructor,
    example,
    find,
    is_enum,
    is_fixture,
    methods,
    parameters,
    sections,
    spelled_type,
    stars,
    text,
)
from tests.docs.terms import DOCS, NONE, code, table

FOLDER: Final = DOCS / "reference"
INDEX: Final = "index.md"
HEADING: Final = "## "
PREAMBLE: Final = """\
import asyncio, random, signal, sqlite3, time

import boto3

from lifoq import *
from lifoq.testing import *

queue = Queue.in_memory()
"""
"""The lines that every example begins with, for whoever pastes it."""
WORDS: Final = {"None": "none", "SYSTEM": "this machine", "()": "none", "frozenset()": "none"}
"""Defaults in words."""
TERM_ROWS: Final = {
    term.name: f"{term.meaning} {term.rule.words[0].upper()}{term.rule.words[1:]}."
    for term in TERMS
}
"""The meaning of each term of a put, with what its value may be."""
WITH_TERMS: Final = {
    "lifoq.items.task.NewTask",
    "lifoq.client.producer.Producer.put",
    "lifoq.client.async_producer.AsyncProducer.aput",
}
"""A class and functions whose rows are the terms of a put, and little else."""
WIDTH: Final = 88
"""Characters of a line of code that a page shows without scrolling."""


def written(name: str) -> str:
    """The page as it should be."""
    before = (FOLDER / name).read_text(encoding="utf-8").partition(HEADING)[0]
    parts = _index() if name == INDEX else (_entry(name, public) for public in PAGES[name])
    return before + "\n".join(parts)


def paths() -> list[Path]:
    """Return the pages of the reference."""
    return [FOLDER / name for name in (INDEX, *PAGES)]


def _index() -> Iterator[str]:
    for name, names in PAGES.items():
        title = (FOLDER / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        rows = [
            (f"[`{public}`]({name}#{_anchor(public)})", _linked(INDEX, _first(find(name, public))))
            for public in names
        ]
        yield f"{HEADING}{title}\n\n" + table(("name", "meaning"), rows)


def _entry(page: str, public: str) -> str:
    """Return all that a page says of a public name."""
    one = find(page, public)
    parts = [f"{HEADING}{public}", *_body(page, public, one)]
    if one.is_class:
        for name, method in methods(one):
            title = f"{public}.{name}"
            parts += [f"### {title}", *_body(page, title, method)]
    return "\n\n".join(parts) + "\n"


def _body(page: str, title: str, one: Any) -> Iterator[str]:
    """Yield signature, meaning, tables, errors and example."""
    called = one if one.is_function and not is_fixture(title) else constructor(one)
    if called is not None:
        yield f"```py\n{_signature(title, called, returns=one.is_function)}\n```"
    yield _linked(page, text(one))
    if rows := parameters(called):
        yield _table(page, "parameter", rows, one)
    if one.is_class and (rows := attributes(one)):
        yield _table(page, "member" if is_enum(one) else "attribute", rows, one)
    errors = [*sections(one, "raises"), *(sections(called, "raises") if called is not one else ())]
    if errors:
        yield "Raises:\n\n" + "\n".join(_error(page, entry) for entry in errors)
    if shown := example(one):
        yield f"```python\n{_pasteable(shown)}\n```"


def _error(page: str, entry: Any) -> str:
    name = _linked(page, f"``{entry.annotation}``")
    return f"- {name}: {_linked(page, entry.description)}"


def _signature(title: str, function: Any, *, returns: bool) -> str:
    parts: list[str] = []
    for one in function.parameters:
        if one.name in NOT_GIVEN:
            continue
        if (
            "keyword" in one.kind.value
            and "positional" not in one.kind.value
            and not any(part.startswith("*") for part in parts)
        ):
            parts += [] if stars(one) else ["*"]
        has_default = one.default is not None and not stars(one)
        default = f"={_in_signature(function, str(one.default))}" if has_default else ""
        parts.append(f"{stars(one)}{one.name}{default}")
    returned = f" -> {spelled_type(function, function.returns)}" if returns else ""
    short = f"{title}({', '.join(parts)}){returned}"
    if len(short) <= WIDTH:
        return short
    return f"{title}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"


def _in_signature(function: Any, default: str) -> str:
    return "…" if default.startswith("lambda") else constant(function, default)


def _table(page: str, head: str, rows: Sequence[Row], one: Any) -> str:
    """Return a table, without columns in which no row has anything."""
    cells = [
        (
            f"`{row.name}`",
            "" if is_enum(one) else _shown_type(page, row.type),
            NONE if is_enum(one) else _shown_default(one, row.default),
            _linked(page, meaning(one, row)),
        )
        for row in rows
    ]
    heads = (head, "type", "default", "meaning")
    filled = [n for n in range(len(heads)) if any(cell[n] not in {"", NONE} for cell in cells)]
    body = [[cell[n] for n in filled] for cell in cells]
    return table([heads[n] for n in filled], body).rstrip("\n")


def meaning(one: Any, row: Row) -> str:
    """Return what is said of a parameter or an attribute."""
    return TERM_ROWS.get(row.name, row.meaning) if one.path in WITH_TERMS else row.meaning


def _shown_type(page: str, spelled: str) -> str:
    """Return a type as code, of which public names are links: ``A | B`` becomes *A or B*, since
    tables end their cells with ``|``."""
    parts = re.split(r" \| (?![^\[]*\])", spelled) if spelled else []
    return " or ".join(_shown_part(page, part.replace(" | ", " or ")) for part in parts)


def _shown_part(page: str, spelled: str) -> str:
    links = {link for word in re.findall(r"\w+", spelled) if (link := _link(page, word))}
    return f"[`{spelled}`]({links.pop()})" if len(links) == 1 else f"`{spelled}`"


def _shown_default(one: Any, default: str | None) -> str:
    if default is None or default.startswith("lambda"):
        return NONE
    if default in WORDS:
        return WORDS[default]
    if factory := re.fullmatch(r"field\(default_factory=(\w+)\)", default):
        return "empty" if factory[1] in {"list", "dict", "Counter"} else f"`{factory[1]}()`"
    if default.startswith("field("):
        return NONE
    spelled = constant(one, default)
    if re.fullmatch(r"[\d_ *.]+", spelled):
        return f"{math.prod(float(factor) for factor in spelled.split('*')):,.10g}"
    return code(spelled)


def _first(one: Any) -> str:
    """Return the first sentence of a docstring."""
    paragraph = " ".join(text(one).partition("\n\n")[0].split())
    return re.split(r"(?<=[.])\s(?=[A-Z])", paragraph)[0]


def _linked(page: str, words: str) -> str:
    """Return a docstring's words as Markdown: a line for each paragraph, public names as links."""

    def linked(found: re.Match[str]) -> str:
        link = _link(page, found[1])
        return f"[`{found[1]}`]({link})" if link else f"`{found[1]}`"

    paragraphs = [" ".join(part.split()) for part in words.split("\n\n")]
    return "\n\n".join(re.sub(r"``(.+?)``", linked, part) for part in paragraphs)


def _link(page: str, name: str) -> str:
    """Return the place of a name in the reference, seen from a page; empty if it has none."""
    owner, _, member = name.partition(".")
    for other, names in PAGES.items():
        if owner in names and (not member or member in dict(methods(find(other, owner)))):
            return ("" if other == page else other) + f"#{_anchor(name)}"
    return ""


def _anchor(title: str) -> str:
    return title.lower().replace(".", "")


def _pasteable(shown: str) -> str:
    """Return a doctest as a program: the lines that it prints become comments."""
    steps = [one for one in DocTestParser().parse(shown) if not isinstance(one, str)]
    if not steps:
        return shown
    parts = []
    for one in steps:
        source = re.sub(r"\s*# doctest:.*", "", one.source)
        printed = [line.strip() for line in one.want.split("\n")]
        told = [f"# {line}\n" for line in printed if line and not line.startswith("Traceback")]
        is_block = source.startswith(("@", "def ", "async def ", "class "))
        apart = "\n\n" if is_block else ""
        parts.append("".join((apart, source, *told, apart)))
    program = re.sub(r"\n{3,}", "\n\n\n", "".join(parts)).strip("\n")
    return re.sub(
        r"^((?:from|import) .*\n)(?!from|import|\n)", r"\1\n", program, flags=re.MULTILINE
    )


if __name__ == "__main__":
    for path in paths():
        path.write_text(written(path.name), encoding="utf-8")
