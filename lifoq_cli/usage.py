"""Tell what the library refuses of a command line in the command line's own words.

The library speaks of its arguments (``limit=0``), a person gave options (``--limit 0``).
"""

import functools
from collections.abc import Iterator
from typing import Any, Final

import click
from click.core import ParameterSource

from lifoq.basics.shown import harmless
from lifoq.errors import InvalidInput

TYPED: Final = "lifoq_cli.typed"
"""The key in a context's ``meta`` of the texts that were typed, by option, where they were
converted."""
SPEAKS: Final = "speaks_of_options"
"""A mark of callbacks that do."""
LONGEST: Final = 100
"""Characters of a value that a sentence shows."""
_OTHERWISE: Final = {
    "deadline": "deadline_seconds",
    "error_type": "error",
    "queue name": "queue",
    "expression": "cron",
    "interval": "every",
    "moment": "at",
    "task_id": "task_ids",
}
"""Options that say what the library calls otherwise, by its name."""


def speak_of_options(command: click.Command) -> None:
    """Let ``command`` end as wrong usage, with status 2, where the library refuses a value that an
    option or argument brought. What nobody typed, such as a folder's settings, is refused as
    ever."""
    callback = command.callback
    if callback is None or hasattr(callback, SPEAKS):  # it was loaded before
        return

    @functools.wraps(callback)
    def called(*arguments: Any, **options: Any) -> Any:
        try:
            return callback(*arguments, **options)
        except InvalidInput as error:
            context = click.get_current_context()
            found = next(_given(error.field, context), None)
            if found is None:
                raise
            raise click.UsageError(f"{_said(found, error, context)}: {error.problem}") from error

    setattr(called, SPEAKS, True)
    command.callback = called


def _given(field: str, context: click.Context) -> Iterator[click.Parameter]:
    """The option or argument that brought the value of ``field``, if somebody typed one."""
    typed = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    for name in (field, _OTHERWISE.get(field)):
        for place in (context, context.find_root()):
            for parameter in place.command.params:
                if parameter.name == name and place.get_parameter_source(name) in typed:
                    yield parameter


def _said(parameter: click.Parameter, error: InvalidInput, context: click.Context) -> str:
    value = context.meta.get(TYPED, {}).get(parameter.name, error.value)
    text = harmless(str(value))
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    if isinstance(parameter, click.Argument):
        return f"{(parameter.metavar or str(parameter.name).upper()).strip('[].')} '{shown}'"
    return f"{max(parameter.opts, key=len)} {shown or repr(shown)}"
