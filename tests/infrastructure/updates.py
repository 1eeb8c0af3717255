"""Rules of CloudFormation by which an update of a stack is refused, or loses what a stack holds.

They are looked for in the templates, since it takes minutes to try an update. The properties that
replace a resource are those of CloudFormation's own registry, which cfn-lint brings along.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lifoq_localcloud.service_rules.templates import schema

Template = Mapping[str, Any]
Templates = Mapping[str, Template]
"""The templates of an application by the names of its stacks."""

HOLDING_DATA = {"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key"}


def refused(before: Templates, after: Templates) -> Iterator[str]:
    """Say why ``after`` cannot be deployed over ``before``."""
    imported = {name for template in before.values() for name in imports(template)}
    for stack in before.keys() & after.keys():
        old, new = before[stack], after[stack]
        kept = exports(new)
        for name, value in exports(old).items():
            if name in imported and kept.get(name) != value:
                yield f"{stack}: the export {name} is in use"
        for logical_id, resource in old["Resources"].items():
            yield from (
                f"{stack}: {logical_id} {why}"
                for why in lost(resource, new["Resources"].get(logical_id))
            )
    owners = [names(templates) for templates in (before, after)]
    for name in owners[0].keys() & owners[1].keys():
        if owners[0][name] != owners[1][name]:
            yield f"{name} is made anew while it is still there"


def lost(old: Template, new: Template | None) -> Iterator[str]:
    """Say what an update of one resource loses, or why it is refused."""
    if new is None:
        if old["Type"] in HOLDING_DATA:
            yield "holds data, and goes"
        if name_of(old) and old.get("DeletionPolicy") == "Retain":
            yield "stays behind, so that it cannot be made again"
    elif new["Type"] != old["Type"]:
        yield "becomes something else"
    elif name_of(old) or old["Type"] in HOLDING_DATA:
        for each in replacing(old, new):
            yield f"is replaced, since {each} is another"


def replacing(old: Template, new: Template) -> Iterator[str]:
    """The properties whose change makes CloudFormation replace the resource."""
    found = schema(old["Type"])
    for kind in ("createOnlyProperties", "conditionalCreateOnlyProperties"):
        for each in found.get(kind, ()):
            if property_of(old, each) != property_of(new, each):
                yield each


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


def names(templates: Templates) -> dict[str, str]:
    return {
        name: f"{stack}.{logical_id}"
        for stack, template in templates.items()
        for logical_id, resource in template["Resources"].items()
        if (name := name_of(resource))
    }
