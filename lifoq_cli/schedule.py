"""Commands about schedules, which put tasks by the clock."""

from datetime import datetime
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from lifoq.basics import jsontext
from lifoq.basics.numbers import check_count
from lifoq.basics.shown import harmless
from lifoq.basics.times import iso
from lifoq.client.queue import Queue
from lifoq.items.put_terms import Door, at
from lifoq.schedules import when as times
from lifoq.schedules.schedule import Schedule
from lifoq.schedules.schedules import Schedules
from lifoq.schedules.when import When
from lifoq_cli import options, put
from lifoq_cli.progress import progress
from lifoq_cli.session import Session

_TERMS: Final = [term for term in at(Door.RECURRING) if term.name != "task_id"]
_SHOWN: Final = [term for term in _TERMS if term.name not in ("task_type", "payload")]
UTC: Final = "UTC"


@click.group()
def schedule() -> None:
    """Make, list and delete schedules, which put tasks by the clock.

    The queue must be deployed with `schedules=True`.
    """


@schedule.command("put")
@click.argument("name", metavar="NAME")
@click.argument("task_type", metavar="TYPE")
@click.argument("payload", metavar="[PAYLOAD]", required=False)
@click.option("--cron", metavar="FIELDS", help="By the calendar: six fields, '0 8 * * ? *'.")
@options.duration("--every", "At a rate, the first at once: whole minutes.")
@options.moment_to_come("--at", "Once; the schedule is gone after that.")
@click.option("--time-zone", metavar="ZONE", help="The zone of --cron; UTC by default.")
@put.with_terms(_TERMS)
@click.pass_obj
def put_(
    session: Session,
    /,
    *,
    name: str,
    task_type: str,
    payload: str | None,
    cron: str | None,
    every: float | None,
    at: datetime | None,
    time_zone: str | None,
    **terms: Any,
) -> None:
    """Make the schedule NAME, or change it: whenever it fires, it puts a task.

    PAYLOAD is JSON, or @FILE for a file with JSON. The id of a task is NAME-TIME; with --if-exists
    replace it is NAME. A put that changes nothing leaves the schedule as it is.

    \b
      lifoq schedule put tenant-42 report.send '42' --cron '0 8 * * ? *'
      lifoq schedule put tidy files.clean --every 1h --if-exists replace
    """
    when = _when(cron=cron, every=every, at=at, time_zone=time_zone)
    found = _schedules(session).put(name, when, task_type, put.read_payload(payload), **terms)
    session.answer(as_json(found), lambda console: _show(console, found))


@schedule.command("list")
@click.argument("prefix", metavar="[PREFIX]", default="")
@click.option("--limit", type=int, default=20, show_default=True, help="At most so many schedules.")
@click.pass_obj
def list_(session: Session, prefix: str, *, limit: int) -> None:
    """List schedules; with PREFIX, those whose names begin with it."""
    check_count("limit", limit)
    with progress("reading schedules"):
        found = _schedules(session).list(prefix, limit=limit + 1)

    def show(console: Console) -> None:
        if not found:
            session.tell("no schedule matches" if prefix else "there is no schedule")
            return
        console.print(_table(found[:limit], cut=console.is_terminal))

    session.answer([as_json(one) for one in found[:limit]], show)
    if len(found) > limit and not session.as_json:
        session.tell(f"There are more: --limit {10 * limit} shows them.")


@schedule.command("delete")
@click.argument("name", metavar="NAME")
@options.asks
@click.pass_obj
def delete(session: Session, name: str) -> None:
    """Delete a schedule. Tasks that it has put stay."""
    schedules = _schedules(session)
    number = int(session.confirm(f"Delete the schedule {name}?") and schedules.delete(name))
    session.answer({"deleted": number}, lambda console: console.print(f"{number} deleted"))


def _schedules(session: Session) -> Schedules:
    queue = session.queue
    if not isinstance(queue, Queue):
        raise click.UsageError("a schedule is of one queue: name that one alone, --queue NAME")
    return queue.schedules


def _when(
    *, cron: str | None, every: float | None, at: datetime | None, time_zone: str | None
) -> When:
    if sum(value is not None for value in (cron, every, at)) != 1:
        raise click.UsageError("when? give one of --cron, --every and --at")
    if time_zone is not None and cron is None:
        raise click.UsageError("--time-zone is the zone of --cron: leave it out")
    if cron is not None:
        return times.cron(cron, time_zone=time_zone or UTC)
    return times.every(every) if every is not None else times.at(at)  # type: ignore[arg-type]


def as_json(found: Schedule) -> dict[str, Any]:
    """Return the schedule, its time as ISO 8601."""
    task = found.task
    terms = {term.name: getattr(task, term.name) for term in _TERMS}
    changed = None if found.changed_at is None else iso(found.changed_at)
    document = {
        "name": found.name,
        "expression": found.when.expression,
        "time_zone": found.when.time_zone,
        "enabled": found.enabled,
        "changed_at": changed,
        **terms,
    }
    return {name: it for name, it in document.items() if it is not None or name == "payload"}


def _show(console: Console, found: Schedule) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in (
        ("schedule", found.name),
        ("fires", str(found.when)),
        ("type", found.task.task_type),
        *terms_of(found),
        ("payload", jsontext.encode(found.task.payload, "payload")),
    ):
        table.add_row(name, harmless(text))
    console.print(table)


def _table(found: list[Schedule], *, cut: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=cut)
    table.add_column("NAME", no_wrap=True)
    table.add_column("FIRES", no_wrap=True)
    table.add_column("TYPE", no_wrap=True)
    table.add_column("WHAT", ratio=1 if cut else None, no_wrap=cut, overflow="ellipsis")
    for one in found:
        told = [] if one.enabled else ["disabled"]
        told += [f"{name} {text}" for name, text in terms_of(one)]
        told.append(jsontext.encode(one.task.payload, "payload"))
        row = (one.name, str(one.when), one.task.task_type, ", ".join(told))
        table.add_row(*map(harmless, row))
    return table


def terms_of(found: Schedule) -> list[tuple[str, str]]:
    """Return the terms that its tasks have, beside type and payload, as people read them."""
    values = [(term, getattr(found.task, term.name)) for term in _SHOWN]
    return [
        (term.label, term.rule.spoken(value)) for term, value in values if value != term.default
    ]
