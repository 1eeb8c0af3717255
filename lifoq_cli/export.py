"""The command that exports the table, for the report."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from lifoq.client import connection
from lifoq.errors import InvalidInput, LifoqError
from lifoq.operating import deployment
from lifoq.operating.aws_calls import Account
from lifoq_cli import moments, options
from lifoq_cli.progress import progress
from lifoq_cli.session import Session

PREFIX: Final = "exports/by-hand"
"""The prefix of these exports in the queue's bucket: they lie beside the scheduled ones, and are
forgotten with them."""
SHORTEST, LONGEST = 15 * moments.MINUTE, moments.DAY
"""Seconds that DynamoDB exports of changes."""
POLL: Final = 5.0
"""Seconds between two looks."""


class ExportFailed(LifoqError):
    """DynamoDB did not export the table."""


@click.command()
@options.duration(
    "--last", "Only what changed in this time, 15m to 1d; by default the whole table."
)
@click.option("--wait", "waits", is_flag=True, help="Wait until the export is complete.")
@click.pass_obj
def export(session: Session, *, last: float | None, waits: bool) -> None:
    """Export the table to its bucket, where `lifoq report` reads it.

    It takes DynamoDB some minutes, and none of the table's read units.
    """
    if last is not None and not SHORTEST <= last <= LONGEST:
        raise InvalidInput("last", last, "must be 15m to 1d: DynamoDB exports no other window")
    if len(session.names) != 1 or session.tables:
        raise click.UsageError("an export is of one queue: name it, --queue NAME")
    account = Account(**session.client_arguments)
    settings = connection.read(session.names[0], **session.client_arguments)
    deployed = deployment.read(session.names[0], **session.client_arguments)
    table = account.call("dynamodb", "describe_table", TableName=settings.table)["Table"]
    begun = account.call(
        "dynamodb",
        "export_table_to_point_in_time",
        TableArn=table["TableArn"],
        S3Bucket=deployed.export_bucket,
        S3Prefix=PREFIX,
        ExportFormat="DYNAMODB_JSON",
        **_changes(last),
    )["ExportDescription"]
    place = f"s3://{deployed.export_bucket}/{PREFIX}/AWSDynamoDB/{_id(begun)}"
    try:
        found = _awaited(account, begun) if waits else begun
    except KeyboardInterrupt:
        raise session.interrupted(f"DynamoDB goes on with the export, to {place}") from None
    session.answer(
        {"export": begun["ExportArn"], "status": found["ExportStatus"], "path": place},
        lambda console: console.print(
            f"{found['ExportStatus']}: {place}\nthen: lifoq report {place} --out report"
        ),
    )


def _changes(last: float | None) -> dict[str, Any]:
    if last is None:
        return {"ExportType": "FULL_EXPORT"}
    until = datetime.now(UTC)
    return {
        "ExportType": "INCREMENTAL_EXPORT",
        "IncrementalExportSpecification": {
            "ExportFromTime": until - timedelta(seconds=last),
            "ExportToTime": until,
            "ExportViewType": "NEW_AND_OLD_IMAGES",
        },
    }


def _id(export: dict[str, Any]) -> str:
    return str(export["ExportArn"]).rpartition("/")[2]


def _awaited(account: Account, begun: dict[str, Any]) -> dict[str, Any]:
    """Wait until the export has ended. Raises ExportFailed."""
    found = begun
    with progress("exporting: DynamoDB takes some minutes, and does not say how many"):
        while found["ExportStatus"] == "IN_PROGRESS":
            time.sleep(POLL)
            found = account.call("dynamodb", "describe_export", ExportArn=begun["ExportArn"])[
                "ExportDescription"
            ]
    if found["ExportStatus"] != "COMPLETED":
        code, message = found.get("FailureCode"), found.get("FailureMessage")
        raise ExportFailed(f"the export failed: {code}: {message}")
    return found
