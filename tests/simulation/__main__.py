"""``python -m tests.simulation --seeds 1000``: the queue under simulated chaos."""

import os
import sys
from collections import Counter

import click

from tests.simulation.run import NOTABLE, run_seeds, story

ENOUGH = 1000
"""Seeds, in which everything that the rules judge has occurred."""


@click.command()
@click.option("--seeds", default=300, show_default=True, help="How many seeds, from 0 on.")
@click.option("--seed", type=int, help="Run this one seed only.")
@click.option("--first", default=0, show_default=True, help="The seed to begin with.")
@click.option(
    "--processes", default=os.cpu_count() or 1, show_default=True, help="To run side by side."
)
def main(seeds: int, seed: int | None, first: int, processes: int) -> None:
    """Run the queue's own code under a virtual clock and a seeded scheduler, with faults, and check
    its rules at every write. The first seed that breaks one is told with its schedule; and where
    the seeds are many, what did not occur, and so was not put to the test."""
    chosen = range(first, first + seeds) if seed is None else range(seed, seed + 1)
    seen: Counter[str] = Counter()
    steps = 0
    for result in run_seeds(chosen, processes=processes):
        if result.failure is not None:
            click.echo(story(result))
            sys.exit(1)
        seen += result.occurred
        steps += result.steps
    for name, number in seen.most_common():
        click.echo(f"{number:>12,}  {name}")
    never = NOTABLE - set(seen)
    if never and len(chosen) >= ENOUGH:
        click.echo(f"Never in {len(chosen):,} seeds: {', '.join(sorted(never))}")
        sys.exit(1)
    click.echo(f"{len(chosen):,} seeds, {steps:,} steps, no rule broken.")


if __name__ == "__main__":
    main()
