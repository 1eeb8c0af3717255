"""A queue that a release deployed is upgraded in place: today's templates are held against the
release's, by the rules of CloudFormation, and by what an update would lose."""

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

TABLE = "QueueTable4C3A1E0F"
DUE, NEWEST = "due-index", "status-created-index"


def table(found: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = found["state"]["Resources"][TABLE]["Properties"]
    return properties


def index(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in table(found)["GlobalSecondaryIndexes"] if one["IndexName"] == name)


def first(found: dict[str, Any], stack: str, kind: str) -> dict[str, Any]:
    """The properties of the first resource of a type."""
    resources = found[stack]["Resources"].values()
    return next(one["Properties"] for one in resources if one["Type"] == kind)


def show_more(found: dict[str, Any]) -> None:
    """Show the head start in the index: a change of November 2026, which would have made a deployed
    queue impossible to upgrade. Since then the index has room for later fields."""
    index(found, NEWEST)["Projection"]["NonKeyAttributes"].append("headStart")


def key_as_text(found: dict[str, Any]) -> None:
    for one in table(found)["AttributeDefinitions"]:
        one["AttributeType"] = "S"


def move_a_bucket(found: dict[str, Any]) -> None:
    resources = found["state"]["Resources"]
    name = next(name for name, one in resources.items() if one["Type"] == "AWS::S3::Bucket")
    found["queue"]["Resources"][name] = resources.pop(name)


def drop_an_export(found: dict[str, Any]) -> None:
    outputs = found["state"]["Outputs"]
    del outputs[next(name for name in outputs if "TableArn" in name or "QueueTable" in name)]


def forget_logs(found: dict[str, Any]) -> None:
    first(found, "queue", "AWS::Logs::LogGroup")["RetentionInDays"] = 1


def forget_exports(found: dict[str, Any]) -> None:
    rules = first(found, "state", "AWS::S3::Bucket")["LifecycleConfiguration"]["Rules"]
    rules[0]["ExpirationInDays"] = 1


BREAKS: dict[str, Change] = {
    "has another Projection of the index status-created-index": show_more,
    "has another KeySchema of the index status-created-index": (
        lambda found: index(found, NEWEST)["KeySchema"][1].update(AttributeName="enqueuedAt")
    ),
    "has more than one index made or deleted in one update": (
        lambda found: index(found, DUE).update(IndexName="due-index-2")
    ),
    "has dueAt as a key of type S, and had it as N": key_as_text,
    "is replaced, since /properties/TableName is another, and loses the tasks": (
        lambda found: table(found).update(TableName="tasks")
    ),
    f"{TABLE} is gone": lambda found: found["state"]["Resources"].pop(TABLE),
    "holds data, and goes": move_a_bucket,
    "is in use": drop_an_export,
    "has another /properties/StreamSpecification": (
        lambda found: table(found)["StreamSpecification"].update(StreamViewType="KEYS_ONLY")
    ),
    "PointInTimeRecoveryEnabled any more": (
        lambda found: table(found).pop("PointInTimeRecoverySpecification")
    ),
    "has the DeletionPolicy Delete, and had Retain": (
        lambda found: found["state"]["Resources"][TABLE].update(DeletionPolicy="Delete")
    ),
    "RetentionInDays 1, and had 90": forget_logs,
    "forgets exports after 1 days": forget_exports,
    "analytics: the stack is gone": lambda found: found.pop("analytics"),
}
"""Changes by what the law says to them."""


@pytest.mark.parametrize("told", BREAKS)
def test_a_change_that_would_lose_something_or_be_refused_is_found_out(told):
    before = releases()[-1].templates["prod"]
    after: dict[str, Any] = deepcopy(before)
    BREAKS[told](after)
    assert any(told in problem for problem in broken(before, after)), [*broken(before, after)]


def test_one_index_more_can_be_made_in_one_update():
    before = releases()[-1].templates["prod"]
    assert [*broken(before, before)] == []
    after: dict[str, Any] = deepcopy(before)
    another = index(after, DUE) | {"IndexName": "due-index-2"}
    table(after)["GlobalSecondaryIndexes"].append(another)
    assert [*broken(before, after)] == []
