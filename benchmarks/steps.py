"""Commands that the benchmarks run, one after the other: logged, and ended with everything they
started when the benchmarks are interrupted."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

LAST_LINES: Final = 15


class StepError(RuntimeError):
    """Raised when a command did not succeed; the message says which, and what it said last."""


def run(command: Sequence[str], *, log: Path) -> None:
    """Run a command to its end, its output in ``log``; StepError where it does not exit with 0."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A group of its own: interrupted benchmarks end all of it, in their own order.
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
