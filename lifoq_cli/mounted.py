"""Commands that lie in other packages, and need extras: they are imported when they are called."""

import pkgutil
from dataclasses import dataclass
from typing import Final

import click

from lifoq.errors import LifoqError


class NotInstalled(LifoqError):
    """An extra is missing."""


@dataclass(frozen=True)
class Mounted:
    command: str
    """The command's entry point: ``module:name``."""
    extra: str
    help: str
    begins: str | None = None
    """A word for whoever waits, since what is imported takes seconds."""
    in_local_cloud: bool = False
    """True if it works with the local cloud's own packages."""


MOUNTED: Final = {
    "init": Mounted(
        "lifoq_project.commands:init",
        "cdk",
        "Make a small project of your own, with a queue in it.",
    ),
    "dev": Mounted(
        "lifoq_localcloud.commands:dev_command",
        "local",
        "Run this folder's CDK application on this machine, and follow its files.",
        begins="Starting the local cloud …",
        in_local_cloud=True,
    ),
    "cdk": Mounted(
        "lifoq_project.commands:cdk", "cdk", "Run the CDK CLI, in the version that fits."
    ),
    "clean": Mounted(
        "lifoq_cli.clean:clean", "cli", "Delete what lifoq keeps in its cache, to be faster."
    ),
    "console": Mounted(
        "lifoq_console.command:console",
        "console",
        "See a queue, and steer it, in a browser on this machine.",
        begins="Starting the console …",
    ),
    "report": Mounted(
        "lifoq_analytics.report:report",
        "analytics",
        "Tell from table exports what the queue did.",
    ),
    "local": Mounted(
        "lifoq_localcloud.commands:serve_command",
        "local",
        "Run the local cloud until Ctrl-C or SIGTERM.",
        begins="Starting the local cloud …",
        in_local_cloud=True,
    ),
}


def load(mounted: Mounted) -> click.Command:
    """Load a command that lies in another package. Raises NotInstalled, which tells the missing
    extra."""
    try:
        command: click.Command = pkgutil.resolve_name(mounted.command)
    except ModuleNotFoundError as error:
        raise NotInstalled(
            f"this command needs {error.name}: pip install 'lifoq[{mounted.extra}]'"
        ) from error
    return command
