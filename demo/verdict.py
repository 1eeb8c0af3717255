"""Whether the report tells what happened: held against the ledger, and beside theory."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from analytics.page.verdict import sentence
from demo.ledger import Counts, Stretch
from demo.view import account


@dataclass(frozen=True, kw_only=True)
class Report:
    """The report's summary, as far as the demo looks at it."""

    counts: Counts
    created: int
    summary: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Report":
        summary = json.loads(path.read_text())
        tasks = dict(summary["tasks"])
        return cls(created=tasks.pop("created"), counts=Counts(**tasks), summary=summary)


def contradictions(report: Report, ledger: Counts) -> Iterator[str]:
    """What does not add up, a sentence each; nothing if all is well."""
    if report.created != report.counts.created:
        yield (
            f"The report's counts do not add up: {report.created} were created, "
            f"but {account(report.counts)}."
        )
    seen = asdict(ledger)
    for name, told in asdict(report.counts).items():
        if told != seen[name]:
            yield f"The report says {told} {name}, the table showed {seen[name]}."
    if not report.created:
        yield "No task was created."
    if ledger.waiting or ledger.taken:
        yield f"{ledger.waiting} waiting and {ledger.taken} taken tasks were left at the end."


def print_summary(console: Console, report: Report) -> None:
    """What happened in a sentence, as the report's page begins, and in numbers."""
    summary = report.summary
    console.print(sentence(summary), style="bold", highlight=False, soft_wrap=True)
    table = Table(title="Report", title_justify="left", show_header=True, header_style="dim")
    table.add_column("seconds")
    for name in ("p50", "p95", "p99", "max"):
        table.add_column(name, justify="right")
    for title, key in (
        ("wait: put to first claim", "wait_seconds"),
        ("service: claim to finish", "service_seconds"),
        ("sojourn: put to finish", "sojourn_seconds"),
    ):
        values = summary[key]
        table.add_row(title, *(_seconds(values[name]) for name in ("p50", "p95", "p99", "max")))
    console.print(table)
    backlog = summary["backlog"]
    console.print(
        f"{account(report.counts)}\n"
        f"shedding rate of the whole run {summary['shedding_rate']:.3f}; "
        f"backlog at most {backlog['max']}, at the end {backlog['end']}",
        highlight=False,
        soft_wrap=True,
    )


def print_overload(
    console: Console, stretch: Stretch, *, oldest_waiting: float, refused: int
) -> None:
    """The overload phase, once the backlog is as old as the deadline, beside theory."""
    load = stretch.load
    console.print(
        f"\nOverload, {stretch.seconds:.0f} s of it from one deadline after its start:\n"
        f"  in {stretch.arrivals / stretch.seconds:.1f}/s,"
        f" done {stretch.succeeded / stretch.seconds:.1f}/s: ρ = {load:.2f}"
        f" (the slow downstream refused {refused} requests in all)\n"
        f"  shedding rate {stretch.shedding_rate:.3f}; in theory 1 − 1/ρ ="
        f" {max(0.0, 1 - 1 / load):.3f}\n"
        f"  served tasks waited {quantile(stretch.waits, 0.5):.2f} s (p50),"
        f" {quantile(stretch.waits, 0.95):.2f} s (p95);"
        f" the oldest waiting task {oldest_waiting:.1f} s",
        highlight=False,
        soft_wrap=True,
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of sorted values that at least ``share`` of them do not exceed; NaN if there is
    none."""
    if not values:
        return float("nan")
    return values[math.ceil(share * len(values)) - 1]


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
