"""Programs that run beside this one, and end with it."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import click

LAST_LINES = 15
"""Lines of a program's output that are shown where it fails."""
END_SECONDS = 10


@contextmanager
def beside(command: Sequence[str], *, log: Path, until: str, **environment: str) -> Iterator[str]:
    """Run a program until the block ends, its output in ``log``; yield the first text of it that
    matches ``until``, once that is there. The program ends when its standard input closes: so it
    does not outlive this one, whatever becomes of that. Raises ``ClickException`` where the program
    ends first."""
    with log.open("w") as output, _started(command, output, environment) as program:
        try:
            while not (found := re.search(until, said := log.read_text())):
                if program.poll() is not None:
                    raise click.ClickException(_failure(command, said))
                time.sleep(0.1)
            yield found.group()
        finally:
            if program.stdin:
                program.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                program.wait(END_SECONDS)
            _kill(program)


def run(command: Sequence[str], *, tells: bool = False) -> str:
    """Run a program to its end. Returns its output; ``tells``: shows it, and returns nothing.
    Raises ``ClickException`` where its exit status is not 0."""
    with _started(command, None if tells else subprocess.PIPE, {}) as program:
        try:
            said, _ = program.communicate()
        except BaseException:
            _kill(program)
            raise
    if program.returncode:
        raise click.ClickException(_failure(command, said or ""))
    return said or ""


def _started(
    command: Sequence[str], output: IO[str] | int | None, environment: dict[str, str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own commands, no shell
        command,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        env=os.environ | environment,
        text=True,
        # A terminal's Ctrl-C is for this program, which ends the others in its own order.
        start_new_session=True,
    )


def _kill(program: subprocess.Popen[str]) -> None:
    """Kill the program, and what it has left in its session."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


def _failure(command: Sequence[str], said: str) -> str:
    last = "\n".join(f"    {line}" for line in said.splitlines()[-LAST_LINES:])
    return f"{' '.join(command)} failed:\n{last}"
