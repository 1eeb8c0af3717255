"""``python -m localcloud serve``: keep a local cloud running."""

import logging
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import click

from . import credentials
from .asynchronous import FIRST_RETRY_SECONDS
from .listener import PortTakenError, listen

DEFAULT_PORT = 4577


@click.group()
def main() -> None:
    """AWS on this machine, as far as the queue needs it."""


@main.command("serve")
@click.option("--port", default=DEFAULT_PORT, show_default=True, help="0 takes a free one.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
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
    until_stdin_closes: bool,
) -> None:
    """Run the local cloud until Ctrl-C or SIGTERM."""
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
    folder = directory or Path(tempfile.mkdtemp(prefix="localcloud-"))
    settings = serve.Settings(
        listener=listener,
        directory=folder.resolve(),
        ttl_delay_seconds=ttl_delay,
        first_retry_seconds=first_retry,
    )

    def started(endpoint: str) -> None:
        click.echo(f"Local cloud at {endpoint}, logs in {settings.directory / 'logs'}")
        for name, value in credentials.environment(endpoint).items():
            click.echo(f"export {name}={value}")
        sys.stdout.flush()

    serve.run(settings, started=started, until=ended)
    # Requests may still hang in threads of theirs; nothing of them is worth waiting for.
    os._exit(0)


def _wait_for_end_of_input(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


if __name__ == "__main__":
    main()
