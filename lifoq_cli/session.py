"""One call of the command: which queue it is about, and how it answers."""

import json
import os
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.text import Text

from lifoq.basics.shown import harmless
from lifoq.client import local_cloud
from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq.environment import Variable
from lifoq.errors import LifoqError, QueueMisconfigured
from lifoq.items.lifetimes import Lifetimes
from lifoq.operating.processing import Processing
from lifoq_cli import folder, statuses

Queues = Queue | Cells

WIDE: Final = 10_000
"""Columns where nobody looks on: a line that a program reads is never cut."""
YES: Final = ("y", "yes")


class NotAnswered(LifoqError):
    """A question met the end of the input."""


class PlainConsole(Console):
    """Shows text as it is: markup in it means nothing, and what a terminal would obey is told."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render_str(self, text: str, **more: Any) -> Text:
        return super().render_str(harmless(text, lines=True), **more)


class Session:
    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        """The options that every command has, by their names, as far as they were given."""
        self.no_processing: str | None = None
        """Why there is no ``processing``, where it should be one."""

    # Which queue

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The queue's name, or its cells'; empty where a table is named instead."""
        if self.given.get("queue") or self.given.get("table"):
            return tuple(self.given.get("queue", ()))
        if own := os.environ.get(Variable.QUEUE):
            return (own,)
        if self._folder.queue:
            return self._folder.queue
        raise click.UsageError(
            f"which queue? give --queue or --table, or set {Variable.QUEUE}, "
            f"or write it into {folder.FILE}"
        )

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(self.given.get("table", ()))

    @property
    def title(self) -> str:
        """The name by which people know the queue."""
        return ", ".join(self.names or self.tables)

    @property
    def client_arguments(self) -> dict[str, Any]:
        """The arguments for ``boto3.client``. boto3 itself knows AWS_DEFAULT_REGION only."""
        if not self.given.get("endpoint_url") and (told := local_cloud.enter()):
            tell(told)
        region = (
            self.given.get("region")
            or os.environ.get("AWS_REGION")
            or os.environ.get("AWS_DEFAULT_REGION")
            or self._folder.region
        )
        found = {"region_name": region, "endpoint_url": self.given.get("endpoint_url")}
        return {name: value for name, value in found.items() if value is not None}

    @cached_property
    def queue(self) -> Queues:
        """The queue, or its cells as one. LifoqError."""
        names, tables = self.names, self.tables
        deadline, bucket = self.given.get("deadline_seconds"), self.given.get("bucket")
        for option, value in (("deadline-seconds", deadline), ("bucket", bucket)):
            if value is not None and not tables:
                own = option.partition("-")[0]
                raise click.UsageError(
                    f"--{option} goes with --table; a queue's name brings its own {own}"
                )
        if bucket is not None and len(names) + len(tables) > 1:
            raise click.UsageError(
                "--bucket is of one table; cells with buckets are named by --queue"
            )
        lifetimes = None if deadline is None else Lifetimes(deadline=deadline)
        if len(names) + len(tables) > 1:
            return Cells.connect(
                *names, tables=tables, lifetimes=lifetimes, **self.client_arguments
            )
        name, table = next(iter(names), None), next(iter(tables), None)
        return Queue.connect(
            name, table=table, lifetimes=lifetimes, bucket=bucket, **self.client_arguments
        )

    @cached_property
    def processing(self) -> Processing | None:
        """The switch of the queue's processors; None where there is none that we may see."""
        if len(self.names) != 1:
            return None
        try:
            return Processing.connect(self.names[0], **self.client_arguments)
        except QueueMisconfigured as error:
            self.no_processing = str(error)
            return None

    @property
    def now(self) -> int:
        """Epoch microseconds."""
        queue = self.queue
        one = next(iter(queue.queues.values())) if isinstance(queue, Cells) else queue
        return one.store.now()

    @cached_property
    def _folder(self) -> folder.FolderFile:
        return folder.read(Path.cwd())

    # Answers

    @property
    def as_json(self) -> bool:
        return bool(self.given.get("json"))

    def answer(self, value: Any, show: Callable[[Console], None]) -> None:
        """Print ``value`` to the standard output, as JSON, or for people, as ``show`` prints it."""
        if self.as_json:
            print_json(value)
        elif self.console.is_terminal:
            show(self.console)
        else:
            with self.console.capture() as shown:
                show(self.console)
            # A table fills each line up to its own width.
            click.echo("\n".join(line.rstrip() for line in shown.get().split("\n")), nl=False)

    @cached_property
    def console(self) -> Console:
        """The console for people, and for pipes between people: coloured and as wide as the
        terminal, if there is one."""
        terminal = sys.stdout.isatty() if sys.stdout else False
        return PlainConsole(soft_wrap=not terminal, width=None if terminal else WIDE)

    def tell(self, sentence: str) -> None:
        """Print a sentence to the standard error, which leaves the standard output to the
        answer."""
        tell(sentence)

    def interrupted(self, done: str) -> click.exceptions.Exit:
        """Tell somebody who ended the command what was done; return what ends it, with status
        130."""
        self.tell(f"interrupted: {done}")
        return click.exceptions.Exit(statuses.INTERRUPTED)

    def confirm(self, question: str) -> bool:
        """Return True if a person, or --yes, says so. Raises NotAnswered."""
        if self.given.get("yes"):
            return True
        tell(f"{question} [y/N] ", nl=False)
        answer = sys.stdin.readline() if sys.stdin else ""
        if not answer:
            click.echo(err=True)
            raise NotAnswered("no answer, so nothing was done; --yes does it without a question")
        return answer.strip().lower() in YES


def tell(sentence: object, *, nl: bool = True) -> None:
    """Print a sentence to the standard error."""
    click.echo(harmless(str(sentence), lines=True), err=True, nl=nl)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    click.echo(harmless(json.dumps(value, indent=indent, ensure_ascii=False), lines=True))
