"""Names of queues and of task types, for a shell that completes what somebody types."""

import contextlib
import io
from collections.abc import Callable, Iterable

import click

from lifoq.errors import LifoqError
from lifoq.operating import deployment
from lifoq.operating.aws_calls import Account
from lifoq_cli import aws_words, known
from lifoq_cli.session import Session


def queues(context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    """Return the queues of the account and region."""
    return _matching(context, incomplete, _names)


def types(context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    """Return the task types of the queue that the line names so far."""
    return _matching(context, incomplete, lambda session: known.types(session.queue))


def _matching(
    context: click.Context, incomplete: str, find: Callable[[Session], Iterable[str]]
) -> list[str]:
    """Return what fits; nothing where AWS or the queue refuses: a line that is being typed is no
    place to say why."""
    session = context.find_root().ensure_object(Session)
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return sorted(name for name in find(session) if name.startswith(incomplete))
        except (LifoqError, click.UsageError):
            return []
        except Exception as error:
            if aws_words.sentence(error) is None:
                raise
            return []


def _names(session: Session) -> list[str]:
    return deployment.names(Account(**session.client_arguments))
