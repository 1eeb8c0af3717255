"""Commands that lie in other packages, and need extras: they are imported when they are called."""

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any, Final

import click

from lifoq.errors import LifoqError


class NotInstalled(LifoqError):
    """An extra is missing."""


@dataclass(frozen=True, kw_only=True)
class Mounted:
    packages: tuple[str, ...]
    """Its package where lifoq is installed, and in the repository."""
    module: str
    name: str
    """The click command's name in the module."""
    extra: str
    help: str


MOUNTED: Final = {
    "init": Mounted(
        packages=("lifoq_project",),
        module="commands",
        name="init",
        extra="cdk",
        help="Make a small project of your own, with a queue in it.",
    ),
    "dev": Mounted(
        packages=("lifoq_localcloud", "localcloud"),
        module="commands",
        name="dev_command",
        extra="local",
        help="Run this folder's CDK application on this machine, and follow its files.",
    ),
    "cdk": Mounted(
        packages=("lifoq_project",),
        module="commands",
        name="cdk",
        extra="cdk",
        help="Run the CDK CLI, in the version that fits.",
    ),
    "clean": Mounted(
        packages=("lifoq_cli",),
        module="clean",
        name="clean",
        extra="cli",
        help="Delete what lifoq keeps in its cache, to be faster.",
    ),
    "console": Mounted(
        packages=("lifoq_console",),
        module="command",
        name="console",
        extra="console",
        help="See a queue, and steer it, in a browser on this machine.",
    ),
    "report": Mounted(
        packages=("lifoq_analytics", "analytics"),
        module="report",
        name="report",
        extra="analytics",
        help="Tell from table exports what the queue did.",
    ),
    "local": Mounted(
        packages=("lifoq_localcloud", "localcloud"),
        module="commands",
        name="serve_command",
        extra="local",
        help="Run the local cloud until Ctrl-C or SIGTERM.",
    ),
}


def load(mounted: Mounted) -> click.Command:
    """NotInstalled, where its extra is."""
    for package in mounted.packages:
        if importlib.util.find_spec(package):
            break
    try:
        found: Any = importlib.import_module(f"{package}.{mounted.module}")
    except ModuleNotFoundError as error:
        raise NotInstalled(
            f"this command needs {error.name}: pip install 'lifoq[{mounted.extra}]'"
        ) from error
    command: click.Command = getattr(found, mounted.name)
    return command
