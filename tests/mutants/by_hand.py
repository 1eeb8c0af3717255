"""Each promise of ``docs/invariants.md`` broken once, by hand: ``promises.txt``."""

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
        becomes, text = becomes.removeprefix(" "), (root / path).read_text()
        if (number := text.count(was)) != 1:
            told = f"{path} holds {number} times, not once: {was!r}"
            raise ValueError(f"{told}; write the break of {rule!r} anew")
        start = text.index(was)
        at = {"line": text.count("\n", 0, start) + 1, "start": start}
        yield Mutant(path=path, was=was, becomes=becomes, rule=rule, **at)
