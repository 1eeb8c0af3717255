"""A queue that a release deployed is upgraded in place: today's templates are held against the
release's, by the rules of CloudFormation, and by what an update would lose."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.infrastructure.updates import Templates
from tests.releases import templates
from tests.releases.law import GONE, HELD, broken
from tests.releases.release import Release, releases

pytestmark = pytest.mark.prove

Change = Callable[[dict[str, Any]], object]
"""A change of an application's templates."""


@pytest.fixture(scope="module")
def todays() -> dict[str, Templates]:
    return templates.of_today()


@pytest.mark.parametrize("release", releases(), ids=lambda one: one.version)
def test_todays_templates_can_be_deployed_over_those_of_a_release_and_lose_nothing(
    release: Release, todays
):
    for application, deployed in release.templates.items():
        assert [*broken(deployed, todays[application])] == [], application


def test_what_may_go_was_there_once_and_held_nothing():
    told = [application for release in releases() for application in release.templates.values()]
    kinds = {
        logical_id: resource["Type"]
        for application in told
        for template in application.values()
        for logical_id, resource in template["Resources"].items()
    }
    assert GONE.keys() <= kinds.keys(), "no release had them: take the rows out"
    assert all(kinds[logical_id] not in HELD for logical_id in GONE)


# Each of these would be found out.


def table(found: dict[str, Any]) -> dict[str, Any]:
    (resource,) = [
        one for one in found["state"]["Resources"].values() if one["Type"] == "AWS::DynamoDB::Table"
    ]
    return resource


def properties(found: dict[str, Any]) -> dict[str, Any]:
    return table(found)["Properties"]


def first(found: dict[str, Any], stack: str, kind: str) -> dict[str, Any]:
    """The properties of the first resource of a type."""
    resources = found[stack]["Resources"].values()
    return next(one["Properties"] for one in resources if one["Type"] == kind)


def index(found: dict[str, Any], name: str) -> dict[str, Any]:
    indexes = properties(found)["GlobalSecondaryIndexes"]
    return next(one for one in indexes if one["IndexName"] == name)


def show_more(found: dict[str, Any]) -> None:
    """Show the head start in the index: a change of November 2026, which would have made a deployed
    queue impossible to upgrade. Since then the index has room for later fields."""
    index(found, "status-created-index")["Projection"]["NonKeyAttributes"].append("headStart")


def show_all(found: dict[str, Any]) -> None:
    index(found, "due-index")["Projection"] = {"ProjectionType": "ALL"}


def order_otherwise(found: dict[str, Any]) -> None:
    index(found, "status-created-index")["KeySchema"][1]["AttributeName"] = "enqueuedAt"


def rename_both_indexes(found: dict[str, Any]) -> None:
    for one in properties(found)["GlobalSecondaryIndexes"]:
        one["IndexName"] += "-2"


def rename_one_index(found: dict[str, Any]) -> None:
    index(found, "due-index")["IndexName"] = "due-index-2"


def key_as_text(found: dict[str, Any]) -> None:
    for one in properties(found)["AttributeDefinitions"]:
        if one["AttributeName"] == "dueAt":
            one["AttributeType"] = "S"


def table_of_another_id(found: dict[str, Any]) -> None:
    text = json.dumps(found).replace("QueueTable4C3A1E0F", "TaskTable4C3A1E0F")
    found.clear()
    found.update(json.loads(text))


def move_a_bucket(found: dict[str, Any]) -> None:
    resources = found["state"]["Resources"]
    name = next(name for name, one in resources.items() if one["Type"] == "AWS::S3::Bucket")
    found["queue"]["Resources"][name] = resources.pop(name)


def drop_an_export(found: dict[str, Any]) -> None:
    outputs = found["state"]["Outputs"]
    del outputs[next(name for name in outputs if "TableArn" in name or "QueueTable" in name)]


def other_parameter(found: dict[str, Any]) -> None:
    for one in found["queue"]["Resources"].values():
        if one["Properties"].get("Name") == "/lifoq/prod/queue":
            one["Properties"]["Name"] = "/lifoq/prod/settings"


def forget_logs(found: dict[str, Any]) -> None:
    first(found, "queue", "AWS::Logs::LogGroup")["RetentionInDays"] = 1


def forget_exports(found: dict[str, Any]) -> None:
    rules = first(found, "state", "AWS::S3::Bucket")["LifecycleConfiguration"]["Rules"]
    rules[0]["ExpirationInDays"] = 1


def forget_dead_letters(found: dict[str, Any]) -> None:
    first(found, "queue", "AWS::SQS::Queue")["MessageRetentionPeriod"] = 60


BREAKS: dict[str, tuple[Change, str]] = {
    "show more in an index": (show_more, "has another Projection of the index status-created"),
    "show all in an index": (show_all, "has another Projection of the index due-index"),
    "order an index otherwise": (order_otherwise, "has another KeySchema of the index status-cre"),
    "rename both indexes": (rename_both_indexes, "more than one index made or deleted in one upd"),
    "rename one index": (rename_one_index, "more than one index made or deleted in one update"),
    "make a key of another type": (key_as_text, "has dueAt as a key of type S, and had it as N"),
    "key the table otherwise": (
        lambda found: (
            properties(found)["KeySchema"].reverse()
            or properties(found)["KeySchema"][0].update(AttributeName="id")
        ),
        "is replaced, since /properties/KeySchema is another, and loses the tasks",
    ),
    "name the table": (
        lambda found: properties(found).update(TableName="tasks"),
        "is replaced, since /properties/TableName is another, and loses the tasks",
    ),
    "give the table another id": (table_of_another_id, "QueueTable4C3A1E0F is gone"),
    "move a bucket to another stack": (move_a_bucket, "holds data, and goes"),
    "drop an export that is imported": (drop_an_export, "is in use"),
    "show keys alone in the stream": (
        lambda found: properties(found)["StreamSpecification"].update(StreamViewType="KEYS_ONLY"),
        "has another /properties/StreamSpecification",
    ),
    "let TTL go by another attribute": (
        lambda found: properties(found)["TimeToLiveSpecification"].update(AttributeName="expiry"),
        "has another /properties/TimeToLiveSpecification",
    ),
    "take the backups": (
        lambda found: properties(found).pop("PointInTimeRecoverySpecification"),
        "PointInTimeRecoveryEnabled any more",
    ),
    "take the protection": (
        lambda found: properties(found).update(DeletionProtectionEnabled=False),
        "DeletionProtectionEnabled any more",
    ),
    "delete the table with its stack": (
        lambda found: table(found).update(DeletionPolicy="Delete"),
        "has the DeletionPolicy Delete, and had Retain",
    ),
    "rename the parameter of clients": (other_parameter, "the name by which clients find the"),
    "forget logs sooner": (forget_logs, "RetentionInDays 1, and had 90"),
    "forget exports sooner": (forget_exports, "forgets exports after 1 days"),
    "forget dead letters sooner": (forget_dead_letters, "MessageRetentionPeriod 60, and had"),
    "drop a stack": (lambda found: found.pop("analytics"), "analytics: the stack is gone"),
}


@pytest.mark.parametrize("change", BREAKS)
def test_a_change_that_would_lose_something_or_be_refused_is_found_out(change):
    before = releases()[-1].templates["prod"]
    assert [*broken(before, before)] == []
    make, told = BREAKS[change]
    after: dict[str, Any] = deepcopy(before)
    make(after)
    assert any(told in problem for problem in broken(before, after)), [*broken(before, after)]


def test_one_index_more_can_be_made_in_one_update():
    before = releases()[-1].templates["prod"]
    after: dict[str, Any] = deepcopy(before)
    another = index(after, "due-index") | {"IndexName": "due-index-2"}
    properties(after)["GlobalSecondaryIndexes"].append(another)
    assert [*broken(before, after)] == []
