"""The command itself: its groups, and how it ends, whatever goes wrong."""

import errno
import os
import sys
from collections.abc import Sequence
from typing import Final

import click
from click.shell_completion import CompletionItem

import lifoq
from lifoq.errors import LifoqError
from lifoq_cli import (
    aws_words,
    errors,
    explain,
    export,
    look,
    mounted,
    options,
    processing,
    put,
    schedule,
    smoke,
    statuses,
    steer,
    usage,
    watch,
    work,
)
from lifoq_cli.doctor import command
from lifoq_cli.session import tell

PROGRAM: Final = "lifoq"
SECTIONS: Final[dict[str, tuple[click.Command, ...]]] = {
    "Put and look": (
        *(put.put, look.get, look.wait, look.list_, explain.explain, errors.errors),
        *(watch.watch, look.stats, schedule.schedule),
    ),
    "Steer": (steer.cancel, steer.run_now, steer.redrive, steer.purge, steer.delete),
    "Operate": (
        *(command.doctor, smoke.smoke, processing.pause, processing.resume),
        *(work.work, export.export),
    ),
}
HELP: Final = ["-h", "--help"]
ELSEWHERE: Final = "More"
"""The section of what lies in other packages."""

EPILOG: Final = """\b
Which queue: --queue, else LIFOQ_QUEUE, else lifoq.toml here or above.
Exit status: 0 done; 1 refused; 2 not understood; 3 done, with bad news;
4 a wait was too long; 130 interrupted; 141 nobody reads the answer any more."""

EVERYWHERE: Final = "--queue, --json and the other options of `lifoq --help` may stand here, too."


class Root(click.Group):
    """Knows its commands by section, and imports those of other packages when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *mounted.MOUNTED]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in mounted.MOUNTED:
            command = mounted.load(mounted.MOUNTED[cmd_name])
            usage.speak_of_options(command)
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say that a command which takes seconds to import begins, before it is imported. One of
        the local cloud begins anew with its own packages, if they are not here."""
        mount = mounted.MOUNTED.get(args[0])
        if mount is not None and mount.in_local_cloud:
            from lifoq_project import local_packages  # noqa: PLC0415 - of two commands alone

            local_packages.enter(install=not ctx.resilient_parsing)
        asks_for_help = any(word in HELP for word in args)
        if mount is not None and mount.begins and not (ctx.resilient_parsing or asks_for_help):
            tell(mount.begins)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name without importing what is not called: it takes seconds, or is
        not installed."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        own = [CompletionItem(name, help=self._short_help(name)) for name in names]
        return [*own, *click.Command.shell_complete(self, ctx, incomplete)]

    def _short_help(self, name: str) -> str:
        if name in mounted.MOUNTED:
            return mounted.MOUNTED[name].help
        return self.commands[name].get_short_help_str(limit=80)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(str(one.name), self._short_help(str(one.name))) for one in commands]
                )
        with formatter.section(ELSEWHERE):
            formatter.write_dl([(name, one.help) for name, one in mounted.MOUNTED.items()])


@click.group(
    cls=Root,
    name=PROGRAM,
    params=options.everywhere(hidden=False),
    epilog=EPILOG,
    context_settings={"max_content_width": 100, "help_option_names": HELP},
)
@click.version_option(lifoq.__version__)
def root() -> None:
    """See and steer a lifoq queue."""


def _prepare(command: click.Command) -> None:
    """Let a command, and the verbs of a group, take the options that every command takes."""
    command.params += options.everywhere(hidden=True)
    command.epilog = EVERYWHERE
    usage.speak_of_options(command)
    for verb in command.commands.values() if isinstance(command, click.Group) else ():
        _prepare(verb)


for _commands in SECTIONS.values():
    for _command in _commands:
        _prepare(_command)
        root.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    status = _run(argv)
    if sys.stdout is None:
        return status
    try:
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # its reader has gone, such as `head`
            return statuses.UNREAD
        if status != statuses.REFUSED:
            tell(f"the answer could not be written: {error.strerror}")
        return statuses.REFUSED
    return status


def _run(argv: Sequence[str] | None) -> int:
    output = sys.stdout
    try:
        # The session is made by the first option that is read.
        ended = root.main(argv, prog_name=PROGRAM, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return statuses.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LifoqError as error:
        tell(error)
        return statuses.REFUSED
    except SystemExit as quitting:
        # So end click, which puts another stream there, and rich, where nobody reads the answer.
        unread = sys.stdout is not output or isinstance(quitting.__context__, BrokenPipeError)
        return statuses.UNREAD if unread else _number(quitting.code)
    except Exception as error:
        sentence = aws_words.sentence(error) or _unwritten(error)
        if sentence is None:
            raise
        tell(sentence)
        return statuses.REFUSED
    return ended if isinstance(ended, int) else statuses.DONE


def _number(code: object) -> int:
    """The exit status of a command that lies in another package."""
    return code if isinstance(code, int) else statuses.DONE if code is None else statuses.REFUSED


def _unwritten(error: Exception) -> str | None:
    """Return the sentence of an answer that could not be written, since the disk is full; None for
    another error."""
    if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    return f"{error.filename or 'the answer'} could not be written: {error.strerror}"
