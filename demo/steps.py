"""Commands that the demo runs, one after the other: logged, and ended with everything they started
when the demo is interrupted."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

LAST_LINES = 15


class StepError(RuntimeError):
    """A step of the demo did not succeed; the message says which and what it said last."""


def run(command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run a command to its end, its output in ``log``; StepError where it does not exit with 0."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as output,
        subprocess.Popen(  # noqa: S603 - the demo's own commands
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | dict(environment or {}),
            # A group of its own: an interrupted demo ends all of it, in its own order.
            start_new_session=True,
        ) as process,
    ):
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if status:
        last = "\n".join(f"    {line}" for line in log.read_text().splitlines()[-LAST_LINES:])
        raise StepError(f"{Path(command[0]).name} ended with exit status {status}:\n{last}")


@contextmanager
def step(console: Console, title: str) -> Iterator[None]:
    """Says what is being done, and how long it took."""
    started = time.monotonic()
    console.print(f"{title} … ", end="" if console.is_terminal else "\n", highlight=False)
    try:
        yield
    except BaseException:
        console.print()
        raise
    took = f"{time.monotonic() - started:.1f} s"
    console.print(took if console.is_terminal else f"  took {took}", highlight=False)
