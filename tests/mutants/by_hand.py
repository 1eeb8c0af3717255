"""Each promise of ``docs/invariants.md`` broken once, by hand: ``promises.txt``."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.mutants.operators import Mutant

PROMISES: Final = Path(__file__).with_name("promises.txt")


def made(root: Path) -> Iterator[Mutant]:
    """ValueError where a break does not fit the code any more."""
    path = ""
    for line in PROMISES.read_text().splitlines()[1:]:
        if line.endswith(".py"):
            path = line
            continue
        rule, _, change = line.strip().replace("\\n", "\n").partition(" | ")
        was, _, becomes = change.partition(" →")
        yield _mutant(root, path, rule, was, becomes.removeprefix(" "))


def _mutant(root: Path, path: str, rule: str, was: str, becomes: str) -> Mutant:
    text = (root / path).read_text()
    if text.count(was) != 1:
        raise ValueError(
            f"{path} holds {text.count(was)} times, not once: {was!r}; write the break of {rule!r} "
            "anew"
        )
    start = text.index(was)
    line = text.count("\n", 0, start) + 1
    constant = re.match(r"[A-Z_]+(?=:)", was)
    names = constant and constant[0]
    return Mutant(
        path=path, line=line, was=was, becomes=becomes, start=start, names=names, rule=rule
    )
