"""``python -m tests.mutants --number 300``: what the tests would not notice."""

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import click

from tests.mutants import by_hand as rules
from tests.mutants import operators
from tests.mutants.operators import Mutant
from tests.mutants.trial import Map, Verdict, copy_of, judge

ROOT = Path(__file__).parents[2]


TESTS = tuple(
    f"tests/{name}" for name in ("unit", "contract", "cli", "functions", "faults", "analytics")
)


@click.command()
@click.option("--number", default=60, show_default=True, help="Mutants to draw at random.")
@click.option("--seed", default=0, show_default=True, help="The draw: the same for the same code.")
@click.option("--by-hand/--no-by-hand", default=True, help="Each promise broken once, too.")
@click.option("--only", default="", help="Those whose path holds this.")
@click.option("--to-the-end", is_flag=True, help="Name every test that catches one (slow).")
@click.option("--processes", default=2, show_default=True, help="To run side by side.")
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "out" / "mutants")
@click.argument("tests", nargs=-1)
def main(
    *,
    number: int,
    seed: int,
    by_hand: bool,
    only: str,
    to_the_end: bool,
    processes: int,
    out: Path,
    tests: tuple[str, ...],
) -> None:
    """Change the code a little, run the tests that run the changed line, and tell which change none
    of them noticed. The tests run once before, to learn which line each of them runs. TESTS: the
    folders, files or options for pytest to draw them from."""
    made = rules.made(ROOT) if by_hand else []
    drawn = operators.draw(ROOT, number=number, seed=seed)
    mutants = [mutant for mutant in made + drawn if only in mutant.path]
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Path(folder, str(number)) for number in range(processes)]
        for copy in copies:
            copy_of(ROOT, copy)
        Map.draw(copies[0], out.resolve(), tests or TESTS)
        for verdict in _judged(mutants, copies, Map(out), to_the_end=to_the_end):
            verdicts.append(verdict)
            caught = verdict.caught_by[0] if verdict.caught_by else "SLIPPED THROUGH"
            click.echo(f"{len(verdicts):>4}  {verdict.mutant}  {caught}")
            _write(out / "verdicts.json", verdicts)
    caught = sum(bool(verdict.caught_by) for verdict in verdicts)
    click.echo(f"{caught} of {len(verdicts)} caught; {out}/verdicts.json names the tests")


def _judged(
    mutants: list[Mutant], copies: list[Path], tests: Map, *, to_the_end: bool
) -> Iterator[Verdict]:
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def judged(mutant: Mutant) -> Verdict:
        copy = free.get()
        try:
            return judge(mutant, copy, tests.tests_of(copies[0], mutant), to_the_end=to_the_end)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(judged, mutants)


def _write(out: Path, verdicts: list[Verdict]) -> None:
    rows = [
        {"mutant": str(v.mutant), "rule": v.mutant.rule, "asked": v.asked, "by": v.caught_by}
        for v in verdicts
    ]
    out.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
