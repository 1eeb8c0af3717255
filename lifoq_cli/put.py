"""The command that puts tasks."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from lifoq.errors import InvalidInput, LifoqError
from lifoq.items.task import IfExists, NewTask
from lifoq.tables.puts import PutOutcome
from lifoq_cli import moments, options, statuses, tasks
from lifoq_cli.session import Session

CHUNK: Final = 500
"""Lines that are read, checked and put at a time."""
FIELDS: Final = [field.name for field in fields(NewTask)]
_MOMENTS: Final[dict[str, Callable[[str], Any]]] = {
    "deadline": moments.duration_or_moment,
    "due_at": moments.moment,
    "delay": moments.duration,
    "head_start": moments.duration,
}
_FILE: Final = "@"


class BadLine(LifoqError):
    """A line of the standard input is no task."""


@click.command()
@click.argument("task_type", metavar="[TYPE]", required=False)
@click.argument("payload", metavar="[PAYLOAD]", required=False)
@click.option("--id", "task_id", metavar="ID", help="An id of your own: to put it again is safe.")
@click.option("--key", metavar="KEY", help="Whom or what the task is for, such as a customer.")
@click.option(
    "--if-exists",
    type=click.Choice(["keep", "replace"]),
    default="keep",
    show_default=True,
    help="Where the id is in use: keep that task, or let the newest win.",
)
@options.duration_or_moment("--deadline", "When the task is shed, if no worker has taken it.")
@options.duration("--delay", "How long until the task enters the queue.")
@options.duration("--head-start", "A priority: it stands where it would if it came so much later.")
@options.moment_to_come("--due-at", "When the task enters the queue: an ISO time that is to come.")
@click.option("--lines", is_flag=True, help="Put the JSON lines of the standard input.")
@click.pass_obj
def put(
    session: Session,
    *,
    task_type: str | None,
    payload: str | None,
    task_id: str | None,
    key: str | None,
    if_exists: IfExists,
    deadline: float | datetime | None,
    delay: float | None,
    head_start: float | None,
    due_at: datetime | None,
    lines: bool,
) -> None:
    """Put a task; or, with --lines, many.

    PAYLOAD is JSON, or @FILE for a file with JSON. Each line of --lines is a payload where TYPE is
    given; else a task, an object with task_type and, as it needs them, payload, task_id, key,
    if_exists, deadline, delay, head_start (30s, 5m, 2h or seconds) and due_at (ISO).

    \b
      lifoq put device.check '{"device": "d-17"}' --deadline 30s
      lifoq put device.check @check.json --id d-17-connected
      lifoq put device.check --lines < payloads.jsonl
      lifoq put --lines < tasks.jsonl
    """
    terms: dict[str, Any] = {
        "key": key,
        "if_exists": if_exists,
        "deadline": deadline,
        "delay": delay,
        "head_start": head_start,
        "due_at": due_at,
    }
    if lines:
        if payload is not None or task_id is not None:
            raise click.UsageError("--lines brings payloads and ids; leave PAYLOAD and --id out")
        _put_lines(session, _Reader(task_type=task_type, terms=terms))
        return
    if task_type is None:
        raise click.UsageError("what is to be put? give a TYPE, or --lines")
    task = session.queue.put(task_type, _payload(payload), task_id=task_id, **terms)
    session.answer(tasks.as_json(task), tasks.show(task, now=session.now))


def _payload(text: str | None) -> Any:
    """InvalidInput."""
    if text is None:
        return None
    if text.startswith(_FILE):
        try:
            text = Path(text.removeprefix(_FILE)).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidInput("PAYLOAD", text, f"cannot be read ({error})") from error
    try:
        return _json(text)
    except ValueError as error:
        problem = f"is no JSON ({error}); quote it, such as '\"text\"', or name a file, @FILE"
        raise InvalidInput("PAYLOAD", text, problem) from error


def _json(text: str | bytes) -> Any:
    """ValueError."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Makes tasks of lines."""

    task_type: str | None
    terms: dict[str, Any]
    """What the command line says of all of them."""

    def task(self, number: int, line: bytes) -> NewTask:
        """BadLine."""
        try:
            found = _json(line)
        except ValueError as error:
            raise BadLine(f"line {number} is no JSON: {error}") from error
        if self.task_type is not None:
            return NewTask(task_type=self.task_type, payload=found, **self.terms)
        if not isinstance(found, dict) or "task_type" not in found:
            raise BadLine(f"line {number} is no object with a task_type; give TYPE for payloads")
        if unknown := sorted(found.keys() - set(FIELDS)):
            raise BadLine(f"line {number}: {unknown[0]} is unknown; a task has {', '.join(FIELDS)}")
        try:
            return NewTask(**{**self.terms, **found, **_times(found)})
        except ValueError as error:
            raise BadLine(f"line {number}: {error}") from error


def _times(found: dict[str, Any]) -> dict[str, Any]:
    """What JSON can only say as text."""
    times: dict[str, Any] = {}
    for name, convert in _MOMENTS.items():
        if isinstance(value := found.get(name), str):
            times[name] = convert(value)
    return times


def _put_lines(session: Session, reader: _Reader) -> None:
    done = {"put": 0, "there_before": 0, "not_put": 0}
    numbered = enumerate(sys.stdin.buffer if sys.stdin else (), start=1)
    lines = ((number, line) for number, line in numbered if line.strip())
    queue = session.queue
    with _progress() as advance:
        while chunk := list(islice(lines, CHUNK)):
            before = sum(done.values())
            try:
                new = [reader.task(number, line) for number, line in chunk]
                outcomes = queue.put_many(new, on_progress=_from(before, advance))
            except InvalidInput as error:
                raise BadLine(_located(chunk, error) + _so_far(before)) from error
            except BadLine as error:
                raise BadLine(str(error) + _so_far(before)) from error
            _count(session, chunk, outcomes, done)
            advance(sum(done.values()))
    session.answer(done, lambda console: console.print(_summary(done)))
    if done["not_put"]:
        raise click.exceptions.Exit(statuses.BAD_NEWS)


def _from(start: int, advance: Callable[[int], None]) -> Callable[[int], None]:
    return lambda done: advance(start + done)


def _located(chunk: list[tuple[int, bytes]], error: InvalidInput) -> str:
    """put_many says tasks[3].payload; the person has lines."""
    place, _, field = error.field.removeprefix("tasks[").partition("]")
    number, _ = chunk[int(place)]
    return f"line {number}: {InvalidInput(field.lstrip('.') or 'task', error.value, error.problem)}"


def _so_far(done: int) -> str:
    return f"; the {done:,} tasks before it were put" if done else "; nothing was put"


def _count(
    session: Session,
    chunk: list[tuple[int, bytes]],
    outcomes: Iterable[PutOutcome],
    done: dict[str, int],
) -> None:
    for (number, _), outcome in zip(chunk, outcomes, strict=True):
        if outcome.error is not None:
            session.tell(f"line {number}: {outcome.error}")
            done["not_put"] += 1
        else:
            done["put" if outcome.created else "there_before"] += 1


def _summary(done: dict[str, int]) -> str:
    text = f"{done['put']:,} put"
    if done["there_before"]:
        text += f", {done['there_before']:,} were there before"
    if done["not_put"]:
        text += f", {done['not_put']:,} not confirmed: perhaps put, perhaps not"
    return text


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Tells how many are done, on a terminal only."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} put"), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done: bar.update(task, completed=done)
