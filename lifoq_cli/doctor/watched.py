"""Check that somebody would be told of trouble, and find what waits for somebody."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from lifoq.aws.dynamo_values import plain
from lifoq.basics.host import SYSTEM
from lifoq.health import found_limits, pressure
from lifoq.health import sweep_note as notes
from lifoq.health.headline import without_worker
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.items.task_error import TaskError
from lifoq.operating.aws_calls import NotThere
from lifoq.store.table_protocol import MAX_BATCH_GET, Count
from lifoq.worker.run.loop import TooHeavy
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.loop import subscribed
from lifoq_cli.doctor.patient import Patient

AT_ONCE: Final = 100
"""Alarms of one question."""
NEAR_THE_MOST: Final = 0.95
"""The part of the most from which on a limit that was found says that more may be possible."""
FAR_BELOW: Final = 16
"""The ratio of the most to the limit that was found from which on the most protects nobody."""
RUNBOOK: Final = "docs/runbook.md in lifoq's repository"
PENDING: Final = "PendingConfirmation"


def alarms(patient: Patient) -> Iterator[Finding]:
    there = _alarms(patient)
    if missing := [name for name in patient.parts.alarms if name not in there]:
        yield Finding(
            wrong=f"{len(missing)} of {len(patient.parts.alarms)} alarms are gone: "
            f"{', '.join(missing)}.",
            meaning="What they would tell, nobody hears.",
            remedy=patient.deploy,
        )
    for name, alarm in there.items():
        if not alarm["ActionsEnabled"]:
            yield Finding(
                wrong=f"The alarm {name} is muted: its actions are disabled.",
                meaning="It rings, and nobody hears it.",
                remedy=patient.aws("cloudwatch", "enable-alarm-actions", alarm_names=name),
            )
        elif patient.parts.alarm_topic not in alarm["AlarmActions"]:
            yield Finding(
                wrong=f"The alarm {name} does not lead to {patient.parts.alarm_topic}.",
                meaning="It rings, and the queue's people do not hear it.",
                remedy=patient.deploy,
            )
        # An alarm that rings by silence has an action for it.
        by_silence = bool(alarm.get("InsufficientDataActions"))
        if alarm["StateValue"] in {"ALARM", *(["INSUFFICIENT_DATA"] if by_silence else [])}:
            yield Finding(
                wrong=f"The alarm {name} rings.",
                meaning=alarm.get("AlarmDescription") or f"See {RUNBOOK}.",
                remedy=patient.aws("cloudwatch", "describe-alarm-history", alarm_name=name),
            )


def _alarms(patient: Patient) -> dict[str, dict[str, Any]]:
    names = list(patient.parts.alarms)
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(names), AT_ONCE):
        answer = patient.account.call(
            "cloudwatch",
            "describe_alarms",
            AlarmNames=names[start : start + AT_ONCE],
            AlarmTypes=["MetricAlarm", "CompositeAlarm"],
        )
        both = (*answer.get("MetricAlarms", ()), *answer.get("CompositeAlarms", ()))
        found |= {alarm["AlarmName"]: alarm for alarm in both}
    return found


def people(patient: Patient) -> Iterator[Finding]:
    topic = patient.parts.alarm_topic
    remedy = patient.aws(
        "sns",
        "subscribe",
        topic_arn=topic,
        protocol="email",
        notification_endpoint="you@example.com",
    )
    try:
        found = subscribed(patient, topic)
    except NotThere:
        yield Finding(
            wrong=f"The topic {topic}, which the alarms lead to, is gone.",
            meaning="Alarms ring, and nobody hears them.",
            remedy=patient.deploy,
        )
        return
    waiting = [one["Endpoint"] for one in found if one["SubscriptionArn"] == PENDING]
    if len(waiting) == len(found):
        told = f": {', '.join(waiting)} has not confirmed" if waiting else ""
        yield Finding(
            wrong=f"Nobody is subscribed to the alarms{told}.",
            meaning="Alarms ring, and nobody hears them.",
            remedy=f"{remedy}, and the link in the mail that it sends"
            if not waiting
            else "the link in the mail that AWS sent there",
        )


def dead_letters(patient: Patient) -> Iterator[Finding]:
    url = patient.parts.dead_letters
    try:
        answer = patient.account.call(
            "sqs",
            "get_queue_attributes",
            QueueUrl=url,
            AttributeNames=["ApproximateNumberOfMessages"],
        )
    except NotThere:
        yield Finding(
            wrong=f"The queue for dead letters, {url}, is gone.",
            meaning="What cannot be delivered or handled is lost without a trace.",
            remedy=patient.deploy,
        )
        return
    number = int(answer["Attributes"]["ApproximateNumberOfMessages"])
    if number:
        yield Finding(
            wrong=f"{number:,} {'event lies' if number == 1 else 'events lie'} in the queue for "
            "dead letters.",
            meaning="Something could not be delivered or handled; no task is lost by it "
            f"({RUNBOOK}, section Dead letters).",
            remedy=patient.aws("sqs", "receive-message", queue_url=url),
        )


def unknown_types(patient: Patient) -> Iterator[Finding]:
    answer = patient.account.call(
        "dynamodb",
        "get_item",
        TableName=patient.connection.table,
        Key={Attribute.TASK_ID.value: {"S": notes.NOTE}},
    )
    if names := notes.of(plain(answer.get("Item", {}))).unknown_types:
        yield Finding(
            wrong=f"Tasks wait. {without_worker(names)}",
            meaning="They run once a worker is deployed that has it, or are shed at their deadline "
            f"({RUNBOOK}, section Unknown types).",
            remedy=f"lifoq list --queue {patient.name} --type {shlex.quote(names[0])}; "
            "then deploy its task code, or name it in types_elsewhere",
        )


def adaptive_limits(patient: Patient) -> Iterator[Finding]:
    """Check whether `in_flight` is far from what workers found, and whether they could find it."""
    answer = patient.account.call(
        "dynamodb",
        "get_item",
        TableName=patient.connection.table,
        Key={Attribute.TASK_ID.value: {"S": pressure.NOTE}},
    )
    rows = found_limits.of(plain(answer.get("Item", {})))
    for limit in found_limits.by_type(rows, now=SYSTEM.now()):
        wrong = f"in_flight is far from what was found for {limit.task_type}: {limit.told}."
        if limit.tasks >= NEAR_THE_MOST * limit.most:
            yield Finding(
                wrong=f"in_flight holds {limit.task_type} back: {limit.told}.",
                meaning="The downstream may take more.",
                remedy="raise in_flight of the type, and of the queue or the worker",
            )
        elif limit.tasks * FAR_BELOW < limit.most:
            yield Finding(
                wrong=wrong,
                meaning="A wrong guess may send the downstream many times what it takes.",
                remedy="lower in_flight of the type, to four times what was found or so",
            )


def failures(patient: Patient) -> Iterator[Finding]:
    answer = _failed(patient, Select="COUNT")
    if number := answer["Count"]:
        count = Count(value=number, capped="LastEvaluatedKey" in answer)
        one = count == Count(value=1, capped=False)
        yield Finding(
            wrong=f"{count} {'task has' if one else 'tasks have'} failed, and "
            f"{'waits' if one else 'wait'} for a redrive.",
            meaning="They are out of attempts, or were refused. TTL forgets them in time.",
            remedy=f"lifoq errors --queue {patient.name}; then lifoq redrive",
        )


def too_heavy(patient: Patient) -> Iterator[Finding]:
    """Check whether tasks were put that weigh more than a limit of their type: such a task can
    never start, and fails at once. The newest failures are read."""
    rows = _failed(patient, ScanIndexForward=False, Limit=MAX_BATCH_GET).get("Items", [])
    found = Counter(_type_and_error(item) for item in _errors(patient, rows))
    for (task_type, error), number in found.items():
        if error == TooHeavy.__name__:
            verb = "weighs" if number == 1 else "weigh"
            yield Finding(
                wrong=f"Among the latest failed tasks, {number} of type {task_type} {verb} more "
                "than its limits let start.",
                meaning="No worker can ever start such a task.",
                remedy="put smaller tasks, or raise units_in_flight or the Rate of the type; then "
                f"lifoq redrive --queue {patient.name} --type {shlex.quote(task_type)} "
                f"--error {error}",
            )


def _failed(patient: Patient, **more: Any) -> dict[str, Any]:
    """Return a page of the index that shows failed tasks."""
    return patient.account.call(
        "dynamodb",
        "query",
        TableName=patient.connection.table,
        IndexName=STATUS_CREATED_INDEX,
        KeyConditionExpression="#status = :failure",
        ExpressionAttributeNames={"#status": Attribute.TASK_STATUS.value},
        ExpressionAttributeValues={":failure": {"S": Status.FAILURE.value}},
        **more,
    )


def _errors(patient: Patient, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items of failed tasks, with their types and errors; the index shows no errors."""
    if not rows:
        return []
    names = {"#id": Attribute.TASK_ID, "#type": Attribute.TASK_TYPE, "#error": Attribute.ERROR}
    table = patient.connection.table
    keys = [{Attribute.TASK_ID.value: row[Attribute.TASK_ID.value]} for row in rows]
    wanted = {
        "Keys": keys,
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": {short: name.value for short, name in names.items()},
    }
    answer = patient.account.call("dynamodb", "batch_get_item", RequestItems={table: wanted})
    return [plain(item) for items in answer["Responses"].values() for item in items]


def _type_and_error(item: dict[str, Any]) -> tuple[str, str]:
    try:
        error = TaskError.from_json(str(item.get(Attribute.ERROR, ""))).type
    except ValueError:  # somebody has damaged it
        error = ""
    return str(item.get(Attribute.TASK_TYPE, "")), error
