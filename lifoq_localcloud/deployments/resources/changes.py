"""Changes of a deployed resource: its type's class says which properties can be changed in place,
and AWS's schema of the type which make CloudFormation replace it.

A class has, beside what moto wants of it:

- ``CHANGES``: the properties that ``change`` brings to the service.
- ``REPLACED``: properties that CloudFormation's reference replaces by, and the schema does not.
- ``change(resource, properties, before)``: give a resource its new properties.
- ``check(properties, before)``, if the service refuses some changes: raise its sentence.
- ``complete(resource, properties)``, where moto makes less of a resource than its template says:
  make the rest. If it fails, the resource is deleted.
- ``destroy(resource)``, where moto does not delete as AWS does.

A type without them can be created, replaced and deleted.
"""

import json
from typing import Any

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.deployments.resources import tags
from lifoq_localcloud.deployments.resources.resource import Properties
from lifoq_localcloud.service_rules import templates


def in_place(kind: Any) -> frozenset[str]:
    """The properties of a type that can be changed in place."""
    own: frozenset[str] = getattr(kind, "CHANGES", frozenset())
    return own | {"Tags"} if tags.are_kept(kind.cloudformation_type()) else own


def replacing(kind: Any) -> frozenset[str]:
    """The properties of a type whose change makes another resource of it."""
    own: frozenset[str] = getattr(kind, "REPLACED", frozenset())
    return own | templates.replaced_by(kind.cloudformation_type())


def check(kind: Any, properties: Properties, before: Properties) -> None:
    """Raise where the service does not change a resource of a type like this."""
    if hasattr(kind, "check"):
        kind.check(properties, before)


def give(kind: Any, resource: Any, properties: Properties, before: Properties) -> None:
    """Change a resource in place to ``properties``; ``before``: those that it has."""
    if between(before, properties) & getattr(kind, "CHANGES", frozenset()):
        kind.change(resource, properties, before)
    tags.change(kind.cloudformation_type(), resource, properties, before)


def between(before: Properties, after: Properties) -> frozenset[str]:
    """Return the names of the properties that differ. A number or a boolean is equal to its text,
    as in CloudFormation."""
    names = before.keys() | after.keys()
    return frozenset(name for name in names if _plain(before.get(name)) != _plain(after.get(name)))


def text(value: Any) -> str:
    """Return a property as an attribute of a service that knows texts only."""
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if value is None else text(value)


class ByMoto:
    """A type that moto itself changes as AWS does."""

    @classmethod
    def change(cls, resource: Any, properties: Properties, before: Properties) -> None:  # noqa: ARG003 - as for all types
        kind: Any = cls
        kind.update_from_cloudformation_json(
            original_resource=resource,
            new_resource_name=resource.physical_resource_id,
            cloudformation_json={"Type": kind.cloudformation_type(), "Properties": properties},
            account_id=ACCOUNT,
            region_name=REGION,
        )
