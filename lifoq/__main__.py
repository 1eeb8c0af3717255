"""An operator's view of a queue, or of several as one: ``python -m lifoq --queue NAME stats``.

Prints JSON, so that other tools can go on with it; questions and sentences go to the standard
error. Exit status 0; 1 with a sentence where the queue refuses; 2 for a command that is not
understood; 130 after an interrupt; 141 where nobody reads the answer any more.
"""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from lifoq.client.cells import Cells
from lifoq.client.listing import LISTED
from lifoq.client.queue import Queue
from lifoq.environment import Variable
from lifoq.errors import InvalidInput, LifoqError, TaskNotFound
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq.items.transitions import Lifetimes
from lifoq.tables.table import Count

Queues = Queue | Cells
Command = Callable[[Queues, argparse.Namespace], Any]

REFUSED: Final = 1
INTERRUPTED: Final = 130
UNREAD: Final = 141
"""Exit statuses; the last two are those of a shell for SIGINT and SIGPIPE."""
EXAMPLES: Final = """examples:
  python -m lifoq --queue prod stats
  python -m lifoq --queue prod peek --status FAILURE    the newest failures, with their errors
  python -m lifoq --queue prod get ID
  python -m lifoq --queue prod redrive --error TimeoutError --per-second 5
"""


class NotAnswered(LifoqError):
    """A question met the end of the input."""


def stats(queue: Queues, _arguments: argparse.Namespace) -> dict[str, Any]:
    found = queue.stats()
    return {field.name: _shown(getattr(found, field.name)) for field in dataclasses.fields(found)}


def peek(queue: Queues, arguments: argparse.Namespace) -> list[Any]:
    tasks = queue.peek(arguments.limit, status=Status(arguments.status))
    return [_task(task) for task in tasks]


def get(queue: Queues, arguments: argparse.Namespace) -> dict[str, Any]:
    task = queue.get(arguments.task_id)
    if task is None:
        raise TaskNotFound(arguments.task_id)
    return _task(task)


def cancel(queue: Queues, arguments: argparse.Namespace) -> dict[str, Any]:
    return _task(queue.cancel(arguments.task_id))


def redrive(queue: Queues, arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.task_id is not None:
        for option in ("type", "error", "limit", "per_second"):
            if (value := getattr(arguments, option)) is not None:
                problem = "is for those that match; leave it out beside a task's id"
                raise InvalidInput(f"--{option.replace('_', '-')}", value, problem)
        queue.redrive(arguments.task_id)
        return {"redriven": 1}
    number = queue.redrive_many(
        task_type=arguments.type,
        error_type=arguments.error,
        limit=arguments.limit,
        per_second=arguments.per_second,
    )
    return {"redriven": number}


def purge(queue: Queues, arguments: argparse.Namespace) -> dict[str, Any]:
    def confirm(waiting: Count) -> bool:
        if arguments.yes:
            return True
        answer = _ask(f"Cancel {waiting} waiting tasks of {_names(queue)}? [y/N] ")
        return answer.strip().lower() in ("y", "yes")

    return {"cancelled": queue.purge(confirm=confirm)}


def check(queue: Queues, _arguments: argparse.Namespace) -> dict[str, Any]:
    queue.check()
    return {"ok": True}


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="python -m lifoq",
        description="Operate a lifoq queue.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument(
        "--queue",
        action="append",
        default=[],
        help="the queue's name; once for each cell, where there are several; default: the "
        "variable LIFOQ_QUEUE",
    )
    root.add_argument(
        "--table",
        action="append",
        default=[],
        help="instead: the name of the queue's DynamoDB table, once for each cell",
    )
    root.add_argument("--region", help="AWS region; default: boto3's configuration")
    root.add_argument("--endpoint-url", help="another endpoint, such as the local cloud's")
    root.add_argument(
        "--deadline-seconds",
        type=float,
        help="beside --table: the queue's deadline_seconds, for redrive "
        f"(default: {Lifetimes().deadline:g})",
    )
    commands = root.add_subparsers(required=True, metavar="COMMAND")

    def command(run: Command, explanation: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(run.__name__, help=explanation, description=explanation)
        sub.set_defaults(run=run)
        return sub

    command(stats, "counts by status, and ages of the newest and oldest waiting task")
    looks = command(peek, "the newest tasks of a status, without claiming them")
    looks.add_argument("--limit", type=int, default=10)
    looks.add_argument(
        "--status",
        choices=[status.value for status in LISTED],
        default=Status.PENDING.value,
    )
    for run, explanation in (
        (get, "one task, whole"),
        (cancel, "withdraw a task that waits"),
    ):
        command(run, explanation).add_argument("task_id")
    redrives = command(redrive, "bring dead letters back: one by its id, or those that match")
    redrives.add_argument("task_id", nargs="?", help="default: all that match")
    redrives.add_argument("--type", help="of this task type")
    redrives.add_argument("--error", help="whose error is of this type, such as TimeoutError")
    redrives.add_argument("--limit", type=int, help="so many at the most")
    redrives.add_argument("--per-second", type=float, help="so many a second at the most")
    purges = command(purge, "cancel every task that waits; asks first")
    purges.add_argument("--yes", action="store_true", help="do not ask")
    command(check, "whether the table is a queue's")
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit status. SystemExit where it is not understood, or asks for help."""
    try:
        status = _run(_understood(argv))
    except KeyboardInterrupt:
        status = INTERRUPTED
    finally:
        delivered = _deliver("")
    return status if delivered else UNREAD


def _understood(argv: Sequence[str] | None) -> argparse.Namespace:
    root = parser()
    arguments = root.parse_args(argv)
    if not (arguments.queue or arguments.table or os.environ.get(Variable.QUEUE)):
        root.error(f"which queue? give --queue or --table, or set {Variable.QUEUE}")
    if arguments.deadline_seconds is not None and not arguments.table:
        root.error("--deadline-seconds goes with --table; a queue's name brings its own deadline")
    return arguments


def _run(arguments: argparse.Namespace) -> int:
    options = {"region_name": arguments.region, "endpoint_url": arguments.endpoint_url}
    try:
        queue = _connect(
            arguments.queue,
            arguments.table,
            lifetimes=_lifetimes(arguments.deadline_seconds),
            **{name: value for name, value in options.items() if value is not None},
        )
        answer = arguments.run(queue, arguments)
    except LifoqError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return REFUSED
    return 0 if _deliver(json.dumps(answer, indent=2, ensure_ascii=False) + "\n") else UNREAD


def _ask(question: str) -> str:
    """The answer; the question leaves the standard output to the JSON."""
    print(question, end="", file=sys.stderr, flush=True)  # noqa: T201
    answer = sys.stdin.readline() if sys.stdin else ""
    if not answer:
        raise NotAnswered("no answer, so nothing was done; --yes does it without a question")
    return answer


def _deliver(text: str) -> bool:
    """Write to the standard output, to the end; False where its reader has gone, such as `head`."""
    if sys.stdout is None:
        return True
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _connect(
    names: Sequence[str], tables: Sequence[str], *, lifetimes: Lifetimes | None, **options: Any
) -> Queues:
    if len(names) + len(tables) > 1:
        return Cells.connect(*names, tables=tables, lifetimes=lifetimes, **options)
    name, table = next(iter(names), None), next(iter(tables), None)
    return Queue.connect(name, table=table, lifetimes=lifetimes, **options)


def _names(queue: Queues) -> str:
    queues = queue.queues.values() if isinstance(queue, Cells) else [queue]
    return ", ".join(one.store.table.name for one in queues)


def _lifetimes(deadline: float | None) -> Lifetimes | None:
    return None if deadline is None else Lifetimes(deadline=deadline)


def _task(task: Task) -> dict[str, Any]:
    return {k: v for k, v in dataclasses.asdict(task).items() if v is not None}


def _shown(value: Any) -> Any:
    return (
        str(value) if isinstance(value, Count) and value.capped else getattr(value, "value", value)
    )


if __name__ == "__main__":
    sys.exit(main())
