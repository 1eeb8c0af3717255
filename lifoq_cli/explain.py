"""The command that explains why tasks wait."""

from typing import Any

import click
from rich.console import Console
from rich.text import Text

from lifoq.basics.shown import harmless
from lifoq.basics.times import iso
from lifoq.client.explanation import Explanation, Reason
from lifoq_cli import moments, options, statuses
from lifoq_cli.progress import progress
from lifoq_cli.session import Session


@click.command()
@click.argument("task_id", metavar="[ID]", required=False)
@options.task_type
@click.pass_obj
def explain(session: Session, task_id: str | None, *, task_type: str | None) -> None:
    """Explain why a task waits, or what has become of it.

    \b
      lifoq explain 4711           a task
      lifoq explain --type ask     the tasks of a type
      lifoq explain                whatever waits

    Exit status 1 where there is no such task, or it cannot be read.
    """
    with progress("looking"):
        found = session.queue.explain(task_id, task_type=task_type)

    def show(console: Console) -> None:
        console.print(Text(harmless(found.summary), style="bold"))
        for number, reason in enumerate(found.reasons, 1):
            console.print()
            console.print(Text(harmless(f"{number}. {reason.told(session.now)}")))
            if details := _details(reason, session.now):
                console.print(Text(harmless(f"   {details}"), style="dim"))

    session.answer(as_json(found), show)
    if task_id is not None and found.status is None:
        raise click.exceptions.Exit(statuses.REFUSED)


def as_json(found: Explanation) -> dict[str, Any]:
    """Return the explanation for JSON, times as ISO 8601."""
    told = {
        "task_id": found.task_id,
        "task_type": found.task_type,
        "status": found.status,
        "summary": found.summary,
    }
    reasons = [
        {
            "name": one.name,
            "says": one.says,
            "since": None if one.since is None else iso(one.since),
            "ends": one.ends,
            "seen_by": one.seen_by,
            "seen_at": None if one.seen_at is None else iso(one.seen_at),
        }
        for one in found.reasons
    ]
    kept = {name: value for name, value in told.items() if value is not None}
    return {**kept, "reasons": [_present(reason) for reason in reasons]}


def _present(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}


def _details(reason: Reason, now: int) -> str:
    since = "" if reason.since is None else f"since {moments.local(reason.since, now=now)}"
    ends = "" if reason.ends is None else f"it ends with {reason.ends}"
    return "; ".join(part for part in (since, ends) if part)
