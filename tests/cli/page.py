"""``python -m tests.cli.page`` writes the second half of docs/command-line.md, from the command's
own help."""

import re
from pathlib import Path

import click

from lifoq_cli import app

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
MARK = "## Commands\n"
"""Before it the page is written by hand."""
WIDTH = 100
OF_EVERY_COMMAND = re.compile(
    rf"\n\n  {re.escape(app.EVERYWHERE)}|\n  -h, --help +Show this message and exit\.$",
    re.MULTILINE,
)
"""The page says it once."""


def written(width: int = WIDTH) -> str:
    root = click.Context(app.root, info_name=app.PROGRAM, **app.root.context_settings)
    parts = [PAGE.read_text(encoding="utf-8").partition(MARK)[0], MARK, _block(_help(root, width))]
    for name in app.root.list_commands(root):
        command = app.root.get_command(root, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=root, max_content_width=width)
        parts += _section(context, width)
        for verb in command.commands.values() if isinstance(command, click.Group) else ():
            inner = click.Context(
                verb, info_name=verb.name, parent=context, max_content_width=width
            )
            parts += _section(inner, width)
    return "".join(parts)


def _section(context: click.Context, width: int) -> list[str]:
    text = OF_EVERY_COMMAND.sub("", _help(context, width)).removesuffix("\n\nOptions:")
    text = text.replace("\n\nOptions:\n\nCommands:", "\n\nCommands:")
    return [f"\n### {context.command_path}\n", _block(text)]


def _help(context: click.Context, width: int) -> str:
    context.terminal_width = width
    return click.unstyle(context.command.get_help(context)).rstrip()


def _block(text: str) -> str:
    return "\n```\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n```\n"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
