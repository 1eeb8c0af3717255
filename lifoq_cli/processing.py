"""Commands that stop processing, and let it go on."""

import click

from lifoq.operating.processing import Processing
from lifoq_cli.session import Session


@click.command()
@click.pass_obj
def pause(session: Session) -> None:
    """Let no processor start; tasks keep arriving, and are shed at their deadline.

    A processor that runs goes on to the end of its window. A deployment by `make deploy` keeps the
    pause; one by the CDK CLI or a pipeline may end it.
    """
    longest = {}
    for name in _names(session):
        processing = Processing.connect(name, **session.client_arguments)
        processing.pause("lifoq pause")
        longest[name] = processing.longest_run_seconds

    session.answer(
        {"paused": list(longest), "ends_within_seconds": max(longest.values())},
        lambda console: console.print(
            *(
                f"{name} is paused: no processor starts. One that runs ends within {seconds} s.\n"
                "Tasks are still taken in, and shed at their deadline. Go on with: "
                f"lifoq resume --queue {name}"
                for name, seconds in longest.items()
            ),
            sep="\n",
        ),
    )


@click.command()
@click.pass_obj
def resume(session: Session) -> None:
    """Let processors run again, as many as were deployed."""
    names = _names(session)
    for name in names:
        Processing.connect(name, **session.client_arguments).resume()
    session.answer(
        {"resumed": list(names)},
        lambda console: console.print(f"{', '.join(names)}: tasks are processed again"),
    )


def _names(session: Session) -> tuple[str, ...]:
    if not session.names or session.tables:
        raise click.UsageError("a table alone has no processor: name its queue, --queue NAME")
    return session.names
