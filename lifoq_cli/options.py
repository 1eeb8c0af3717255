"""Options that several commands have. They may stand before or behind the command's name."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from lifoq.items.lifetimes import Lifetimes
from lifoq_cli import completion, moments, usage
from lifoq_cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Into the session, from wherever it was said; what is said last counts."""
    session = context.find_root().ensure_object(Session)
    if value not in (None, (), False) and option.name is not None:
        session.given[option.name] = value


_EVERYWHERE: Final[tuple[dict[str, Any], ...]] = (
    {
        "names": ["--queue", "-q"],
        "shell_complete": completion.queues,
        "multiple": True,
        "metavar": "NAME",
        "help": "The queue's name; of a queue of several cells, once for each.",
    },
    {
        "names": ["--table"],
        "multiple": True,
        "metavar": "NAME",
        "help": "Instead of --queue: the name of its DynamoDB table.",
    },
    {
        "names": ["--deadline-seconds"],
        "type": float,
        "metavar": "SECONDS",
        "help": f"Beside --table: the queue's deadline ({Lifetimes().deadline:g}).",
    },
    {
        "names": ["--bucket"],
        "metavar": "NAME",
        "help": "Beside --table: the queue's bucket for large payloads, if it has one.",
    },
    {"names": ["--region"], "metavar": "NAME", "help": "AWS region; boto3's own by default."},
    {
        "names": ["--endpoint-url"],
        "metavar": "URL",
        "help": "Where AWS is asked, such as the local cloud.",
    },
    {"names": ["--json"], "is_flag": True, "help": "Answer as JSON, with times as ISO 8601."},
)


def everywhere(*, hidden: bool) -> list[click.Option]:
    """Return the options that every command takes; ``hidden`` from its help, since the group's
    shows them."""
    return [
        click.Option(
            spec["names"],
            expose_value=False,
            callback=_remember,
            hidden=hidden,
            **{name: value for name, value in spec.items() if name != "names"},
        )
        for spec in _EVERYWHERE
    ]


def task_type(command: F) -> F:
    """Give a command the option by which it is about tasks of one type."""
    return click.option(
        "--type",
        "task_type",
        metavar="TYPE",
        help="Only tasks of this type.",
        shell_complete=completion.types,
    )(command)


def asks(command: F) -> F:
    """Let a command ask before it does what cannot be undone."""
    return click.option(
        "--yes", is_flag=True, expose_value=False, callback=_remember, help="Do not ask."
    )(command)


def _converted(convert: Callable[[str], Any]) -> Callable[..., Any]:
    def callback(context: click.Context, option: click.Parameter, value: str | None) -> Any:
        try:
            if value is None:
                return None
            context.meta.setdefault(usage.TYPED, {})[option.name] = value
            return convert(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from error

    return callback


def duration(name: str, explanation: str, *, least: float = 0.0, **more: Any) -> Callable[[F], F]:
    """Return an option of seconds, written as 30s, 5m, 2h or 1d. ``least``: the least it takes, in
    seconds."""

    def enough(text: str) -> float:
        found = moments.duration(text)
        if found < least:
            raise ValueError(f"{text} is too short: give {least:g}s or more")
        return found

    callback = _converted(enough)
    return click.option(name, metavar="DURATION", callback=callback, help=explanation, **more)


def moment_to_come(name: str, explanation: str) -> Callable[[F], F]:
    """An option of an ISO time."""
    callback = _converted(moments.moment_to_come)
    return click.option(name, metavar="TIME", callback=callback, help=explanation)


def duration_or_moment(name: str, explanation: str) -> Callable[[F], F]:
    callback = _converted(moments.duration_or_moment)
    return click.option(name, metavar="DURATION|TIME", callback=callback, help=explanation)
