"""``python -m tests.mutants --number 300``: what the tests would not notice."""

import json
import tempfile
from pathlib import Path

import click

from tests.mutants import by_hand, operators
from tests.mutants.trial import Map, caught_by, copy_of

ROOT = Path(__file__).parents[2]
NEAR = ("unit", "contract", "cli", "functions", "faults", "analytics", "constructs", "simulation")


@click.command()
@click.option("--number", default=60, show_default=True, help="Mutants to draw at random.")
@click.option("--seed", default=0, show_default=True, help="The draw: the same for the same code.")
@click.option("--by-hand/--no-by-hand", "promises", default=True, help="Break each promise, too.")
@click.option("--only", default="", help="Those whose path holds this.")
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "out" / "mutants")
@click.argument("tests", nargs=-1)
def main(
    *, number: int, seed: int, promises: bool, only: str, out: Path, tests: tuple[str, ...]
) -> None:
    """Change the code a little, run the tests that run the changed line, and tell which change none
    of them noticed. TESTS, folders, files or options for pytest, say which tests. They run once
    before, to learn which line each of them runs; OUT keeps that until any file changes."""
    made = list(by_hand.made(ROOT)) if promises else []
    drawn = operators.draw(ROOT, number=number, seed=seed)
    mutants = [mutant for mutant in made + drawn if only in mutant.path]
    rows = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy_of(ROOT, Path(folder))
        if not Map.fits(Path(folder), out):
            Map.draw(Path(folder), out.resolve(), tests or [f"tests/{name}" for name in NEAR])
        of_lines = Map(out)
        for mutant in mutants:
            asked = of_lines.tests_of(Path(folder), mutant)
            by = caught_by(mutant, Path(folder), asked)
            row = {"mutant": str(mutant), "rule": mutant.rule, "asked": len(asked), "by": by}
            rows.append(row)
            told = json.dumps(rows, indent=1, ensure_ascii=False)
            (out / "verdicts.json").write_text(told + "\n")
            click.echo(f"{len(rows):>4}  {mutant}  {by or 'SLIPPED THROUGH'}")
    caught = sum(row["by"] is not None for row in rows)
    click.echo(f"{caught} of {len(rows)} caught; {out}/verdicts.json names the tests")


if __name__ == "__main__":
    main()
