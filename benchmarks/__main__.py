"""``python -m benchmarks``: run the benchmarks, one after the other, and write the page."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from benchmarks import NAMES, WHEN_NAMED, steps
from benchmarks.interruption import Interruption
from benchmarks.performance import page

LOGS: Final = Path(__file__).resolve().parent.parent / "out" / "bench"

Run = Callable[[str, Path], None]
"""Runs the named benchmark, its output into the file; StepError where it fails."""


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
def main(names: Sequence[str]) -> None:
    """Run the benchmarks NAME..., or all but the longest, each in a process of its own, and write
    docs/performance.md from their results. Exit status 1 where one of them failed."""
    console = Console(highlight=False)
    interruption = Interruption()
    try:
        failed = run_all(names or [name for name in NAMES if name not in WHEN_NAMED], console)
    except KeyboardInterrupt:
        interruption.end_survivors()
        console.print("Interrupted; the page is as it was.", style="red")
        sys.exit(130)
    page.write()
    console.print(f"docs/{page.PAGE} is written.")
    if failed:
        console.print(f"Failed: {', '.join(failed)}; their last results stay.", style="red")
        sys.exit(1)


def in_a_process(name: str, log: Path) -> None:
    steps.run([sys.executable, "-m", f"benchmarks.{name}"], log=log)


def run_all(
    names: Sequence[str], console: Console, *, run: Run = in_a_process, logs: Path = LOGS
) -> list[str]:
    """One failing does not keep the others from running. Returns the names of those that did."""
    failed = []
    for name in names:
        log, began = logs / f"{name}.log", time.monotonic()
        try:
            with console.status(f"{name} …"):
                run(name, log)
        except steps.StepError as error:
            failed.append(name)
            console.print(f"{name} failed: {error}\n    All of it: {log}", markup=False)
        else:
            console.print(f"{name} is done, after {time.monotonic() - began:.0f} s.")
    return failed


if __name__ == "__main__":
    main()
