"""``python -m benchmarks``: run the benchmarks, one after the other, and write the page."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from benchmarks import NAMES, WHEN_NAMED
from benchmarks.performance import page
from demo.interruption import Interruption

ROOT: Final = Path(__file__).resolve().parent.parent
LOGS: Final = ROOT / "out" / "bench"
LAST_LINES: Final = 15
"""Of the output of one that failed, which are shown."""
END_SECONDS: Final = 10.0
"""For an interrupted benchmark to stop what it has started."""
MINUTE: Final = 60

Run = Callable[[str, Path], int]
"""Runs the named benchmark, its output into the file; returns its exit status."""


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
def main(names: Sequence[str]) -> None:
    """Run the benchmarks NAME..., or all but the longest, which is that of the report (analytics),
    each in a process of its own, and write docs/performance.md from their results. Exit status 1
    where one of them failed."""
    console = Console(highlight=False)
    interruption = Interruption()
    began = time.monotonic()
    try:
        failed = run_all(names or [name for name in NAMES if name not in WHEN_NAMED], console)
    except KeyboardInterrupt:
        interruption.end_survivors()
        console.print("Interrupted; the page is as it was.", style="red")
        sys.exit(130)
    page.write()
    console.print(f"docs/{page.PAGE} is written, after {_duration(time.monotonic() - began)}.")
    if failed:
        console.print(f"Failed: {', '.join(failed)}; their last results stay.", style="red")
        sys.exit(1)


def in_a_process(name: str, log: Path) -> int:
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    with log.open("w") as output:
        # In a session of its own, so that Ctrl-C in a terminal reaches it once, through us.
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        raise


def run_all(
    names: Sequence[str], console: Console, *, run: Run = in_a_process, logs: Path = LOGS
) -> list[str]:
    """One failing does not keep the others from running. Returns the names of those that did."""
    logs.mkdir(parents=True, exist_ok=True)
    width = max(map(len, names))
    failed = []
    for name in names:
        log = logs / f"{name}.log"
        began = time.monotonic()
        with console.status(f"{name} …"):
            status = run(name, log)
        spent = _duration(time.monotonic() - began)
        verdict = "failed" if status else "done"
        console.print(
            f"{name:<{width}}  {verdict:<6}  {spent:>10}", style="red" if status else None
        )
        if status:
            failed.append(name)
            _show_end(log, console)
    return failed


def _show_end(log: Path, console: Console) -> None:
    for line in log.read_text().splitlines()[-LAST_LINES:]:
        console.print(f"  {line}", markup=False, style="dim", soft_wrap=True)
    console.print(f"  All of it: {log}", markup=False, style="dim", soft_wrap=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), MINUTE)
    return f"{minutes} min {rest:2} s" if minutes else f"{rest} s"


if __name__ == "__main__":
    main()
