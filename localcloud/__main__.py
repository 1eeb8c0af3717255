"""``python -m localcloud serve``: keep a local cloud running."""

import logging
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

import click

from . import credentials
from .asynchronous import FIRST_RETRY_SECONDS
from .cloud import DeploymentError, LocalCloud
from .listener import PortTakenError, listen

DEFAULT_PORT = 4577
ENVIRONMENT: Final = "environment"
"""A file in the cloud's directory: a shell that reads it works with this cloud."""
OF_AN_APPLICATION: Final = Path(".local")
"""The cloud's directory, in the application's folder."""


@click.group()
def main() -> None:
    """AWS on this machine, as far as the queue needs it."""


@main.command("serve")
@click.option("--port", default=DEFAULT_PORT, show_default=True, help="0 takes a free one.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where logs, unpacked assets, calls.jsonl and environment go; by default a new temporary "
    f"one, with --deploy {OF_AN_APPLICATION}.",
)
@click.option(
    "--deploy",
    is_flag=True,
    help="Deploy the CDK application of this folder to it, by the CDK CLI.",
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
@click.option(
    "--until-stdin-closes",
    is_flag=True,
    help="End when standard input ends: for a program that starts this one.",
)
def serve_command(
    port: int,
    directory: Path | None,
    ttl_delay: float,
    first_retry: float,
    *,
    deploy: bool,
    until_stdin_closes: bool,
) -> None:
    """Run the local cloud until Ctrl-C or SIGTERM."""
    if deploy and not Path("cdk.json").is_file():
        raise click.ClickException(
            f"{Path.cwd()} has no cdk.json: go to a CDK application's folder, or make one by "
            "'lifoq init FOLDER'."
        )
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
    folder = directory or _directory(deploy=deploy)
    settings = serve.Settings(
        listener=listener,
        directory=folder.resolve(),
        ttl_delay_seconds=ttl_delay,
        first_retry_seconds=first_retry,
    )

    def started(endpoint: str) -> None:
        click.echo(f"Local cloud at {endpoint}, logs in {settings.directory / 'logs'}")
        for line in _write_environment(endpoint, settings.directory):
            click.echo(line)
        sys.stdout.flush()
        if deploy:
            LocalCloud.at(endpoint, settings.directory).deploy_application(Path.cwd())
            click.echo(f"Deployed. In another terminal: . {folder / ENVIRONMENT}")
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


def _directory(*, deploy: bool) -> Path:
    return OF_AN_APPLICATION if deploy else Path(tempfile.mkdtemp(prefix="localcloud-"))


def _write_environment(endpoint: str, directory: Path) -> list[str]:
    lines = [f"export {k}={v}" for k, v in credentials.environment(endpoint).items()]
    (directory / ENVIRONMENT).write_text("".join(f"{line}\n" for line in lines))
    return lines


def _wait_for_end_of_input(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


if __name__ == "__main__":
    main()
