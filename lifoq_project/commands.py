"""The commands for a project of one's own, which ``lifoq_cli`` mounts: ``lifoq init``, ``lifoq
cdk``."""

import subprocess
from pathlib import Path

import click

from lifoq_project import cdk_cli, new


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Make a small project of your own: a CDK application with a queue, task code, its test.

    FOLDER is new or empty; its name becomes the queue's.
    """
    for file in new.create(folder):
        click.echo(f"  {file.relative_to(folder.absolute())}")
    click.echo(f"Made {folder}. Now: cd {folder} && lifoq dev (README.md there says what follows)")


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cdk(arguments: tuple[str, ...]) -> int:
    """Run the CDK CLI with ARGUMENTS, in the version that fits: lifoq cdk deploy.

    Its exit status is the CDK CLI's.
    """
    command, environment = cdk_cli.command(*arguments), cdk_cli.environment()
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - no shell
