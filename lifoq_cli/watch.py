"""The command that watches a queue live."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Final

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from lifoq.basics.times import iso
from lifoq.client.listing import Wanted
from lifoq.health.headline import Headline, headline
from lifoq.health.statistics import QueueStats
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq_cli import look, moments, options, tasks
from lifoq_cli.session import Queues, Session, print_json

CAP: Final = 1_000
"""Rows that one count of a look reads at the most: it is repeated, and each costs read units."""
SHORTEST: Final = 0.5
"""Seconds between two looks, at the least: each reads the table several times."""
SHOWN: Final = (Status.TAKEN, Status.PENDING, Status.FAILURE)
"""The statuses whose newest tasks are shown."""


@dataclass(frozen=True, kw_only=True)
class Look:
    at: int
    """Epoch microseconds."""
    stats: QueueStats
    headline: Headline
    paused: look.Pause
    newest: dict[Status, list[Task]]


@click.command()
@options.duration(
    "--interval", "Between two looks.", least=SHORTEST, default="2s", show_default=True
)
@click.option(
    "--rows", type=click.IntRange(0, 50), default=5, show_default=True, help="Tasks of each kind."
)
@click.option("--times", type=click.IntRange(min=1), metavar="N", help="End after so many looks.")
@click.pass_obj
def watch(session: Session, *, interval: float, rows: int, times: int | None) -> None:
    """Watch a queue live.

    Counts, ages, and the newest tasks that are taken, wait, or failed. Ctrl-C ends it. With --json,
    or without a terminal, each look is a line of JSON. Counts end at 1,000.
    """
    looks = _looks(session.queue, session, interval=interval, rows=rows)
    if session.as_json or not (sys.stdout and sys.stdout.isatty()):
        for seen in islice(looks, times):
            print_json(_json(seen), indent=None)
            sys.stdout.flush()
        return
    title = session.title
    with Live(console=session.console, auto_refresh=False, screen=times is None) as live:
        for seen in islice(looks, times):
            live.update(_drawn(seen, title), refresh=True)


def _looks(queue: Queues, session: Session, *, interval: float, rows: int) -> Iterator[Look]:
    for number in count():
        if number:
            time.sleep(interval)
        newest = {}
        for status in SHOWN if rows else ():
            found = queue.search(Wanted(status=status), limit=rows).tasks
            if found:
                newest[status] = found
        stats = queue.stats(cap=CAP)
        paused = look.Pause.of(session)
        said = headline(stats, paused=paused.is_so)
        yield Look(at=session.now, stats=stats, headline=said, paused=paused, newest=newest)


def _json(seen: Look) -> dict[str, Any]:
    return {
        "at": iso(seen.at),
        **look.stats_json(seen.stats, seen.headline, seen.paused),
        "newest": {
            status.value: [tasks.as_json(task) for task in found]
            for status, found in seen.newest.items()
        },
    }


def _drawn(seen: Look, title: str) -> RenderableType:
    head = Text.assemble(
        (title, "bold"), "  ", (moments.local(seen.at, now=seen.at).split(",")[0], "dim")
    )
    parts: list[RenderableType] = [
        head,
        Text(),
        look.stats_table(seen.stats, seen.headline, seen.paused.told),
    ]
    for status, found in seen.newest.items():
        parts += [
            Text(),
            Text(f"{status.value}, the newest", style=f"bold {tasks.COLOURS[status]}"),
            tasks.table(found, status, now=seen.at, cut=True, brief=True),
        ]
    return Group(*parts)
