"""Commands that the demo runs, one after the other: logged, shown while they run, and ended with
everything they started when the demo is interrupted."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

LAST_LINES = 15
LOOK_SECONDS: Final = 0.1
"""Between two looks at whether a command has ended, and at what it says."""
PART: Final = "step: "
"""How a line begins in which a command tells what it does next."""


class StepError(RuntimeError):
    """A step of the demo did not succeed; the message says which and what it said last."""


def run(
    command: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a command to its end, its output in ``log``; StepError where it does not exit with 0.

    ``tell`` hears of each part that the command says it begins.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as output,
        log.open() as said,
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
            status = None
            while status is None:
                status = _wait(process)
                for line in said:
                    if line.startswith(PART):
                        tell(line.removeprefix(PART).strip())
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if status:
        last = "\n".join(f"    {line}" for line in log.read_text().splitlines()[-LAST_LINES:])
        raise StepError(f"{Path(command[0]).name} ended with exit status {status}:\n{last}")


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(timeout=LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return None


@dataclass(kw_only=True)
class Timed:
    """A step, or a part of one. Times are of the monotonic clock."""

    title: str
    began: float
    ended: float | None = None

    @property
    def took(self) -> str:
        return f"{(self.ended or time.monotonic()) - self.began:.1f} s"


@dataclass(kw_only=True)
class Step:
    """What a terminal shows of a step: it, and below it its parts."""

    whole: Timed
    failed: bool = False
    parts: list[Timed] = field(default_factory=list)

    def tell(self, part: str) -> None:
        """The step goes on to its next part."""
        now = time.monotonic()
        self._end_part(now)
        self.parts.append(Timed(title=part, began=now))

    def end(self, *, failed: bool) -> None:
        self.failed = failed
        self.whole.ended = time.monotonic()
        self._end_part(self.whole.ended)

    def _end_part(self, now: float) -> None:
        if self.parts:
            self.parts[-1].ended = now

    def __rich__(self) -> Table:
        table = Table.grid(padding=(0, 1))
        table.add_row(self._sign(self.whole), self.whole.title, Text(self.whole.took, style="bold"))
        for part in self.parts:
            table.add_row("", Text(f"  {part.title}", style="dim"), Text(part.took, style="dim"))
        return table

    def _sign(self, timed: Timed) -> Text | Spinner:
        if timed.ended is None:
            return Spinner("dots", style="cyan")
        return Text("✗", style="red") if self.failed else Text("✓", style="green")


@contextmanager
def step(console: Console, title: str) -> Iterator[Step]:
    """Says what is being done, and how long it took."""
    shown = Step(whole=Timed(title=title, began=time.monotonic()))
    if console.is_terminal:
        with Live(shown, console=console, refresh_per_second=8):
            try:
                yield shown
            except BaseException:
                shown.end(failed=True)
                raise
            shown.end(failed=False)
        return
    console.print(f"{title} … ", highlight=False)
    try:
        yield shown
    except BaseException:
        console.print()
        raise
    shown.end(failed=False)
    console.print(f"  took {shown.whole.took}", highlight=False)
