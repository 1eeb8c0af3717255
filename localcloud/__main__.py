"""``python -m localcloud serve``: keep a local cloud running; ``local``: with an application."""

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from . import credentials
from .asynchronous import FIRST_RETRY_SECONDS
from .cloud import DeploymentError, LocalCloud
from .listener import PortTakenError, listen

DEFAULT_PORT = 4577
ENVIRONMENT: Final = "environment"
"""A file in the cloud's directory: a shell that reads it works with this cloud."""
FOLDER: Any = click.Path(file_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """AWS on this machine, as far as the queue needs it."""


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """Options of both commands."""
    port = click.option(
        "--port", default=DEFAULT_PORT, show_default=True, help="0 takes a free one."
    )
    until_stdin_closes = click.option(
        "--until-stdin-closes",
        is_flag=True,
        help="End when standard input ends: for a program that starts this one.",
    )
    return port(until_stdin_closes(command))


@main.command("serve")
@_shared
@click.option(
    "--directory",
    type=FOLDER,
    help="Where logs, unpacked assets and calls.jsonl go; a new temporary one by default.",
)
@click.option(
    "--ttl-delay",
    default=0.0,
    show_default=True,
    help="Seconds by which TTL deletes late, as it does on AWS.",
)
@click.option(
    "--first-retry",
    default=FIRST_RETRY_SECONDS,
    show_default=True,
    help="Seconds before an asynchronous event that failed is tried again; then twice that.",
)
def serve_command(
    port: int,
    directory: Path | None,
    ttl_delay: float,
    first_retry: float,
    *,
    until_stdin_closes: bool,
) -> None:
    """Run the local cloud until Ctrl-C or SIGTERM."""
    _run(
        port=port,
        directory=directory or Path(tempfile.mkdtemp(prefix="localcloud-")),
        ttl_delay_seconds=ttl_delay,
        first_retry_seconds=first_retry,
        until_stdin_closes=until_stdin_closes,
    )


@main.command("local")
@_shared
@click.option(
    "--directory",
    type=FOLDER,
    default=".local",
    show_default=True,
    help="Where logs, unpacked assets, calls.jsonl and environment go.",
)
def local(port: int, directory: Path, *, until_stdin_closes: bool) -> None:
    """Run the CDK application of this folder on a local cloud, until Ctrl-C."""
    if not Path("cdk.json").is_file():
        raise click.ClickException(
            f"{Path.cwd()} has no cdk.json: go to a CDK application's folder, or make one by "
            "'lifoq init FOLDER'."
        )

    def deploy(cloud: LocalCloud) -> None:
        cloud.deploy_application(Path.cwd())
        click.echo(f"Deployed. In another terminal: . {directory / ENVIRONMENT}")

    _run(port=port, directory=directory, until_stdin_closes=until_stdin_closes, then=deploy)


def _run(
    *,
    port: int,
    directory: Path,
    until_stdin_closes: bool,
    ttl_delay_seconds: float = 0.0,
    first_retry_seconds: float = FIRST_RETRY_SECONDS,
    then: Callable[[LocalCloud], None] = lambda _: None,
) -> None:
    """``then`` is called with the cloud, once it answers."""
    try:
        listener = listen(port)
    except PortTakenError as error:
        raise click.ClickException(str(error)) from error
    from . import serve  # noqa: PLC0415 - takes seconds, and the port was to be first

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("moto").setLevel(logging.ERROR)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if until_stdin_closes:
        threading.Thread(target=_wait_for_end_of_input, args=(ended,), daemon=True).start()
    settings = serve.Settings(
        listener=listener,
        directory=directory.resolve(),
        ttl_delay_seconds=ttl_delay_seconds,
        first_retry_seconds=first_retry_seconds,
    )

    def started(endpoint: str) -> None:
        click.echo(f"Local cloud at {endpoint}, logs in {settings.directory / 'logs'}")
        exports = [f"export {k}={v}" for k, v in credentials.environment(endpoint).items()]
        (settings.directory / ENVIRONMENT).write_text("".join(f"{line}\n" for line in exports))
        click.echo("\n".join(exports))
        sys.stdout.flush()
        then(LocalCloud.at(endpoint, settings.directory))
        sys.stdout.flush()

    status = 0
    try:
        serve.run(settings, started=started, until=ended)
    except DeploymentError as error:
        click.echo(error, err=True)
        status = 1
    # Requests may still hang in threads of theirs; nothing of them is worth waiting for.
    sys.stderr.flush()
    os._exit(status)


def _wait_for_end_of_input(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


if __name__ == "__main__":
    main()
