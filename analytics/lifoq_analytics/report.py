"""``python -m lifoq_analytics.report``: one report from one or more table exports."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from lifoq.client import local_cloud
from lifoq_analytics import analysis, session, times
from lifoq_analytics.errors import OptionError, ReportError
from lifoq_analytics.page.about import read as read_about
from lifoq_analytics.page.verdict import sentence
from lifoq_analytics.storage import is_remote

_CANNOT_REPORT = 1
"""The exit status for what the user can put right; click's own for a bad command line is 2."""


class _Moment(click.ParamType[int]):
    """An ISO time as epoch microseconds."""

    name = "ISO-TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return times.from_iso(str(value))
        except ValueError:
            self.fail(f"{value!r} is not an ISO time such as 2026-11-20T09:30:00Z.", param, ctx)


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--out", required=True, metavar="DIR", help="Folder or s3:// URL for the report.")
@click.option(
    "--width",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Width of a time bucket.",
)
@click.option(
    "--as-of", type=_Moment(), help="The report's moment; the newest export's unless given."
)
@click.option(
    "--state",
    metavar="DIR",
    help="Folder or s3:// URL that keeps what earlier runs have learnt: a run then needs only the "
    "exports since, and tells of everything.",
)
@click.option(
    "--slots",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="How many tasks the workers serve at a time, for the utilisation.",
)
@click.option(
    "--about",
    metavar="JSON",
    help="The queue's name, stage, phases, events and alarms, which exports cannot tell: a JSON "
    "object, or a local file with one.",
)
@click.option(
    "--cells",
    is_flag=True,
    help="The exports are of several tables, the cells of one queue: report on all of them as one.",
)
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Go on without files that are missing or damaged, and say so in the report.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What is printed: a table for people or summary.json for machines.",
)
def report(
    *,
    paths: tuple[str, ...],
    out: str,
    width: int,
    as_of: int | None,
    state: str | None,
    slots: int | None,
    about: str | None,
    cells: bool,
    allow_missing: bool,
    output_format: str,
) -> None:
    """Tell from table exports what the queue did.

    A PATH is an export's folder (the one with manifest-summary.json) or any folder above several,
    local or s3://.
    """
    if any(map(is_remote, (*paths, out, state or ""))) and (told := local_cloud.enter()):
        click.echo(told, err=True)
    console = Console(file=sys.stderr)  # as it is now: while Spark runs, others write elsewhere
    try:
        request = analysis.Request(
            paths=[_located(path) for path in paths],
            out=_writable("--out", _located(out)),
            bucket_seconds=width,
            as_of=as_of,
            state=None if state is None else _writable("--state", _located(state)),
            slots=slots,
            allow_missing=allow_missing,
            cells=cells,
            about={} if about is None else read_about(about),
        )
        with _telling(console) as tell:
            tell("starting Spark")
            with session.running() as spark:
                answers = analysis.Analysis(spark, request, tell=tell).run()
    except ReportError as error:
        console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        sys.exit(_CANNOT_REPORT)
    if output_format == "json":
        click.echo(json.dumps(answers, indent=2))
    else:
        Console().print(sentence(answers), style="bold", highlight=False, soft_wrap=True)
        Console().print(_table(answers))
        click.echo(f"{request.out}/report.html")


@contextmanager
def _telling(console: Console) -> Iterator[Callable[[str], None]]:
    """Says each step as it begins: in place on a terminal, else in a line of its own."""
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
    else:
        yield lambda step: console.print(f"step: {step}", markup=False, highlight=False)


def _located(path: str) -> str:
    """A local path made absolute, since a worker's folder may be another; URLs as they are."""
    return path if is_remote(path) else str(Path(path.removeprefix("file://")).absolute())


def _writable(option: str, folder: str) -> str:
    """Refuse a local folder that cannot be written to before any work is done."""
    if is_remote(folder):
        return folder
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise OptionError(
            option, folder, f"cannot be written to ({os.strerror(error.errno or 0)}); name another."
        ) from error


def _table(answers: dict[str, Any]) -> Table:
    table = Table("", "", title=f"{answers['window']['from']} to {answers['window']['to']}")
    for name, value in _lines(answers):
        table.add_row(name, value)
    return table


def _lines(answers: dict[str, Any]) -> list[tuple[str, str]]:
    rate = answers["shedding_rate"]
    return [
        *((name, f"{number:,}") for name, number in answers["tasks"].items()),
        ("shedding rate", "–" if rate is None else f"{rate:.1%}"),
        ("largest backlog", f"{answers['backlog']['max']:,}"),
        ("backlog at the end", f"{answers['backlog']['end']:,}"),
        *(
            (f"{measure} {name}", "–" if value is None else f"{value:.3f} s")
            for measure in ("wait", "service", "sojourn")
            for name, value in answers[f"{measure}_seconds"].items()
        ),
        ("lines read / bad", f"{answers['input']['rows']:,} / {answers['input']['bad_rows']:,}"),
    ]


if __name__ == "__main__":
    report()
