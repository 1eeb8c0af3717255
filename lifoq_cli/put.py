"""The command that puts tasks."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import click

from lifoq.errors import InvalidInput, LifoqError
from lifoq.items.put_terms import Choice, Count, Door, Moment, Seconds, SecondsOrMoment, Term, at
from lifoq.items.task import NewTask
from lifoq.store.puts import PutOutcome
from lifoq_cli import completion, known, moments, options, statuses, tasks
from lifoq_cli.progress import progress
from lifoq_cli.session import Session

CHUNK: Final = 500
"""Lines that are read, checked and put at a time."""
_TERMS: Final = at(Door.COMMAND)
_ARGUMENTS: Final = ("task_type", "payload")
_CONVERTED: Final[dict[type, Callable[[str], Any]]] = {
    Seconds: moments.duration,
    Moment: moments.moment,
    SecondsOrMoment: moments.duration_or_moment,
}
_FILE: Final = "@"


class BadLine(LifoqError):
    """A line of the standard input is no task."""


def _option(term: Term) -> Callable[[Any], Any]:
    """Return the decorator that gives a command the option of a term."""
    name, help_ = term.at(Door.COMMAND), term.meaning
    match term.rule:
        case Choice(choices=choices):
            kind = click.Choice(choices)
            return click.option(
                name, term.name, type=kind, default=term.default, show_default=True, help=help_
            )
        case SecondsOrMoment():
            return options.duration_or_moment(name, help_)
        case Seconds():
            return options.duration(name, help_)
        case Moment():
            return options.moment_to_come(name, help_)
        case Count():
            return click.option(name, term.name, type=int, metavar="N", help=help_)
    return click.option(name, term.name, metavar=name.strip("-").upper(), help=help_)


def with_terms(terms: Sequence[Term]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator that gives a command the options of terms, but for its arguments."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        for term in reversed(terms):
            if term.name not in _ARGUMENTS:
                command = _option(term)(command)
        return command

    return decorated


@click.command()
@click.argument("task_type", metavar="[TYPE]", required=False, shell_complete=completion.types)
@click.argument("payload", metavar="[PAYLOAD]", required=False)
@with_terms(_TERMS)
@click.option("--lines", is_flag=True, help="Put the JSON lines of the standard input.")
@click.pass_obj
def put(
    session: Session, /, *, task_type: str | None, payload: str | None, lines: bool, **terms: Any
) -> None:
    """Put a task; or, with --lines, many.

    PAYLOAD is JSON, or @FILE for a file with JSON. Each line of --lines is a payload where TYPE is
    given; else a task: an object with task_type and, as it needs them, payload, task_id and the
    terms below, by the names of NewTask. Durations are 30s, 5m, 2h or seconds; times are ISO.

    \b
      lifoq put device.check '{"device": "d-17"}' --deadline 30s
      lifoq put device.check @check.json --id d-17-connected
      lifoq put device.check --lines < payloads.jsonl
      lifoq put --lines < tasks.jsonl
    """
    if lines:
        if payload is not None or terms.pop("task_id") is not None:
            raise click.UsageError("--lines brings payloads and ids; leave PAYLOAD and --id out")
        _put_lines(session, _Reader(task_type=task_type, terms=terms))
        return
    if task_type is None:
        raise click.UsageError("what is to be put? give a TYPE, or --lines")
    task = session.queue.put(task_type, read_payload(payload), **terms)
    session.answer(tasks.as_json(task), tasks.show(task, now=session.now))
    known.tell_if_lacking(session, task)


def read_payload(text: str | None) -> Any:
    """Return the payload of a command line: JSON, or @FILE. InvalidInput."""
    if text is None:
        return None
    if text.startswith(_FILE):
        try:
            text = Path(text.removeprefix(_FILE)).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidInput("payload", text, f"cannot be read ({error})") from error
    try:
        return _json(text)
    except ValueError as error:
        problem = f"is no JSON ({error}); quote it, such as '\"text\"', or name a file, @FILE"
        raise InvalidInput("payload", text, problem) from error


def _json(text: str | bytes) -> Any:
    """Return the value of JSON text. Raises ValueError."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Makes tasks of lines."""

    task_type: str | None
    terms: dict[str, Any]
    """The terms of the command line, for all tasks."""

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
        known = [term.name for term in _TERMS]
        if unknown := sorted(found.keys() - set(known)):
            raise BadLine(f"line {number}: {unknown[0]} is unknown; a task has {', '.join(known)}")
        try:
            return NewTask(**{**self.terms, **found, **_times(found)})
        except ValueError as error:
            raise BadLine(f"line {number}: {error}") from error


def _times(found: dict[str, Any]) -> dict[str, Any]:
    """Return durations and moments, which JSON can only say as text. ValueError."""
    return {
        term.name: convert(value)
        for term in _TERMS
        if (convert := _CONVERTED.get(type(term.rule)))
        and isinstance(value := found.get(term.name), str)
    }


def _put_lines(session: Session, reader: _Reader) -> None:
    done = {"put": 0, "there_before": 0, "not_put": 0}
    source = sys.stdin.buffer if sys.stdin else None
    numbered = enumerate(source or (), start=1)
    lines = ((number, line) for number, line in numbered if line.strip())
    queue = session.queue
    chunk: list[tuple[int, bytes]] = []
    try:
        with progress("put", total=_lines_of(source)) as advance:
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
                chunk = []
    except KeyboardInterrupt:
        raise session.interrupted(_done_so_far(chunk, done)) from None
    session.answer(done, lambda console: console.print(_summary(done)))
    if done["not_put"]:
        raise click.exceptions.Exit(statuses.BAD_NEWS)


def _lines_of(source: IO[bytes] | None) -> int | None:
    """Count the lines that are to be put, where the input is a file; None for a pipe, which tells
    its length when it ends."""
    try:
        if source is None or not source.seekable():
            return None
        begin = source.tell()
    except OSError:
        return None
    number = sum(1 for line in source if line.strip())
    source.seek(begin)
    return number


def _done_so_far(chunk: list[tuple[int, bytes]], done: dict[str, int]) -> str:
    """``chunk``: the lines that were under way, with their numbers."""
    if not chunk:
        return _summary(done)
    (first, _), (last, _) = chunk[0], chunk[-1]
    return f"{_summary(done)}; of the lines {first:,} to {last:,} some were put, perhaps"


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
