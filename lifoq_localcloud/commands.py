"""Commands that run a local cloud: ``serve``, and ``dev``, with an application to be worked on."""

import gc
import importlib.util
import logging
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from lifoq.operating import deployment
from lifoq.operating.aws_calls import Account
from lifoq_localcloud.basics import threads
from lifoq_localcloud.basics.credentials import FILE
from lifoq_localcloud.basics.folder import FolderError, hold
from lifoq_localcloud.cloud import CDK_LOG, DeploymentError, DeploymentInterrupted, LocalCloud
from lifoq_localcloud.functions.asynchronous import FIRST_RETRY_SECONDS
from lifoq_localcloud.http_server.listener import PortError, listen

if TYPE_CHECKING:
    from lifoq_console.subject import Subject
    from lifoq_localcloud.dev.debugged import Debugged
    from lifoq_localcloud.dev.reload import Reloader

DEFAULT_PORT = 4577
LOOK_SECONDS: Final = 0.3
END_SECONDS: Final = 1.5
"""Seconds that an orderly end may take. Then the process ends, whatever is still at work."""
DEV_TTL_DELAY: Final = 300.0
"""Seconds in which a task that was shed can still be looked at, and is in an export."""
CONSOLE: Final = "console"
"""The file in the cloud's directory that keeps the console's port and token: a page that is open
goes on after a restart."""
ABOUT_WAITING: Final = (
    "When a queue is idle, a delayed task waits for the next sweep, up to a minute, and so does a "
    "retry that is due in more than 5 seconds. To start one now: lifoq run-now ID"
)

_FOLDER: Any = click.Path(file_okay=False, path_type=Path)
_port = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="0 takes a free one.",
)
_until_stdin_closes = click.option(
    "--until-stdin-closes",
    is_flag=True,
    help="End when standard input ends: for a program that starts this one.",
)


def _ttl_delay(default: float) -> Callable[[Any], Any]:
    return click.option(
        "--ttl-delay",
        default=default,
        show_default=True,
        help="Seconds by which TTL deletes late, as it does on AWS.",
    )


class Life:
    """The state of a local cloud's command: how far its start has come, and whether its end was
    asked for."""

    def __init__(self) -> None:
        self.end: queue.SimpleQueue[int] = queue.SimpleQueue()
        """Signals that ask for the end."""
        self.up = threading.Event()
        """Set once all is done that was to be done at its start."""
        self.ended = threading.Event()
        self.status = 0
        """The exit status, known once ``ended`` is set: that of a signal, if it came too early."""


@click.group()
def main() -> None:
    """AWS on this machine, as far as the queue needs it."""


@main.command("serve")
@_port
@click.option(
    "--directory",
    type=_FOLDER,
    help="Where logs, unpacked assets, calls.jsonl and environment go; a new temporary one by "
    "default.",
)
@_ttl_delay(0.0)
@click.option(
    "--first-retry",
    default=FIRST_RETRY_SECONDS,
    show_default=True,
    help="Seconds before an asynchronous event that failed is tried again; then twice that.",
)
@click.option(
    "--stream-pause",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Seconds between two reads of a stream, 0.25 on AWS; with 0 an idle one is read as "
    "soon as something is written.",
)
@_until_stdin_closes
def serve_command(
    port: int,
    directory: Path | None,
    ttl_delay: float,
    first_retry: float,
    stream_pause: float,
    *,
    until_stdin_closes: bool,
) -> None:
    """Run the local cloud until Ctrl-C or SIGTERM."""
    _run(
        port=port,
        directory=directory or Path(tempfile.mkdtemp(prefix="localcloud-")),
        ttl_delay_seconds=ttl_delay,
        first_retry_seconds=first_retry,
        stream_pause_seconds=stream_pause,
        until_stdin_closes=until_stdin_closes,
        then=_say_where,
    )


@main.command("dev")
@_port
@click.option(
    "--directory",
    type=_FOLDER,
    default=".local",
    show_default=True,
    help="Where logs, unpacked assets, calls.jsonl and environment go.",
)
@_ttl_delay(DEV_TTL_DELAY)
@click.option(
    "--debug",
    is_flag=True,
    help="Run task code in this process, one task at a time and without timeouts: breakpoint() and "
    "debuggers work.",
)
@_until_stdin_closes
def dev_command(
    port: int, directory: Path, ttl_delay: float, *, debug: bool, until_stdin_closes: bool
) -> None:
    """Run the CDK application of this folder on this machine, until Ctrl-C.

    Task code is live a moment after it was saved; another file of the application has it deployed
    anew. The logs of the functions come in one stream; the console shows the queue.
    """
    folder = Path.cwd()
    if not (folder / "cdk.json").is_file():
        raise click.ClickException(
            f"{folder} has no cdk.json: go to a CDK application's folder, or make one by "
            "'lifoq init FOLDER'."
        )

    def work(cloud: LocalCloud, life: Life) -> None:
        from lifoq_localcloud.dev.reload import Reloader  # noqa: PLC0415 - of `dev` alone
        from lifoq_localcloud.dev.steps import PREPARATION, Steps  # noqa: PLC0415

        ended = life.ended
        threads.start("what ends a deployment", partial(_interrupt_with, ended, cloud))
        reloader, deployed = Reloader(cloud, folder, _say), threading.Event()
        follow = partial(reloader.watch, ended, deployed)
        threads.start("what follows the files", follow, ended)
        _say(f"Deploying, which the first time takes a minute; the CDK writes to {CDK_LOG} there")
        with Steps(_say) as steps:
            steps.begin(PREPARATION)
            cloud.deploy_application(folder, steps.hear)
        life.up.set()
        _say("Deployed.")
        worker = _debugged(cloud, folder) if debug else None
        if worker is not None:
            reloader.live = worker.reload
        _show_log(cloud, reloader, ended)
        deployed.set()
        _say(_what_is_next(reloader.example(), directory))
        _show_consoles(cloud)
        if worker is not None:
            threads.start("what ends the worker", partial(_end_with, ended, worker))
            worker.run()

    _run(
        port=port,
        directory=directory,
        ttl_delay_seconds=ttl_delay,
        until_stdin_closes=until_stdin_closes,
        then=work,
    )


def _run(
    *,
    port: int,
    directory: Path,
    until_stdin_closes: bool,
    ttl_delay_seconds: float,
    first_retry_seconds: float = FIRST_RETRY_SECONDS,
    stream_pause_seconds: float = 0.0,
    then: Callable[[LocalCloud, Life], None],
) -> None:
    """``then`` is called once the cloud answers, with it and with what tells of its life."""
    directory = directory.resolve()
    try:
        listeners = listen(port)
        hold(directory)
    except (PortError, FolderError) as error:
        raise click.ClickException(str(error)) from error
    gc.disable()  # what is imported stays; to look for garbage in it takes a second
    try:
        from lifoq_localcloud import serve  # noqa: PLC0415 - takes seconds, and what is taken was to be told first
    finally:
        gc.freeze()
        gc.enable()

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("moto").setLevel(logging.ERROR)
    life = Life()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A signal may interrupt the handling of another: an event's own lock would not bear that.
        signal.signal(number, lambda number, _: life.end.put(number))
    if until_stdin_closes:
        threads.start("standard input", partial(_wait_for_end_of_input, life))
    threads.start("the end", partial(_pass_on, life))
    settings = serve.Settings(
        listeners=listeners,
        directory=directory,
        ttl_delay_seconds=ttl_delay_seconds,
        first_retry_seconds=first_retry_seconds,
        stream_pause_seconds=stream_pause_seconds,
    )

    def started(cloud: LocalCloud) -> None:
        _say(f"Local cloud at {cloud.endpoint}, logs in {cloud.logs}")
        then(cloud, life)
        sys.stdout.flush()

    status = None
    try:
        serve.run(settings, started=started, until=life.ended)
    except DeploymentInterrupted:
        pass  # it is what was asked for
    except DeploymentError as error:
        click.echo(error, err=True)
        status = 1
    _exit(life.status if status is None else status)


def _exit(status: int) -> NoReturn:
    """Requests may still hang in threads of theirs; nothing of them is worth waiting for."""
    sys.stderr.flush()
    os._exit(status)


def _say_where(cloud: LocalCloud, life: Life) -> None:
    life.up.set()
    click.echo(f"In another terminal: . {cloud.directory / FILE}")


def _debugged(cloud: LocalCloud, folder: Path) -> "Debugged":
    """The worker that takes the place of the processor."""
    from lifoq_localcloud.dev.debugged import Debugged  # noqa: PLC0415 - of `dev` alone

    names = _queues(cloud)
    if len(names) != 1:
        said = ", ".join(names) or "none"
        raise DeploymentError(f"--debug works on one queue, and this application has: {said}")
    worker = Debugged.of(cloud, names[0], folder)
    _say("Task code runs in this process; the deployed processor is paused, as lifoq stats says")
    return worker


def _end_with(ended: threading.Event, worker: "Debugged") -> None:
    ended.wait()
    worker.end()


def _what_is_next(example: str | None, directory: Path) -> str:
    """``example``: a command that puts a task; None where the application has no task type."""
    put = "" if example is None else f"In another terminal, in this folder:\n\n    {example}\n\n"
    own = f"Code of your own finds this cloud after: . {directory / FILE}"
    return f"{put}{own}\n{ABOUT_WAITING}"


def _show_log(cloud: LocalCloud, reloader: "Reloader", ended: threading.Event) -> None:
    """Tell what cannot be imported, how attempts end, and what the functions log."""
    from lifoq_localcloud.dev.attempt_log import AttemptLog  # noqa: PLC0415 - of `dev` alone
    from lifoq_localcloud.dev.joined_logs import JoinedLogs  # noqa: PLC0415
    from lifoq_localcloud.moto_adapter import tables  # noqa: PLC0415

    sources = (JoinedLogs(cloud.logs), AttemptLog(tables.journals, reloader.attempts))
    reloader.check()

    def follow() -> None:
        while not ended.wait(LOOK_SECONDS):
            for source in sources:
                for line in source.news():
                    _say(line)

    threads.start("what shows the log", follow, ended)


def _say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()


def _show_consoles(cloud: LocalCloud) -> None:
    """Show the console of the queues that were deployed, where it is installed."""
    if importlib.util.find_spec("starlette") is None:
        click.echo("No console: pip install 'lifoq[console]'")
        return
    from lifoq_console.serve import serve  # noqa: PLC0415 - an extra of its own
    from lifoq_console.several import Queues  # noqa: PLC0415

    names = _queues(cloud)
    if not names:
        return
    shown: Any = Queues(partial(_queues, cloud), partial(_subject, cloud))
    if len(names) == 1:
        shown = _subject(cloud, names[0])
    show = partial(
        serve,
        shown,
        port=0,
        write=True,
        kept=cloud.directory / CONSOLE,
        tell=partial(_tell_console, ", ".join(names)),
    )
    threads.start("the console", show)


def _subject(cloud: LocalCloud, name: str) -> "Subject":
    """Connect with a queue that was deployed. LifoqError."""
    from lifoq import Queue  # noqa: PLC0415
    from lifoq.operating.task_log import TaskLogs  # noqa: PLC0415
    from lifoq_console.subject import Subject  # noqa: PLC0415 - an extra of its own

    return Subject(
        name=name,
        queue=Queue.connect(name, **cloud.arguments()),
        cloudwatch=cloud.client("cloudwatch"),
        logs=TaskLogs.connect(name, **cloud.arguments()),
        connect=partial(_subject, cloud, name),
    )


def _queues(cloud: LocalCloud) -> list[str]:
    """List the names of the queues that were deployed."""
    return deployment.names(Account(**cloud.arguments()))


def _tell_console(names: str, address: str) -> None:
    _say(f"Console of {names}: {address}")


def _wait_for_end_of_input(life: Life) -> None:
    sys.stdin.buffer.read()
    life.end.put(signal.SIGINT)


def _pass_on(life: Life) -> None:
    """Tell the end to whoever waits for it, and make it, where they take too long."""
    number = life.end.get()
    life.status = 0 if life.up.is_set() else 128 + number
    life.ended.set()
    time.sleep(END_SECONDS)
    _exit(life.status)


def _interrupt_with(ended: threading.Event, cloud: LocalCloud) -> None:
    ended.wait()
    cloud.interrupt()
