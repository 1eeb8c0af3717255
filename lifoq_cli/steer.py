"""Commands that change what becomes of tasks."""

import click

from lifoq.basics.numbers import check_count, check_rate
from lifoq.errors import InvalidInput, TaskNotFound
from lifoq.tables.table import Count
from lifoq_cli import options, tasks
from lifoq_cli.session import Session


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
@click.option("--type", "task_type", metavar="TYPE", help="Only tasks of this type.")
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
        which = _described(task_type, error, limit)
        there = queue.stats().failure
        question = f"Redrive {which}, of {there} failed tasks of {session.title}?"
        number = 0
        if session.confirm(question):
            number = queue.redrive_many(
                task_type=task_type, error_type=error, limit=limit, per_second=per_second
            )
    session.answer({"redriven": number}, lambda console: console.print(f"{number} redriven"))


def _alone(**filters: object) -> None:
    for name, value in filters.items():
        if value is not None:
            problem = "is for those that match; leave it out beside a task's id"
            raise InvalidInput(name, value, problem)


def _described(task_type: str | None, error: str | None, limit: int | None) -> str:
    which = "all" if limit is None else f"at most {limit}"
    if task_type is not None:
        which += f" of type {task_type}"
    if error is not None:
        which += f" with error {error}"
    return which


@click.command()
@options.asks
@click.pass_obj
def purge(session: Session) -> None:
    """Cancel every task that waits, due or delayed. What is being worked on goes on."""

    def confirm(waiting: Count) -> bool:
        return session.confirm(f"Cancel {waiting} waiting tasks of {session.title}?")

    number = session.queue.purge(confirm=confirm)
    session.answer({"cancelled": number}, lambda console: console.print(f"{number} cancelled"))
