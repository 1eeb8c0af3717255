"""Each setting of a stage can be switched on, off and on again, one deployed over the other.

What CloudFormation would refuse is looked for in the templates, since it takes minutes to be tried.
Once it is tried with all settings together, on the local cloud.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import aws_cdk as cdk
import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from lifoq_cdk import LifoQueue, TaskEvents
from lifoq_localcloud import LocalCloud
from tests.infrastructure.deployments import Deployment, synthesized
from tests.infrastructure.everything import (
    GIVEN,
    STATES_OWN,
    SWITCHES,
    everything,
    numbers,
    properties,
)

Template = Mapping[str, Any]

HOLDING_DATA = {"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key"}


def switched_off() -> Iterator[Callable[[cdk.App], None]]:
    """All; then so that each is off while any other one is on. The numbers, which decide about no
    resource, count as one."""
    names = SWITCHES | properties().keys()
    yield everything(off=names)
    switches = [numbers(), *({name} for name in sorted(names - numbers()))]
    for bit in range(len(switches).bit_length()):
        for side in (0, 1):
            off = [each for place, each in enumerate(switches) if place >> bit & 1 == side]
            yield everything(off=set().union(*off))
    yield everything(off={"spot"})
    for told in (
        TaskEvents(topic=False, step_functions=True),
        TaskEvents(step_functions=False),
        TaskEvents(step_functions=True, shed_at_deadline=False),
    ):
        yield everything(events=told)


@pytest.mark.prove
def test_each_setting_can_be_switched_on_off_and_on_again():
    known = set(inspect.signature(LifoQueue.__init__).parameters)
    assert known == GIVEN | STATES_OWN | properties().keys(), "add a property that is new"
    on = synthesized(everything())
    problems = []
    for stage in switched_off():
        off = synthesized(stage)
        problems += [*refused(on, off), *refused(off, on)]
    assert not problems


@pytest.mark.prove
def test_after_each_deployment_the_cdk_cli_sees_no_difference(tmp_path):
    beyond = {"existing_sources", "protected"}
    with LocalCloud(tmp_path) as cloud:
        for off in (beyond, SWITCHES | properties().keys(), beyond):
            assembly = synthesized(everything(off=off)).assembly
            cloud.deploy(assembly)
            cloud.cdk(assembly, "diff", "--all", "--fail", "--method=template")


def refused(before: Deployment, after: Deployment) -> Iterator[str]:
    """Why ``after`` cannot be deployed over ``before``."""
    imported = {name for template in before.templates.values() for name in imports(template)}
    for stack in before.templates.keys() & after.templates.keys():
        old, new = before.templates[stack], after.templates[stack]
        kept = exports(new)
        for name, value in exports(old).items():
            if name in imported and kept.get(name) != value:
                yield f"{stack}: the export {name} is in use"
        for logical_id, resource in old["Resources"].items():
            yield from (
                f"{stack}: {logical_id} {why}"
                for why in lost(resource, new["Resources"].get(logical_id))
            )
    owners = [names(deployment) for deployment in (before, after)]
    for name in owners[0].keys() & owners[1].keys():
        if owners[0][name] != owners[1][name]:
            yield f"{name} is made anew while it is still there"


def lost(old: Template, new: Template | None) -> Iterator[str]:
    if new is None:
        if old["Type"] in HOLDING_DATA:
            yield "holds data, and goes"
        if name_of(old) and old.get("DeletionPolicy") == "Retain":
            yield "stays behind, so that it cannot be made again"
    elif new["Type"] != old["Type"]:
        yield "becomes something else"
    elif name_of(old) or old["Type"] in HOLDING_DATA:
        for each in schema(old["Type"]).get("createOnlyProperties", ()):
            if property_of(old, each) != property_of(new, each):
                yield f"is replaced, since {each} is another"


def exports(template: Template) -> dict[str, str]:
    return {
        output["Export"]["Name"]: json.dumps(output["Value"])
        for output in template.get("Outputs", {}).values()
        if "Export" in output
    }


def imports(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "Fn::ImportValue" in value:
            yield value["Fn::ImportValue"]
        for each in value.values():
            yield from imports(each)
    elif isinstance(value, list):
        for each in value:
            yield from imports(each)


def schema(type_name: str) -> dict[str, Any]:
    """Nothing of what is the application's own."""
    if type_name.startswith("Custom::"):
        return {}
    return PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", type_name).schema


def property_of(resource: Template, pointer: str) -> Any:
    found: Any = resource.get("Properties", {})
    for key in pointer.split("/")[2:]:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def name_of(resource: Template) -> str | None:
    """By what it is known, if its template says so: no two of its type can be so named."""
    key = schema(resource["Type"]).get("primaryIdentifier", ())
    parts = [property_of(resource, each) for each in key]
    return json.dumps([resource["Type"], *parts]) if parts and all(parts) else None


def names(deployment: Deployment) -> dict[str, str]:
    return {
        name: f"{stack}.{logical_id}"
        for stack, template in deployment.templates.items()
        for logical_id, resource in template["Resources"].items()
        if (name := name_of(resource))
    }
