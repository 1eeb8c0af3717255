"""Commands for a project of one's own, to be mounted on the command line: ``lifoq init`` …"""

import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path

import click

from lifoq.errors import LifoqError
from lifoq_cdk import cdk_cli, project


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Make a small project of your own: a CDK application with a queue, task code, its test.

    FOLDER is new or empty; its name becomes the queue's.
    """
    try:
        files = project.create(folder)
    except LifoqError as error:
        raise click.ClickException(str(error)) from error
    for file in files:
        click.echo(f"  {file.relative_to(folder.absolute())}")
    click.echo(f"Made {folder}. Next: cd {folder}; README.md says how to go on.")


def _passing_on(function: Callable[[tuple[str, ...]], None]) -> click.Command:
    """All arguments, ``--help`` among them, are for another program."""
    argument = click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True, "help_option_names": []}
    return click.command(context_settings=settings)(argument(function))


@_passing_on
def cdk(arguments: tuple[str, ...]) -> None:
    """The CDK CLI, in the version that fits: lifoq cdk deploy."""
    try:
        command, environment = cdk_cli.command(*arguments), cdk_cli.environment()
    except LifoqError as error:
        raise click.ClickException(str(error)) from error
    finished = subprocess.run(command, env=environment, check=False)  # noqa: S603 - no shell
    raise click.exceptions.Exit(finished.returncode)


@_passing_on
def local(arguments: tuple[str, ...]) -> None:
    """Run the CDK application of this folder on a local cloud, until Ctrl-C."""
    installed = importlib.util.find_spec("lifoq_localcloud")
    package = "lifoq_localcloud" if installed else "localcloud"
    try:
        # It takes its time to import, and its requirements are an extra of their own.
        importlib.import_module(f"{package}.__main__").local.main(arguments, "lifoq local")
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"The local cloud needs {error.name}: pip install 'lifoq[cdk,local]'"
        ) from error


@click.group()
def commands() -> None:
    """A project of one's own."""


for _command in (init, cdk, local):
    commands.add_command(_command)
