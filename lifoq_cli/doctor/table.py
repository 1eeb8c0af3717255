"""Check that the table is what the queue needs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lifoq.items import schema
from lifoq.items.schema import ANOTHER_QUEUE
from lifoq.operating.aws_calls import NotThere
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.patient import Patient

ACTIVE: Final = "ACTIVE"
ENABLED: Final = "ENABLED"


def shape(patient: Patient) -> Iterator[Finding]:
    name = patient.connection.table
    try:
        there = patient.table
    except NotThere:
        yield Finding(
            wrong=f"There is no table {name}.",
            meaning="The queue's settings name a table that was deleted: nothing works.",
            remedy="restore it from its backup: aws dynamodb restore-table-to-point-in-time, "
            f"or {patient.deploy}",
        )
        return
    needed = schema.table_definition(name)
    if there["TableStatus"] != ACTIVE:
        yield Finding(
            wrong=f"The table {name} is {there['TableStatus']}.",
            meaning="Calls may fail until it is ACTIVE.",
            remedy=patient.aws("dynamodb", "wait table-exists", table_name=name),
        )
    if there["KeySchema"] != needed["KeySchema"]:
        yield Finding(
            wrong=f"The table {name} has other keys than a queue's.",
            meaning="It is not the queue's table.",
            remedy=patient.deploy,
        )


def indexes(patient: Patient) -> Iterator[Finding]:
    there = {one["IndexName"]: one for one in patient.table.get("GlobalSecondaryIndexes", [])}
    for needed in schema.table_definition("")["GlobalSecondaryIndexes"]:
        name = needed["IndexName"]
        index = there.get(name)
        different = None if index is None else _different(index, needed)
        if different:
            problem, remedy = different, f"{ANOTHER_QUEUE} (upgrade.md)"
        elif index is None:
            problem, remedy = "is missing", patient.deploy
        elif index.get("IndexStatus", ACTIVE) != ACTIVE:
            problem, remedy = f"is {index['IndexStatus']}", patient.deploy
        else:
            continue
        yield Finding(
            wrong=f"The index {name} {problem}.",
            meaning="No worker finds the next task by it."
            if name == schema.STATUS_CREATED_INDEX
            else "Retries and delayed tasks are not found when they are due.",
            remedy=remedy,
        )


def _different(index: Mapping[str, Any], needed: Mapping[str, Any]) -> str | None:
    """Say which property of an index differs that no deployment changes under the index's name."""
    if index["KeySchema"] != needed["KeySchema"]:
        return "has other keys than a queue's"
    missing = schema.not_projected(index, needed)
    return f"does not project {', '.join(missing)}" if missing else None


def time_to_live(patient: Patient) -> Iterator[Finding]:
    name = patient.connection.table
    answer = patient.account.call("dynamodb", "describe_time_to_live", TableName=name)
    found = answer["TimeToLiveDescription"]
    attribute = found.get("AttributeName")
    if found.get("TimeToLiveStatus") in (ENABLED, "ENABLING") and attribute == schema.TTL_ATTRIBUTE:
        return
    specification = f"Enabled=true,AttributeName={schema.TTL_ATTRIBUTE.value}"
    yield Finding(
        wrong="TTL is off."
        if attribute in (None, schema.TTL_ATTRIBUTE)
        else f"TTL goes by {attribute}, not by {schema.TTL_ATTRIBUTE.value}.",
        meaning="Expired and finished tasks stay for ever: the table grows, and nothing that was "
        "shed is counted.",
        remedy=patient.aws(
            "dynamodb",
            "update-time-to-live",
            table_name=name,
            time_to_live_specification=specification,
        ),
    )


def backups(patient: Patient) -> Iterator[Finding]:
    name = patient.connection.table
    answer = patient.account.call("dynamodb", "describe_continuous_backups", TableName=name)
    found = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    if found.get("PointInTimeRecoveryStatus") != ENABLED:
        yield Finding(
            wrong="Point-in-time recovery is off.",
            meaning="The table can neither be restored nor exported: no report can be made.",
            remedy=patient.aws(
                "dynamodb",
                "update-continuous-backups",
                table_name=name,
                point_in_time_recovery_specification="PointInTimeRecoveryEnabled=true",
            ),
        )


def stream(patient: Patient) -> Iterator[Finding]:
    needed = schema.table_definition("")["StreamSpecification"]
    there = patient.table.get("StreamSpecification") or {}
    if not there.get("StreamEnabled"):
        wrong = "The table has no stream."
    elif there.get("StreamViewType") != needed["StreamViewType"]:
        wrong = f"The table's stream shows {there.get('StreamViewType')} only."
    else:
        return
    yield Finding(
        wrong=wrong,
        meaning="New tasks wake nobody, and what is shed is not counted; the sweep still looks "
        "once a minute.",
        remedy=patient.deploy,
    )
