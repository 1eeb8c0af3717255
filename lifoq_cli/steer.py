"""Commands that change what becomes of tasks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice

import click

from lifoq.basics.numbers import check_count, check_rate
from lifoq.client.cells import Cells
from lifoq.client.listing import Wanted
from lifoq.errors import DamagedTask, InvalidInput, TaskNotFound, WrongStatus
from lifoq.health.statistics import QueueStats
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq.store.table_protocol import LARGEST_PAGE, Count
from lifoq_cli import options, tasks
from lifoq_cli.many import Many
from lifoq_cli.progress import progress
from lifoq_cli.session import Queues, Session


@click.command()
@click.argument("task_id", metavar="ID")
@click.pass_obj
def cancel(session: Session, task_id: str) -> None:
    """Withdraw a task. It stays readable for its retention.

    A task that is TAKEN is told to stop at its next heartbeat, which may take some seconds; it ends
    as CANCELLED, or as SUCCESS where its work was done by then.
    """
    task = session.queue.cancel(task_id)
    session.answer(tasks.as_json(task), tasks.show(task, now=session.now))


@click.command()
@click.argument("task_id", metavar="ID")
@options.asks
@click.pass_obj
def delete(session: Session, task_id: str) -> None:
    """Delete a task that has ended, before its retention is over.

    Payload and result go with it. A task that waits must be cancelled first. Exports and backups
    keep what they have.
    """
    queue = session.queue
    task = queue.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    question = f"Delete the {task.status} task {task_id!r} of type {task.task_type}, for good?"
    number = 0
    if session.confirm(question):
        queue.delete(task_id)
        number = 1
    session.answer({"deleted": number}, lambda console: console.print(f"{number} deleted"))


@click.command("run-now")
@click.argument("task_id", metavar="ID")
@click.pass_obj
def run_now(session: Session, task_id: str) -> None:
    """Let a task that is delayed enter the queue at once."""
    task = session.queue.run_now(task_id)
    session.answer(tasks.as_json(task), tasks.show(task, now=session.now))


@click.command()
@click.argument("task_id", metavar="[ID]", required=False)
@options.task_type
@click.option(
    "--error", metavar="TYPE", help="Only tasks whose error has this type, such as TimeoutError."
)
@click.option("--limit", type=int, metavar="N", help="At most so many tasks.")
@click.option("--per-second", type=float, metavar="N", help="At most so many tasks a second.")
@options.asks
@click.pass_obj
def redrive(
    session: Session,
    *,
    task_id: str | None,
    task_type: str | None,
    error: str | None,
    limit: int | None,
    per_second: float | None,
) -> None:
    """Bring failed tasks back: one by its ID, or all that match.

    They come back as the newest tasks, with all attempts and a new deadline.
    """
    queue = session.queue
    if task_id is not None:
        _alone(task_type=task_type, error=error, limit=limit, per_second=per_second)
        queue.redrive(task_id)
        number = 1
    else:
        if limit is not None:
            check_count("limit", limit)
        if per_second is not None:
            check_rate("per_second", per_second)
        wanted = Wanted(status=Status.FAILURE, task_type=task_type, error_type=error)
        # The ids first: a redriven task may fail again, and come by a second time.
        ids = _listed(session, islice(_failed(queue, wanted), limit))
        number = 0
        if not ids:
            session.tell(f"no failed task of {session.title} matches")
        elif session.confirm(_redrives(len(ids), _counted(session).failure, session.title)):
            number = Many(
                session=session,
                done_word="redriven",
                change=lambda one: _changed(queue.redrive, one),
                per_second=per_second,
            ).run(ids)
    session.answer({"redriven": number}, lambda console: console.print(f"{number:,} redriven"))


@contextmanager
def _looking(session: Session, words: str) -> Iterator[Callable[[int], None]]:
    """Show the progress of what is read before anything is changed. Somebody who ends it is told
    so."""
    try:
        with progress(words) as advance:
            yield advance
    except KeyboardInterrupt:
        raise session.interrupted("nothing was changed") from None


def _counted(session: Session) -> QueueStats:
    with _looking(session, "counting"):
        return session.queue.stats()


def _listed(session: Session, ids: Iterable[str]) -> list[str]:
    """Read the ids of what is to be changed, before anything is."""
    found: list[str] = []
    with _looking(session, "found") as advance:
        for task_id in ids:
            found.append(task_id)
            advance(len(found))
    return found


def _failed(queue: Queues, wanted: Wanted) -> Iterator[str]:
    """The ids of the failed tasks that match, the newest first."""
    start = None
    while True:
        page = queue.search(wanted, limit=LARGEST_PAGE, scan=LARGEST_PAGE, start=start)
        yield from (task.task_id for task in page.tasks)
        start = page.next
        if start is None:
            return


def _redrives(number: int, failed: Count, title: str) -> str:
    """``failed`` may be a moment behind ``number``."""
    if failed.value <= number:
        return f"Redrive {_tasks(Count(value=number, capped=False), 'failed')} of {title}?"
    return f"Redrive {number:,} of {_tasks(failed, 'failed')} of {title}?"


def _tasks(number: Count, state: str) -> str:
    """Say a number of tasks: ``1 waiting task``, ``1,248 failed tasks``."""
    one = number == Count(value=1, capped=False)
    return f"{number} {state} {'task' if one else 'tasks'}"


def _changed(change: Callable[[str], Task], task_id: str) -> bool:
    """False if somebody else was faster, its retention is over, or it is damaged."""
    try:
        change(task_id)
    except (WrongStatus, TaskNotFound, DamagedTask):
        return False
    return True


def _alone(**filters: object) -> None:
    for name, value in filters.items():
        if value is not None:
            problem = "is for those that match; leave it out beside a task's id"
            raise InvalidInput(name, value, problem)


@click.command()
@options.asks
@click.pass_obj
def purge(session: Session) -> None:
    """Cancel every task that waits, due or delayed. What is being worked on goes on."""

    queue = session.queue
    stats = _counted(session)
    waiting, number = stats.live + stats.delayed, 0
    if waiting == Count(value=0, capped=False):
        session.tell(f"nothing waits in {session.title}")
    elif session.confirm(f"Cancel {_tasks(waiting, 'waiting')} of {session.title}?"):
        number = Many(
            session=session,
            done_word="cancelled",
            change=lambda one: _changed(partial(queue.cancel, running=False), one),
        ).run(_listed(session, _waiting(queue)))
    session.answer({"cancelled": number}, lambda console: console.print(f"{number:,} cancelled"))


def _waiting(queue: Queues) -> Iterator[str]:
    """The ids of the tasks that wait, due or delayed."""
    for one in queue.queues.values() if isinstance(queue, Cells) else (queue,):
        for status in (Status.PENDING, Status.DELAYED):
            for task_id, _ in one.store.browse(status, live=status is Status.PENDING):
                yield task_id
