"""``python -m tests.docs.durations`` writes the page of all times that are fixed in the library.

They stand beside the code that goes by them. A time is a constant of a module whose docstring
begins with its unit: ``Seconds`` or ``Microseconds``.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

from lifoq.basics.host import MICROSECONDS
from tests.docs.terms import DOCS, table

LIBRARY: Final = Path(__file__).parents[2] / "lifoq"
PAGE: Final = DOCS / "durations.md"
HEADING: Final = "## "
UNITS: Final = {"Seconds": 1, "Microseconds": MICROSECONDS}


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A number that is fixed in a module of the library."""

    module: Path
    """Relative to the library."""
    name: str
    value: float
    meaning: str
    """Its docstring; empty if it has none."""

    @property
    def unit(self) -> str | None:
        """The unit that the docstring begins with; None if it is no time."""
        first = re.match(r"\w*", self.meaning)
        return first[0] if first and first[0] in UNITS else None

    @property
    def seconds(self) -> float:
        return self.value / UNITS[self.unit or "Seconds"]


@cache
def constants() -> list[Constant]:
    """Return all numbers that are fixed at the top of a module, in the order of the files."""
    return [found for path in sorted(LIBRARY.rglob("*.py")) for found in _of(path)]


def _of(path: Path) -> Iterator[Constant]:
    place = path.relative_to(LIBRARY)
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for statement, following in zip(body, [*body[1:], None], strict=True):
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(statement, ast.Assign):
            (target,) = statement.targets
        if not isinstance(target, ast.Name) or not target.id.isupper():
            continue
        value = getattr(_module(place), target.id)
        if type(value) in {int, float}:
            meaning = " ".join(_text(following).split())
            yield Constant(module=place, name=target.id, value=value, meaning=meaning)


def _module(place: Path) -> object:
    parts = place.with_suffix("").parts
    return importlib.import_module(".".join(("lifoq", *(p for p in parts if p != "__init__"))))


def _text(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return str(statement.value.value)
    return ""


def written() -> str:
    """The page as it should be; its first part is written by hand."""
    before = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    times = [constant for constant in constants() if constant.unit is not None]
    parts = (
        f"{HEADING}`lifoq/{folder}`\n\n"
        + table(("seconds", "name", "meaning", "in"), map(_row, group))
        for folder, group in groupby(times, key=lambda found: found.module.parts[0])
    )
    return before + "\n".join(parts)


def _row(time: Constant) -> tuple[str, ...]:
    said = time.meaning.replace("Microseconds", "Seconds", 1)
    meaning = said.replace("``", "`").replace("|", "\\|")
    return f"{time.seconds:,.10g}", f"`{time.name}`", meaning, f"`{time.module.name}`"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
