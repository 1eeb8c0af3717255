"""The command that examines a deployed queue."""

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from lifoq.basics.shown import harmless
from lifoq.errors import LifoqError
from lifoq.operating.aws_calls import Account
from lifoq_cli import aws_words, completion, statuses
from lifoq_cli.doctor import access, bucket, loop, table, versions, watched
from lifoq_cli.doctor.finding import Check, Finding
from lifoq_cli.doctor.patient import OutOfReach, Patient
from lifoq_cli.progress import progress
from lifoq_cli.session import Session

CHECKS: Final = (
    Check(subject="credentials", examine=access.credentials),
    Check(subject="clock", examine=access.clock),
    Check(subject="settings", examine=access.settings),
    Check(subject="deployment", examine=access.parts),
    Check(subject="table", examine=table.shape),
    Check(subject="versions", examine=versions.versions),
    Check(subject="indexes", examine=table.indexes),
    Check(subject="TTL", examine=table.time_to_live),
    Check(subject="backups", examine=table.backups),
    Check(subject="stream", examine=table.stream),
    Check(subject="large payloads", examine=bucket.large_payloads),
    Check(subject="functions", examine=loop.functions),
    Check(subject="stream mapping", examine=loop.mapping),
    Check(subject="other mappings", examine=loop.other_mappings),
    Check(subject="long workers", examine=loop.long_workers),
    Check(subject="stream lag", examine=loop.lag),
    Check(subject="recursion", examine=loop.recursion),
    Check(subject="processors", examine=loop.concurrency),
    Check(subject="subscriptions", examine=loop.subscriptions),
    Check(subject="schedules", examine=loop.schedules),
    Check(subject="schedule group", examine=loop.schedule_group),
    Check(subject="alarms", examine=watched.alarms),
    Check(subject="alarm topic", examine=watched.people),
    Check(subject="dead letters", examine=watched.dead_letters),
    Check(subject="failed tasks", examine=watched.failures),
    Check(subject="weights", examine=watched.too_heavy),
    Check(subject="task types", examine=watched.unknown_types),
    Check(subject="adaptive limits", examine=watched.adaptive_limits),
)

LONGEST_REASON: Final = 200
"""Characters; some refusals are pages of HTML."""


@dataclass(frozen=True, kw_only=True)
class Result:
    subject: str
    findings: list[Finding]
    not_checked: str | None = None
    """Why it was not."""


@click.command()
@click.argument("name", metavar="[NAME]", required=False, shell_complete=completion.queues)
@click.pass_obj
def doctor(session: Session, name: str | None) -> None:
    """Say what is wrong with a deployed queue, and what mends it.

    Each finding tells what it means, and the command that mends it. The doctor itself only looks.
    Exit status 3 where something is wrong.
    """
    if name is not None:
        session.given["queue"] = (name,)
    if not session.names:
        raise click.UsageError("a table alone is no deployment: name its queue")
    sick = False
    answers = []
    for queue in session.names:
        patient = Patient(name=queue, account=Account(**session.client_arguments))
        with progress(f"examining {harmless(queue)}", total=len(CHECKS)) as advance:
            results = _examined(patient, advance)
        sick = sick or any(result.findings for result in results)
        answers.append((patient, results))
    session.answer(
        [_json(*answer) for answer in answers],
        lambda console: _print(console, answers),
    )
    if sick:
        raise click.exceptions.Exit(statuses.BAD_NEWS)


def _examined(patient: Patient, advance: Callable[[int], None]) -> list[Result]:
    """Run the checks. Without credentials nothing but the first can be asked. ``advance`` hears how
    many checks are done."""
    found: list[Result] = []
    for check in CHECKS:
        found.append(_result(check, patient))
        advance(len(found))
        if found[0].findings:
            break
    return found


def _result(check: Check, patient: Patient) -> Result:
    findings: list[Finding] = []
    try:
        findings += check.examine(patient)
    except OutOfReach as error:
        return Result(subject=check.subject, findings=findings, not_checked=str(error))
    except Exception as error:
        told = str(error) if isinstance(error, LifoqError) else aws_words.sentence(error)
        if told is None:
            raise
        return Result(
            subject=check.subject,
            findings=findings,
            not_checked=textwrap.shorten(told, LONGEST_REASON),
        )
    return Result(subject=check.subject, findings=findings)


def _json(patient: Patient, results: list[Result]) -> dict[str, Any]:
    return {
        "queue": patient.name,
        "versions": patient.versions,
        "findings": [
            {"subject": result.subject, **asdict(finding)}
            for result in results
            for finding in result.findings
        ],
        "not_checked": {
            result.subject: result.not_checked for result in results if result.not_checked
        },
        "well": [
            result.subject
            for result in results
            if not result.findings and result.not_checked is None
        ],
    }


def _print(console: Console, answers: list[tuple[Patient, list[Result]]]) -> None:
    for patient, results in answers:
        told = harmless(", ".join(f"{part} {one}" for part, one in patient.versions.items()))
        console.print(Text.assemble((patient.name, "bold"), (told and f" ({told})", "dim")))
        for result in results:
            if not result.findings and result.not_checked is None:
                console.print(Text.assemble(("✓ ", "green"), result.subject))
            for finding in result.findings:
                console.print(Text.assemble(("✗ ", "red"), (result.subject, "bold")))
                console.print(Padding(f"{finding.wrong}\n{finding.meaning}", (0, 0, 0, 2)))
                # The terminal alone wraps it: so it is copied as one line.
                console.print(f"  → {finding.remedy}", style="cyan", soft_wrap=True)
            if result.not_checked is not None:
                console.print(Text.assemble(("? ", "yellow"), result.subject))
                line = f"not checked: {result.not_checked}"
                console.print(Padding(line, (0, 0, 0, 2), style="dim"))
        number = sum(len(result.findings) for result in results)
        console.print(_total(number), style="bold")


def _total(findings: int) -> str:
    if not findings:
        return "all is well"
    return "1 finding" if findings == 1 else f"{findings} findings"
