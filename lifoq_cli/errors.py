"""The command that tells why tasks failed."""

import shlex
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from lifoq.basics.shown import harmless
from lifoq.basics.times import iso
from lifoq.client.failures import Group, failures
from lifoq.client.listing import Wanted
from lifoq.items.schema import Status
from lifoq_cli import moments, options
from lifoq_cli.progress import progress
from lifoq_cli.session import Session


@click.command()
@options.task_type
@click.pass_obj
def errors(session: Session, *, task_type: str | None) -> None:
    """Tell why tasks failed: those of one type, error and kind of message as one line.

    The largest group is the first. It reads the 10,000 newest failures at the most.
    """
    wanted = Wanted(status=Status.FAILURE, task_type=task_type, any_case=True)
    with progress("reading the failed tasks"):
        found = failures(session.queue, wanted)

    def show(console: Console) -> None:
        if not found.groups:
            session.tell("no task has failed")
            return
        console.print(_table(found.groups, now=session.now, cut=console.is_terminal))
        kind = found.groups[0].kind
        which = f"--type {shlex.quote(kind.task_type)} --error {shlex.quote(kind.error_type)}"
        session.tell(f"To bring the first group back: lifoq redrive {which}")

    session.answer([_as_json(group) for group in found.groups], show)
    if found.more:
        session.tell(f"There are older ones: the newest {found.read} were read.")


def _table(groups: list[Group], *, now: int, cut: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=cut)
    table.add_column("TASKS", justify="right")
    table.add_column("TYPE", no_wrap=True)
    table.add_column("ERROR", ratio=1 if cut else None, overflow="fold")
    table.add_column("FIRST", no_wrap=True)
    table.add_column("LAST", no_wrap=True)
    for group in groups:
        table.add_row(
            str(len(group.times)),
            harmless(group.kind.task_type),
            harmless(f"{group.kind.error_type}: {group.kind.shape} ({group.example.task_id})"),
            moments.distance(group.first, now=now),
            moments.distance(group.last, now=now),
        )
    return table


def _as_json(group: Group) -> dict[str, Any]:
    return {
        "tasks": len(group.times),
        "task_type": group.kind.task_type,
        "error_type": group.kind.error_type,
        "message": group.kind.shape,
        "first": iso(group.first),
        "last": iso(group.last),
        "example": group.example.task_id,
    }
