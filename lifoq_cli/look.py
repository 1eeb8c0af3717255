"""Commands that look, and change nothing."""

import dataclasses
from typing import Any, Final

import click
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from lifoq.basics.shown import harmless
from lifoq.basics.times import iso, spoken
from lifoq.client.listing import LISTED, Wanted
from lifoq.errors import (
    DamagedTask,
    LifoqError,
    TaskCancelled,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
)
from lifoq.health.headline import Headline, headline
from lifoq.health.statistics import QueueStats
from lifoq.health.sweep_note import LATELY
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq.items.task_error import TaskFailed
from lifoq.operating.pause_note_in_table import PauseNote
from lifoq.operating.processing import known_paused
from lifoq.operating.shared_limit_usage import find_limit_usage
from lifoq.store.table_protocol import Count
from lifoq_cli import limit_usage, options, statuses, tasks
from lifoq_cli.progress import progress
from lifoq_cli.session import Queues, Session, print_json

STATUSES: Final = [status.value for status in LISTED]

_EXPLAINED: Final = {
    "live": "wait to be claimed",
    "delayed": "wait for their time",
    "taken": "are being worked on",
    "failure": "failed, and wait for a redrive",
    "shed_lately": f"were shed in the last {spoken(LATELY)}",
    "expired_present": "are past their deadline: never claimed, not deleted yet",
}
"""The meaning of each count; ``pending`` is the first and the last together."""


@click.command()
@click.pass_obj
def stats(session: Session) -> None:
    """Tell how the queue is doing, and count its tasks by status.

    A count ends at 10,000, and says so. What succeeded or was cancelled is in no index: the report
    counts it. Where limits hold over all workers together, it tells how much of each
    workers hold.
    """
    with progress("counting"):
        found, limits = session.queue.stats(), find_limit_usage(session.queue)
        paused = Pause.of(session)
    said = headline(found, paused=paused.is_so)

    def show(console: Console) -> None:
        console.print(stats_table(found, said, paused.told))
        if limits:
            console.print()
            console.print(limit_usage.table(limits, now=session.now))

    shared = {"shared_limits": [limit_usage.as_json(one) for one in limits]} if limits else {}
    session.answer(stats_json(found, said, paused) | shared, show)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pause:
    """The queue's pause, as far as the caller may know of it."""

    is_so: bool
    note: PauseNote | None = None
    told: str | None = None
    """The sentence on who paused the queue, and how it goes on; None if nobody noted it."""

    @classmethod
    def of(cls, session: Session) -> "Pause":
        """Look: one call to Lambda, and a read unit while the queue is paused."""
        switch = session.processing
        is_so = known_paused(switch)
        note = switch.note if switch is not None and is_so else None
        told = None if note is None else note.told(session.title, now=session.now)
        return cls(is_so=is_so, note=note, told=told)


def stats_json(found: QueueStats, said: Headline, paused: Pause) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, Count):
            return f"{value.value}+" if value.capped else value.value
        return value

    counted = {field.name: plain(getattr(found, field.name)) for field in dataclasses.fields(found)}
    limits = [{**dataclasses.asdict(one), "at": iso(one.at)} for one in found.adaptive_limits]
    counted["adaptive_limits"] = limits
    note = paused.note
    by = {} if note is None else {"pause": {**dataclasses.asdict(note), "at": iso(note.at)}}
    words = {"title": said.title, "sentence": said.sentence, "others": list(said.others)}
    return {"state": said.state, **words, **by, **counted}


def stats_table(found: QueueStats, said: Headline, of_pause: str | None) -> RenderableType:
    """``of_pause``: a sentence below the headline's."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    for name, meaning in _EXPLAINED.items():
        table.add_row(*_counted(getattr(found, name), meaning))
        if name == "live":
            for age, which in _ages(found):
                table.add_row(spoken(age), f"is how long {which} has waited")
    for limit in found.adaptive_limits:
        of_type = f"{limit.task_type} at a time: {limit.told}"
        table.add_row(str(round(limit.tasks)), harmless(of_type))
    title = Text.assemble(
        (f"{harmless(said.title)}.", "bold" if said.state.is_well else "bold red"),
        f" {harmless(said.sentence)}",
    )
    told = [*([] if of_pause is None else [of_pause]), *said.others]
    return Group(title, *(Text(harmless(sentence)) for sentence in told), Text(), table)


def _ages(found: QueueStats) -> list[tuple[float, str]]:
    """Return the ages of the newest and of the oldest task that waits, in seconds."""
    newest, oldest = found.newest_waiting_seconds, found.oldest_waiting_seconds
    if newest is None or oldest is None:
        return []
    if found.live == Count(value=1, capped=False):
        return [(oldest, "it")]
    return [(newest, "the newest of them"), (oldest, "the oldest of them")]


def _counted(count: Count, meaning: str) -> tuple[str, str]:
    if count.capped and not count.value:
        return "0", f"{meaning}, as far as was counted"
    return str(count), meaning


@click.command()
@click.argument("task_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--traceback", is_flag=True, help="Show where in its code the task failed, too.")
@click.pass_obj
def get(session: Session, task_ids: tuple[str, ...], *, traceback: bool) -> None:
    """Show a task, or several.

    With --json, several are a list. Exit status 1 where one is not there.
    """
    found = session.queue.get_many(task_ids)
    present = [task for task in found.values() if task is not None]
    absent = [TaskNotFound(task_id) for task_id, task in found.items() if task is None]
    if len(found) == 1 and absent:
        raise absent[0]

    def show(console: Console) -> None:
        for number, task in enumerate(present):
            if number:
                console.print()
            tasks.show(task, now=session.now, traceback=traceback)(console)

    told = [tasks.as_json(task) for task in present]
    session.answer(told if len(found) > 1 else told[0], show)
    for error in absent:
        session.tell(str(error))
    if absent:
        raise click.exceptions.Exit(statuses.REFUSED)


@click.command("list")
@click.option(
    "--status",
    type=click.Choice(STATUSES, case_sensitive=False),
    default=Status.PENDING.value,
    show_default=True,
    help="What succeeded or was cancelled is in no list: get it by its id.",
)
@options.task_type
@click.option("--key", metavar="KEY", help="Only tasks of this key.")
@click.option(
    "--error", metavar="TYPE", help="Only tasks whose error has this type, such as TimeoutError."
)
@options.duration(
    "--older-than", "Only tasks that came in longer ago; with a head start, by that, too."
)
@options.duration("--newer-than", "Only tasks that came in since.")
@click.option("--limit", type=int, default=20, show_default=True, help="At most so many tasks.")
@click.pass_obj
def list_(
    session: Session,
    *,
    status: str,
    task_type: str | None,
    key: str | None,
    error: str | None,
    older_than: float | None,
    newer_than: float | None,
    limit: int,
) -> None:
    """List the tasks of a status, newest first, without claiming them.

    \b
      lifoq list                                        what is claimed next
      lifoq list --status FAILURE --error TimeoutError  failures of a kind
      lifoq list --older-than 10m                       what has waited for long
    """
    wanted = Wanted(
        status=Status(status),
        task_type=task_type,
        key=key,
        error_type=error,
        older_than=older_than,
        newer_than=newer_than,
        any_case=True,
    )
    with progress("looking for tasks that match"):
        found, more = search(session.queue, wanted, limit=limit)
    readable = [task for task in found if isinstance(task, Task)]

    def show(console: Console) -> None:
        if readable:
            console.print(
                tasks.table(readable, wanted.status, now=session.now, cut=console.is_terminal)
            )
        elif not found:
            session.tell(f"no {status} task matches")

    session.answer([tasks.as_json(task) for task in readable], show)
    for task in found:
        if isinstance(task, DamagedTask):
            session.tell(str(task))
    if more and not session.as_json:
        session.tell(f"There are more: --limit {10 * limit} shows them.")


def search(queue: Queues, wanted: Wanted, *, limit: int) -> tuple[list[Task | DamagedTask], bool]:
    """Return at most ``limit`` tasks, however rare they are, and True if there may be more."""
    found: list[Task | DamagedTask] = []
    start: str | None = None
    while True:
        page = queue.search(wanted, limit=limit - len(found), start=start)
        found += page.found.values()
        start = page.next
        if start is None or len(found) >= limit:
            return found, start is not None


_BAD_NEWS: Final = (TaskFailed, TaskCancelled, TaskShed)


@click.command()
@click.argument("task_ids", metavar="ID...", nargs=-1, required=True)
@options.duration("--timeout", "How long to wait at the most.", default="1m", show_default=True)
@click.pass_obj
def wait(session: Session, task_ids: tuple[str, ...], timeout: float) -> None:
    """Wait until a task has ended, and print its result as JSON.

    Of several tasks, each that succeeds is a line of JSON as soon as it ends, with task_id and
    result.

    Exit status 1 where one is not there, else 3 where one failed, was cancelled or was shed, else 4
    where one has not ended in time.
    """
    several, ends = len(set(task_ids)) > 1, set[int]()
    ended = session.queue.wait_many(task_ids, timeout=timeout)
    if not several:  # else each line tells that it goes on
        with progress(f"waiting for {harmless(task_ids[0])}, {spoken(timeout)} at the most"):
            ended = iter(list(ended))
    for outcome in ended:
        if outcome.error is not None:
            session.tell(str(outcome.error))
            ends.add(_status(outcome.error))
        elif several:
            print_json({"task_id": outcome.task_id, "result": outcome.result()}, indent=None)
        else:
            print_json(outcome.result())
    if ends:
        raise click.exceptions.Exit(min(ends))


def _status(error: LifoqError) -> int:
    if isinstance(error, _BAD_NEWS):
        return statuses.BAD_NEWS
    return statuses.TOO_LATE if isinstance(error, WaitTimeout) else statuses.REFUSED
