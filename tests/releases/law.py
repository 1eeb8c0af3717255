"""The law of an upgrade in place: what today's templates may not do to a stack of a release.

Beside what CloudFormation itself refuses (``tests.infrastructure.updates``), an update may be
allowed, and lose what people have: messages, logs, an address that clients know.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.infrastructure.updates import Template, Templates, property_of, refused, replacing

TABLE: Final = "AWS::DynamoDB::Table"
HELD: Final[Mapping[str, str]] = {
    TABLE: "the tasks",
    "AWS::S3::Bucket": "exports, reports and large payloads",
    "AWS::KMS::Key": "what makes data readable",
    "AWS::SQS::Queue": "dead letters",
    "AWS::Logs::LogGroup": "logs",
    "AWS::SNS::Topic": "people's subscriptions, which each of them confirmed",
    "AWS::SSM::Parameter": "the name by which clients find the queue",
    "AWS::ApiGatewayV2::Api": "the address that HTTP clients know",
    "AWS::Scheduler::ScheduleGroup": "its date of creation, and the schedules in it",
    "AWS::Lambda::EventSourceMapping": "its place in a stream: a new one reads 24 hours again",
    "AWS::StepFunctions::StateMachine": "the executions that run",
    "AWS::Lambda::Function": "the ARN by which schedules that were made at run time invoke it",
    "AWS::IAM::Role": "the ARN that these schedules and other accounts' policies name",
    "AWS::Glue::Job": "the history of its runs",
}
"""The things that a resource of each type holds, and a new one would not: no update may replace
it."""
_TOLD_BY_OTHERS: Final = (
    "says what other alarms tell a little later: docs/cost.md names them. "
    "A queue with detailed_monitoring has it"
)
GONE: Final[Mapping[str, str]] = {
    "OverviewDashboard78DADE12": "shows metrics, and holds none. LifoqDashboard shows all queues, "
    "and a queue with detailed_monitoring has its own",
    "AlarmsThrottles94AAEF9B": _TOLD_BY_OTHERS,
    "AlarmsDroppedEvents2FF5402D": _TOLD_BY_OTHERS,
    "AlarmsIteratorAge6ED5385D": _TOLD_BY_OTHERS,
    **dict.fromkeys(
        (
            "AlarmsBurnRate6095DAA5",
            "AlarmsBurnRateFastLongFCA5D33B",
            "AlarmsBurnRateFastShortF8D1038D",
            "AlarmsBurnRateSlowLongE55AA3BF",
            "AlarmsBurnRateSlowShort45C9E550",
        ),
        "the alarm BurnRateHour is in its place. A queue with detailed_monitoring has it",
    ),
    "ApiAlarmsDroppedEventsD7F41B05": "never rang: API Gateway waits for the function, and Lambda "
    "drops events that nobody waits for",
}
"""Logical ids that a release had and later ones do not have: each with the reason why nobody misses
what it was."""
KEPT_LONG: Final[Mapping[str, str]] = {
    "AWS::Logs::LogGroup": "/properties/RetentionInDays",
    "AWS::SQS::Queue": "/properties/MessageRetentionPeriod",
}
"""The property that says for how long each type keeps things. A shorter time deletes what is there
already."""
SAFER: Final = ("Delete", "Snapshot", "Retain", "RetainExceptOnCreate")
"""Deletion policies; ``Delete`` is the default, and the last two keep what is there."""
PROTECTIONS: Final = (
    "/properties/DeletionProtectionEnabled",
    "/properties/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled",
)
UNCHANGED: Final = (
    "/properties/KeySchema",
    "/properties/TimeToLiveSpecification",
    "/properties/StreamSpecification",
)
"""Properties of a table. CloudFormation changes the last two in place: then the old items have no
deadline; and the stream is another, so that what the old one held is never read."""


def broken(release: Templates, today: Templates) -> Iterator[str]:
    """Say how ``today`` breaks the law for an application that is deployed as ``release``."""
    yield from refused(release, today)
    for stack, old in release.items():
        if stack not in today:
            yield f"{stack}: the stack is gone"
            continue
        for logical_id, resource in old["Resources"].items():
            now = today[stack]["Resources"].get(logical_id)
            gone = [] if logical_id in GONE else ["is gone"]
            problems = gone if now is None else _lost(resource, now)
            yield from (f"{stack}: {logical_id} {problem}" for problem in problems)


def _lost(old: Template, new: Template) -> Iterator[str]:
    kind = old["Type"]
    if new["Type"] != kind:
        return  # CloudFormation's own rules say so
    if kind in HELD:
        for changed in replacing(old, new):
            yield f"is replaced, since {changed} is another, and loses {HELD[kind]}"
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        was, becomes = old.get(policy, SAFER[0]), new.get(policy, SAFER[0])
        if SAFER.index(becomes) < SAFER.index(was):
            yield f"has the {policy} {becomes}, and had {was}"
    yield from _shorter(old, new)
    if kind == TABLE:
        yield from _table(old, new)


def _shorter(old: Template, new: Template) -> Iterator[str]:
    """Say what is kept for a shorter time than before. Without a number, it is kept for ever."""
    for_ever = float("inf")
    if (place := KEPT_LONG.get(old["Type"])) is not None:
        before, after = (property_of(one, place) or for_ever for one in (old, new))
        if after < before:
            yield f"has the {place} {after}, and had {before}"
    rules = _days(new)
    for prefix, days in _days(old).items():
        sooner = min((n for covers, n in rules.items() if prefix.startswith(covers)), default=days)
        if sooner < days:
            yield f"forgets {prefix or 'all'} after {sooner} days"


def _days(bucket: Template) -> dict[str, int]:
    """Return the days after which a bucket forgets objects, by the beginning of their names."""
    rules = property_of(bucket, "/properties/LifecycleConfiguration/Rules") or []
    return {
        rule.get("Prefix", ""): rule["ExpirationInDays"]
        for rule in rules
        if "ExpirationInDays" in rule
    }


def _table(old: Template, new: Template) -> Iterator[str]:
    for place in UNCHANGED:
        if property_of(old, place) != property_of(new, place):
            yield f"has another {place}"
    for place in PROTECTIONS:
        if property_of(old, place) and not property_of(new, place):
            yield f"has no {place} any more"
    yield from _keys_and_indexes(old, new)


def _keys_and_indexes(old: Template, new: Template) -> Iterator[str]:
    """An index's keys and projection cannot be changed under its name, and one update makes or
    deletes one index, no more
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html).
    """
    was, becomes = _types(old), _types(new)
    for name in was.keys() & becomes.keys():
        if was[name] != becomes[name]:
            yield f"has {name} as a key of type {becomes[name]}, and had it as {was[name]}"
    before, after = _indexes(old), _indexes(new)
    for name in before.keys() & after.keys():
        for part in ("KeySchema", "Projection"):
            if _in_order(after[name][part]) != _in_order(before[name][part]):
                yield f"has another {part} of the index {name}"
    changed = before.keys() ^ after.keys()
    if len(changed) > 1:
        yield f"has more than one index made or deleted in one update: {', '.join(sorted(changed))}"


def _types(table: Template) -> dict[str, str]:
    found = property_of(table, "/properties/AttributeDefinitions")
    return {one["AttributeName"]: one["AttributeType"] for one in found}


def _indexes(table: Template) -> dict[str, Any]:
    found = property_of(table, "/properties/GlobalSecondaryIndexes") or []
    return {one["IndexName"]: one for one in found}


def _in_order(part: Any) -> Any:
    """The attributes that an index shows have no order; its keys do."""
    if isinstance(part, dict):
        return {**part, "NonKeyAttributes": sorted(part.get("NonKeyAttributes", ()))}
    return part
