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
from tests.mutants.trial import Verdict, copy_of, judge

ROOT = Path(__file__).parents[2]


@click.command()
@click.option("--number", default=60, show_default=True, help="Mutants to draw at random.")
@click.option("--seed", default=0, show_default=True, help="The draw: the same for the same code.")
@click.option("--by-hand/--no-by-hand", default=True, help="Each promise broken once, too.")
@click.option("--only", default="", help="Those whose path holds this.")
@click.option("--to-the-end", is_flag=True, help="Name every test that catches one (slow).")
@click.option("--processes", default=2, show_default=True, help="To run side by side.")
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "out" / "mutants.json")
def main(
    *,
    number: int,
    seed: int,
    by_hand: bool,
    only: str,
    to_the_end: bool,
    processes: int,
    out: Path,
) -> None:
    """Change the code a little, run the tests, and tell which change none of them noticed. Each
    mutant takes a run of the tests that look at its folder, until the first fails."""
    mutants = [m for m in _chosen(number, seed, by_hand=by_hand) if only in m.path]
    verdicts = []
    for verdict in _judged(mutants, processes=processes, to_the_end=to_the_end):
        verdicts.append(verdict)
        caught = verdict.caught_by[0] if verdict.caught_by else "SLIPPED THROUGH"
        click.echo(f"{len(verdicts):>4}  {verdict.mutant}  {caught}")
        _write(out, verdicts)
    caught = sum(bool(verdict.caught_by) for verdict in verdicts)
    click.echo(f"{caught} of {len(verdicts)} caught; {out} names the tests")


def _chosen(number: int, seed: int, *, by_hand: bool) -> list[Mutant]:
    made = rules.made(ROOT) if by_hand else []
    return made + operators.draw(ROOT, number=number, seed=seed)


def _judged(mutants: list[Mutant], *, processes: int, to_the_end: bool) -> Iterator[Verdict]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(processes):
            copy_of(ROOT, Path(folder, str(number)))
            copies.put(Path(folder, str(number)))

        def judged(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                return judge(mutant, copy, to_the_end=to_the_end)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(processes) as pool:
            yield from pool.map(judged, mutants)


def _write(out: Path, verdicts: list[Verdict]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"mutant": str(v.mutant), "rule": v.mutant.rule, "caught_by": v.caught_by} for v in verdicts
    ]
    out.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
