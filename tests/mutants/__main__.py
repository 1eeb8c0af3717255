"""``python -m tests.mutants --number 300``: what the tests would not notice."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tests.mutants import by_hand, operators, quick
from tests.mutants.map import Map
from tests.mutants.operators import Mutant
from tests.mutants.trial import Task, Verdict, copy_of, verdicts

ROOT = Path(__file__).parents[2]
NEAR = (
    *("unit", "contract", "cli", "functions", "faults", "analytics", "constructs", "simulation"),
    *("aws", "docs", "localcloud", "infrastructure", "console"),
)


@click.command()
@click.option("--number", default=60, show_default=True, help="Mutants to draw at random.")
@click.option("--seed", default=0, show_default=True, help="The draw: the same for the same code.")
@click.option("--by-hand/--no-by-hand", "promises", default=True, help="Break each promise, too.")
@click.option("--only", default="", help="Those whose path holds this.")
@click.option(
    "--processes", default=os.cpu_count(), show_default=True, help="Judges, side by side."
)
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "out" / "mutants")
@click.argument("tests", nargs=-1)
def main(
    *,
    number: int,
    seed: int,
    promises: bool,
    only: str,
    processes: int,
    out: Path,
    tests: tuple[str, ...],
) -> None:
    """Change the code a little, run the tests that run the changed line, and tell which change none
    of them noticed. TESTS, folders, files or options for pytest, say which tests. They run once
    before, to learn which line each of them runs; OUT keeps that until any file changes."""
    made = list(by_hand.made(ROOT)) if promises else []
    drawn = operators.draw(ROOT, number=number, seed=seed)
    mutants = [mutant for mutant in made + drawn if only in mutant.path]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Path(folder, str(number)) for number in range(processes)]
        for copy in copies:
            copy_of(ROOT, copy)
        first = copies[0]
        if not Map.fits(first, out):
            asked = tests or [f"tests/{name}" for name in NEAR]
            Map.draw(first, out.resolve(), asked, processes=processes)
        _judge(mutants, Map(out, first), copies, out / "verdicts.json")


def _verdicts(tasks: list[Task], copies: list[Path]) -> Iterator[Verdict]:
    """Judge in forks first, and what slips through there again, in processes of its own."""
    left = dict(enumerate(tasks))
    for number, by in quick.verdicts(tasks, copies[0], processes=len(copies)):
        del left[number]
        yield number, by, None
    yield from verdicts(left.values(), copies)


def _judge(mutants: list[Mutant], of_lines: Map, copies: list[Path], kept: Path) -> None:
    tasks = [(n, mutant, of_lines.tests_of(mutant)) for n, mutant in enumerate(mutants)]
    rows: list[dict[str, Any]] = []
    for number, by, trouble in _verdicts(tasks, copies):
        _, mutant, asked = tasks[number]
        row = {"mutant": str(mutant), "rule": mutant.rule, "asked": len(asked), "by": by}
        rows.append(row if trouble is None else {**row, "not judged": trouble})
        kept.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        told = f"not judged: {trouble}" if trouble else by or "SLIPPED THROUGH"
        click.echo(f"{len(rows):>4}  {mutant}  {told}")
    judged = [row for row in rows if "not judged" not in row]
    caught = sum(row["by"] is not None for row in judged)
    click.echo(f"{caught} of {len(judged)} caught; {kept} names the tests")
    if unjudged := len(mutants) - len(judged):
        click.echo(f"{unjudged} were not judged")


if __name__ == "__main__":
    main()
