"""``lifoq console``."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import click

from lifoq.client import local_cloud
from lifoq.environment import Variable
from lifoq.errors import LifoqError, QueueMisconfigured
from lifoq.operating import deployment
from lifoq.operating.aws_calls import Account
from lifoq.operating.task_log import TaskLogs
from lifoq_cli.session import Session
from lifoq_console.scraping import metrics_token
from lifoq_console.serve import serve
from lifoq_console.several import Queues
from lifoq_console.subject import Subject


@click.command()
@click.argument("name", required=False)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8484,
    show_default=True,
    help="Where it listens; 0 takes a free port.",
)
@click.option(
    "--metrics-token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Serve /metrics for Prometheus, which brings the token in this file; made if missing.",
)
@click.option("--write", is_flag=True, help="Let it put, cancel, redrive, pause, resume.")
@click.pass_obj
def console(
    session: Session, name: str | None, port: int, *, metrics_token_file: Path | None, write: bool
) -> None:
    """See a queue in a browser on this machine, with your own credentials, until Ctrl-C.

    Without a name, and where LIFOQ_QUEUE names none, it shows all queues of the account and region.
    It shows; with --write it steers as well.
    """
    if name is not None:
        session.given["queue"] = (name,)
    shown = queues_of(session) or subject_of(session)
    if isinstance(shown, Queues) and metrics_token_file is not None:
        raise click.UsageError("--metrics-token-file serves one queue's metrics: name the queue")
    if write and session.no_processing is not None:
        session.tell(f"No pause and resume: {session.no_processing}")
    serve(
        shown,
        port=port,
        write=write,
        metrics_token=None if metrics_token_file is None else metrics_token(metrics_token_file),
        tell=lambda address: session.tell(f"Open {address}"),
    )


def queues_of(session: Session) -> Queues | None:
    """Return the queues of the account and region; None if one was named, or there are no two that
    this caller may list."""
    if session.given.get("queue") or session.given.get("table") or os.environ.get(Variable.QUEUE):
        return None

    def names() -> list[str]:
        return deployment.names(Account(**session.client_arguments))

    try:
        if len(names()) < 2:  # noqa: PLR2004 - several
            return None
    except LifoqError:
        return None
    return Queues(names, lambda name: _again({**session.given, "queue": (name,)}))


def subject_of(session: Session) -> Subject:
    """Connect with the queue of the session, or with its cells as one. LifoqError."""
    queue = session.queue
    cloudwatch = Account(**session.client_arguments).client("cloudwatch")
    return Subject(
        name=session.title,
        queue=queue,
        cloudwatch=cloudwatch if len(session.names) == 1 else None,
        processing=session.processing,
        logs=_logs(session),
        connect=partial(_again, dict(session.given)),
    )


def _again(given: dict[str, Any]) -> Subject:
    """Connect as a command does that is started now. LifoqError."""
    local_cloud.enter_again()
    boto3.setup_default_session()  # the one before keeps the credentials that it has read
    session = Session()
    session.given = given
    return subject_of(session)


def _logs(session: Session) -> TaskLogs | None:
    """Return the logs of the queue; None where it is not known which they are."""
    if len(session.names) != 1:
        return None
    try:
        return TaskLogs.connect(session.names[0], **session.client_arguments)
    except QueueMisconfigured:
        return None
