"""Check that the loop goes round: stream, functions, topics, schedules."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lifoq.basics.host import SYSTEM
from lifoq.environment import Variable
from lifoq.errors import QueueMisconfigured
from lifoq.operating import deployment, pause_note_in_table
from lifoq.operating.aws_calls import NotThere
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.patient import Patient

LAG: Final = timedelta(minutes=1)
LOOK_BACK: Final = timedelta(minutes=10)

_WITHOUT: Final = {
    deployment.TRIGGER: "New tasks wake nobody; the sweep still looks once a minute.",
    deployment.PROCESSOR: "No task is worked on.",
    deployment.SWEEP: "Lost leases and due retries are not brought back.",
    deployment.EVENTS: "Nobody is told how tasks end; Step Functions wait.",
    deployment.INGEST: "Messages of other services become no tasks.",
    deployment.API: "The HTTP API answers no request.",
    deployment.SCHEDULED_TASKS: "Schedules that clients have made put no tasks.",
}
_AT_WORK: Final = ("Enabled", "Enabling", "Creating", "Updating")
"""States of a mapping."""
_SUBSCRIBED: Final = {"process": deployment.PROCESSOR, "trigger": deployment.TRIGGER}
"""The function that each topic kicks."""


def functions(patient: Patient) -> Iterator[Finding]:
    for role, name in patient.parts.functions.items():
        meaning = _WITHOUT.get(role, "What it does is not done.")
        try:
            found = patient.account.call("lambda", "get_function_configuration", FunctionName=name)
        except NotThere:
            wrong = f"The function {name} is gone."
            yield Finding(wrong=wrong, meaning=meaning, remedy=patient.deploy)
            continue
        state, update = found.get("State", "Active"), found.get("LastUpdateStatus", "Successful")
        if state == "Failed" or update == "Failed":
            reason = found.get("StateReason") or found.get("LastUpdateStatusReason") or "no reason"
            wrong = f"The function {name} is not able to run: {reason}."
            yield Finding(wrong=wrong, meaning=meaning, remedy=patient.deploy)
        yield from _same_table(patient, name, found)


def _same_table(patient: Patient, name: str, found: dict[str, Any]) -> Iterator[Finding]:
    variables = found.get("Environment", {}).get("Variables", {})
    table = variables.get(Variable.TABLE.value)
    if table is not None and table != patient.connection.table.rpartition("/")[2]:
        yield Finding(
            wrong=f"The function {name} works on the table {table}, clients on "
            f"{patient.connection.table}.",
            meaning="What clients put is never worked on.",
            remedy=patient.deploy,
        )


def mapping(patient: Patient) -> Iterator[Finding]:
    uuid = patient.parts.stream_mapping
    try:
        found = patient.account.call("lambda", "get_event_source_mapping", UUID=uuid)
    except NotThere:
        yield Finding(
            wrong="Nothing reads the table's stream: its mapping is gone.",
            meaning=_WITHOUT[deployment.TRIGGER],
            remedy=patient.deploy,
        )
        return
    if found["State"] not in _AT_WORK:
        yield Finding(
            wrong=f"The mapping that reads the table's stream is {found['State']}.",
            meaning=_WITHOUT[deployment.TRIGGER] + " What is shed meanwhile is counted only if it "
            "is enabled within a day.",
            remedy=patient.aws("lambda", "update-event-source-mapping --enabled", uuid=uuid),
        )
    latest = patient.table.get("LatestStreamArn")
    if latest is not None and found.get("EventSourceArn") != latest:
        yield Finding(
            wrong="The mapping reads a stream that the table no longer has.",
            meaning=_WITHOUT[deployment.TRIGGER],
            remedy=patient.deploy,
        )
    if "PROBLEM" in str(found.get("LastProcessingResult", "")).upper():
        yield Finding(
            wrong=f"The stream's last batch was not read: {found['LastProcessingResult']}",
            meaning="Until it is, or is put aside, new tasks wake nobody.",
            remedy=_logs(patient, deployment.TRIGGER),
        )


def other_mappings(patient: Patient) -> Iterator[Finding]:
    """Check the stream mappings of functions that were asked for."""
    for uuid, role in patient.parts.mappings.items():
        try:
            found = patient.account.call("lambda", "get_event_source_mapping", UUID=uuid)
        except NotThere:
            yield Finding(
                wrong=f"A mapping of {patient.parts.functions[role]} is gone.",
                meaning=_WITHOUT[role],
                remedy=patient.deploy,
            )
            continue
        if found["State"] not in _AT_WORK:
            yield Finding(
                wrong=f"The mapping of {found['EventSourceArn']} is {found['State']}.",
                meaning=_WITHOUT[role],
                remedy=patient.aws("lambda", "update-event-source-mapping --enabled", uuid=uuid),
            )


def long_workers(patient: Patient) -> Iterator[Finding]:
    for name, place in patient.parts.long_tasks.items():
        cluster, _, service = place.partition("/")
        answer = patient.account.call(
            "ecs", "describe_services", cluster=cluster, services=[service]
        )
        found: dict[str, Any] = next(iter(answer["services"]), {"status": "gone"})
        if found["status"] != "ACTIVE":
            yield Finding(
                wrong=f"The service of the long workers {name} is {found['status']}.",
                meaning="Its task types wait until they are shed.",
                remedy=patient.deploy,
            )
        elif found["desiredCount"] and not found["runningCount"]:
            told = next((one["message"] for one in found.get("events", ())), "ECS gives no reason")
            yield Finding(
                wrong=f"None of {found['desiredCount']} long workers {name} runs: {told}",
                meaning="One takes a minute or two to start. Its task types wait meanwhile.",
                remedy=patient.aws("ecs", "describe-services", cluster=cluster, services=service),
            )


def lag(patient: Patient) -> Iterator[Finding]:
    now = datetime.now(UTC)
    answer = patient.account.call(
        "cloudwatch",
        "get_metric_statistics",
        Namespace="AWS/Lambda",
        MetricName="IteratorAge",
        Dimensions=[{"Name": "FunctionName", "Value": patient.parts.functions[deployment.TRIGGER]}],
        StartTime=now - LOOK_BACK,
        EndTime=now,
        Period=60,
        Statistics=["Maximum"],
    )
    points = sorted(answer["Datapoints"], key=lambda point: point["Timestamp"])
    if points and (late := timedelta(milliseconds=points[-1]["Maximum"])) > LAG:
        yield Finding(
            wrong=f"The stream is read {late.total_seconds():.0f} s late.",
            meaning="New tasks wait for the sweep rather than being begun at once.",
            remedy=_logs(patient, deployment.TRIGGER),
        )


def recursion(patient: Patient) -> Iterator[Finding]:
    for role in (deployment.TRIGGER, deployment.PROCESSOR):
        name = patient.parts.functions[role]
        found = patient.account.call("lambda", "get_function_recursion_config", FunctionName=name)
        if found["RecursiveLoop"] != "Allow":
            yield Finding(
                wrong=f"Lambda ends the loop that {name} is part of, after some 16 rounds.",
                meaning="A backlog is worked on for some windows, and then waits for the sweep.",
                remedy=patient.aws(
                    "lambda",
                    "put-function-recursion-config",
                    function_name=name,
                    recursive_loop="Allow",
                ),
            )


def concurrency(patient: Patient) -> Iterator[Finding]:
    name, wanted = patient.parts.functions[deployment.PROCESSOR], patient.parts.processors
    answer = patient.account.call("lambda", "get_function_concurrency", FunctionName=name)
    reserved = answer.get("ReservedConcurrentExecutions")
    if reserved == 0:
        yield Finding(
            wrong=f"The queue is paused: no processor may start{_by_whom(patient)}.",
            meaning="Tasks are taken in, and shed at their deadline.",
            remedy=f"lifoq resume --queue {patient.name}",
        )
    elif reserved != wanted:
        told = "any number of processors" if reserved is None else f"{reserved} processors"
        yield Finding(
            wrong=f"Lambda lets {told} run, and {wanted} were deployed.",
            meaning="What protects the downstream from too many calls is not as it was meant.",
            remedy=f"lifoq resume --queue {patient.name}",
        )


def _by_whom(patient: Patient) -> str:
    """The end of a sentence; empty where nobody noted it, or the note cannot be read."""
    if patient.settings is None:
        return ""
    try:
        note = pause_note_in_table.read(patient.account, patient.settings.table)
    except QueueMisconfigured:
        return ""
    return "" if note is None else f". {note.told(patient.name, now=SYSTEM.now())}"


def subscriptions(patient: Patient) -> Iterator[Finding]:
    for purpose, topic in patient.connection.topics.items():
        if purpose not in _SUBSCRIBED:
            continue
        function = patient.parts.functions[_SUBSCRIBED[purpose]]
        try:
            endpoints = [one["Endpoint"] for one in subscribed(patient, topic)]
        except NotThere:
            yield Finding(
                wrong=f"The topic {topic} is gone.",
                meaning=f"Nothing kicks {function}.",
                remedy=patient.deploy,
            )
            continue
        if not any(endpoint.rpartition(":")[2] == function for endpoint in endpoints):
            yield Finding(
                wrong=f"The function {function} is not subscribed to the topic {topic}.",
                meaning="Nothing wakes the processors: no task is worked on."
                if purpose == "process"
                else "After a window the processors wait for the sweep.",
                remedy=patient.deploy,
            )


def subscribed(patient: Patient, topic: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    more: dict[str, str] = {}
    while True:
        answer = patient.account.call("sns", "list_subscriptions_by_topic", TopicArn=topic, **more)
        found += answer["Subscriptions"]
        if not answer.get("NextToken"):
            return found
        more = {"NextToken": answer["NextToken"]}


def schedules(patient: Patient) -> Iterator[Finding]:
    for name in patient.parts.schedules:
        try:
            found = patient.account.call("scheduler", "get_schedule", Name=name)
        except NotThere:
            yield Finding(
                wrong=f"The schedule {name} is gone.",
                meaning=_WITHOUT[deployment.SWEEP],
                remedy=patient.deploy,
            )
            continue
        if found.get("State") != "ENABLED":
            yield Finding(
                wrong=f"The schedule {name} is {found.get('State')}.",
                meaning=_WITHOUT[deployment.SWEEP] + " A lost kick is not replaced.",
                remedy=patient.deploy,
            )


def schedule_group(patient: Patient) -> Iterator[Finding]:
    """Check the group of the schedules that clients make."""
    target = patient.connection.schedules
    if target is None:
        return
    try:
        patient.account.call("scheduler", "get_schedule_group", Name=target.group)
    except NotThere:
        yield Finding(
            wrong=f"The schedule group {target.group} is gone, and its schedules with it.",
            meaning=_WITHOUT[deployment.SCHEDULED_TASKS],
            remedy=patient.deploy,
        )


def _logs(patient: Patient, role: str) -> str:
    name = patient.parts.functions[role]
    found = patient.account.call("lambda", "get_function_configuration", FunctionName=name)
    group = found.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{name}")
    return f"aws logs tail --since 1h {group}"
