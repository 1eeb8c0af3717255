"""Today's code reads what a release wrote, and the other way round: for as long as a deployment
rolls, both work on one queue."""

import json
import re
from typing import Any

import pytest

from lifoq.api.fields import TERMS as HTTP_TERMS
from lifoq.items.attempt_history import Ended
from lifoq.items.schema import OWN_PREFIX, Attribute, Preview, Status
from lifoq.schedules.event import TERMS as SCHEDULED_TERMS
from tests.infrastructure.deployments import ROOT, synthesized
from tests.infrastructure.everything import everything
from tests.releases import reading
from tests.releases.release import Release, differences, releases, told_by, unpacked
from tests.releases.samples import own_kinds, written
from tests.releases.templates import normalised

pytestmark = pytest.mark.prove

each_release = pytest.mark.parametrize("release", releases(), ids=lambda one: one.version)
LATER = "fieldOfALaterRelease"


@pytest.fixture(scope="module")
def todays() -> dict[str, Any]:
    """Samples that today's code writes."""
    return written(normalised(synthesized(everything())))


@each_release
def test_todays_code_makes_of_what_a_release_wrote_what_the_release_made_of_it(release: Release):
    assert [*differences(release.told, _told(release.samples))] == []


@each_release
def test_a_release_makes_of_what_todays_code_writes_what_todays_code_makes_of_it(
    release: Release, todays, tmp_path
):
    by_release = told_by(unpacked(release.wheel, tmp_path), release.reading, todays)
    assert [*differences(by_release, _told(todays))] == []


def test_fields_of_a_later_release_are_passed_over_and_kept_where_a_task_goes_on(todays):
    """No release but the first can be asked what it makes of later ones: so today's is asked what
    it makes of fields that nobody knows yet."""
    told = _told(_later(todays))
    assert [*differences(_told(todays), told)] == []
    previews = [
        fate["preview"] for fate in told["lives"]["tasks"].values() if fate and fate["preview"]
    ]
    assert previews
    assert all(LATER in preview for preview in previews)


def _told(samples: dict[str, Any]) -> dict[str, Any]:
    """Return what today's code makes of samples, as it looks after a way through JSON."""
    told: dict[str, Any] = json.loads(json.dumps(reading.told(samples)))
    return told


def _later(samples: dict[str, Any]) -> dict[str, Any]:
    """Return the samples with a field more wherever a later release may write one."""
    parts = {"parameters": {}, "environments": {}}
    for name, text in samples["parameters"].items():
        parts["parameters"][name] = _more(text)
    for name, variables in samples["environments"].items():
        settings = {key: _more(variables[key]) for key in SETTINGS if key in variables}
        parts["environments"][name] = variables | settings
    return samples | parts | {"items": [_later_item(item) for item in samples["items"]]}


BY_NAME = ("topics", "functions", "mappings", "long_tasks", "quotas")
"""Objects that have no fields: their names are those of topics, functions, workers."""
SETTINGS = ("LIFOQ_LIFETIMES", "LIFOQ_WORKER")
MAPS = ("preview", "parked", "payload", "result", "checkpoint")
"""Attributes that may be maps, each with fields of lifoq's."""


def _later_item(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with more attributes, and more fields in what lifoq reads of them."""
    own = item.get("taskId", {"S": ""})["S"].startswith(OWN_PREFIX)
    changed: dict[str, Any] = {}
    for name, value in item.items():
        if "S" in value and (own or name == "error"):
            changed[name] = {"S": _more(value["S"])}
        elif "M" in value and name in MAPS:
            changed[name] = {"M": _later_item(value["M"]) | {LATER: {"N": "1"}}}
        elif name == "history":
            entries = [{"M": entry["M"] | {LATER: {"N": "1"}}} for entry in value["L"]]
            changed[name] = {"L": [*entries, {"M": entries[0]["M"] | {"how": {"S": LATER}}}]}
    return item | changed | {LATER: {"S": "x"}}


def _more(text: str) -> str:
    """Return JSON in which each object has a field more, and other text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(_with_more(value))


def _with_more(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_more(one) for one in value]
    if isinstance(value, dict):
        inner = {name: one if name in BY_NAME else _with_more(one) for name, one in value.items()}
        return inner | {LATER: "x"}
    return value


# The samples are complete


def test_there_is_a_sample_of_each_status_and_attribute_and_of_each_kind_of_own_item(todays):
    tasks = [item for item in todays["items"] if "taskStatus" in item]
    statuses = {task["taskStatus"]["S"] for task in tasks}
    assert statuses == set(Status)
    assert {name for task in tasks for name in task} == set(Attribute)
    previews = [task["preview"]["M"] for task in tasks if "preview" in task]
    assert {name for preview in previews for name in preview} == set(Preview)
    past = [
        entry["M"]["how"]["S"] for task in tasks for entry in task.get("history", {"L": []})["L"]
    ]
    assert set(past) == set(Ended)
    forms = {kind for task in tasks for kind in task.get("payload", {})}
    assert forms == {"S", "B", "M"}
    sources = [file.read_text() for file in (ROOT / "lifoq").rglob("*.py")]
    kinds = {kind for text in sources for kind in re.findall(r"OWN_PREFIX\}(\w+)", text)}
    assert own_kinds(todays) == kinds


def test_there_is_a_sample_of_each_term_of_a_put_over_http_and_of_a_schedule(todays):
    (request,) = todays["requests"]
    assert set(request) == set(HTTP_TERMS)
    event = json.loads(todays["schedules"]["at run time"])
    assert set(event) == set(SCHEDULED_TERMS)


def test_every_release_of_the_changelog_has_its_record():
    versions = re.findall(
        r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert set(versions) <= {release.version for release in releases()}
