"""An update of a stack's resources: each change reaches its resource, or the update fails.

Every resource, those that it refers to first, has the properties of the new template resolved and
compared with those that it was last given. What differs is changed in place by the service's own
API, or the resource is replaced, as CloudFormation's reference says (``changes``). So a resource
that refers to a replaced one gets the other name. What this cloud cannot change fails the update
with a sentence that names property and resource.

moto compares the texts of the templates instead, leaves most properties as they were, and says
that the update is complete.
"""

import copy
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import AlreadyExistsException, CloudFormationError
from moto.cloudformation.models import cloudformation_backends
from moto.cloudformation.parsing import ResourceMap

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.deployments import inventory, references
from lifoq_localcloud.deployments.resources import changes, tags
from lifoq_localcloud.deployments.resources.resource import Properties, StandIn
from lifoq_localcloud.moto_adapter.patch import replace

_KEPT: Final = {"Retain", "RetainExceptOnCreate"}
"""Values of DeletionPolicy and UpdateReplacePolicy that leave a resource behind."""

_GONE: Final = re.compile("NotFound|NoSuch|NonExist|not found|does not exist")
"""The words in which the services' errors say that there is no such thing."""

_OF_TEMPLATE: Final = (
    *("_template", "_resource_json_map", "input_parameters", "resolved_parameters"),
    *("no_echo_parameter_keys", "lazy_condition_map"),
)
"""The attributes in which moto keeps the template that it resolves by."""

Template = dict[str, Any]


class UpdateRefusedError(CloudFormationError):
    """A property cannot be changed, by AWS's rules or in this cloud."""

    code = "ValidationError"


def install() -> None:
    """Let each resource remember the properties that it was made with."""
    replace(parsing, "parse_and_create_resource", create)


def create(
    logical_id: str,
    template: Template,
    resources: ResourceMap,
    account_id: str,
    region_name: str,
) -> Any:
    """Create a resource; None if its condition does not hold."""
    if not _is_wanted(template, resources):
        return None
    kind, properties, name = _resolved(logical_id, template, resources)
    _refuse_taken_name(kind, template["Type"], properties)
    made = kind.create_from_cloudformation_json(
        name,
        {**template, "Properties": copy.deepcopy(properties)},
        account_id,
        region_name,
        LogicalId=logical_id,
        StackId=resources.stack_id,
        ResourceType=template["Type"],
    )
    made.cf_resource_type = template["Type"]
    made.logical_resource_id = logical_id
    made.given_properties = properties
    try:
        if hasattr(kind, "complete"):
            kind.complete(made, copy.deepcopy(properties))
        if not isinstance(made, StandIn):
            tags.change(template["Type"], made, properties, before={})
    except Exception as error:
        # The stack does not know it yet: left behind, it would keep its name from the next one.
        for failure in _attempt(_delete, resources, made):
            raise failure from error
        raise
    return made


class Update:
    """One update of a stack's resources, which can be undone until it is finished."""

    def __init__(self, resources: ResourceMap) -> None:
        self._resources = resources
        self._before = resources._template  # noqa: SLF001 - no public way
        self._reading = {name: vars(resources)[name] for name in _OF_TEMPLATE}
        self._known = dict(resources._parsed_resources)  # noqa: SLF001 - as above
        self._standing = dict(_made(resources))
        self._changed: list[tuple[Any, Properties, Properties]] = []
        """Resources that were changed in place, each with its properties before and after."""

    def make(self, template: Template, parameters: dict[str, Any]) -> None:
        """Create, change and replace resources. Nothing is deleted yet. Raises what the first one
        that fails raises."""
        _read(self._resources, template, parameters)
        for logical_id in references.order(template["Resources"]):
            body = template["Resources"][logical_id]
            if logical_id not in self._standing:
                _ = self._resources[logical_id]  # moto creates what it is asked for
            elif _is_wanted(body, self._resources):
                self._change(logical_id, body)

    def finish(self) -> list[Exception]:
        """Delete what was replaced, and what the template no longer has, dependents first. Return
        why some could not be deleted: they are left behind."""
        errors = []
        template = self._resources._template["Resources"]  # noqa: SLF001
        for logical_id in reversed(references.order(self._before["Resources"])):
            old, body = self._standing.get(logical_id), self._before["Resources"][logical_id]
            if old is None:
                continue
            new = template.get(logical_id)
            if new is None or not _is_wanted(new, self._resources):
                del self._resources._parsed_resources[logical_id]  # noqa: SLF001
                policy = "DeletionPolicy"
            elif self._resources[logical_id] is not old:
                policy = "UpdateReplacePolicy"
            else:
                continue
            if body.get(policy) not in _KEPT:
                errors += _attempt(_delete, self._resources, old)
        return errors

    def undo(self) -> list[Exception]:
        """Bring everything back to what it was. Return why some could not be brought back."""
        errors = []
        made = _made(self._resources)
        template = self._resources._template["Resources"]  # noqa: SLF001
        for resource, before, after in reversed(self._changed):
            resource.given_properties = after  # where it cannot be brought back
            errors += _attempt(self._give, resource, before)
        for logical_id in reversed(references.order(template)):
            new = made.get(logical_id)
            if new is not None and new is not self._standing.get(logical_id):
                errors += _attempt(_delete, self._resources, new)
        # As it was read then: what it reads of Systems Manager may be gone by now.
        vars(self._resources).update(self._reading)
        known = self._resources._parsed_resources  # noqa: SLF001
        known.clear()
        known.update(self._known)
        return errors

    def _change(self, logical_id: str, body: Template) -> None:
        resource = self._standing[logical_id]
        kind, wanted, _ = _resolved(logical_id, body, self._resources)
        if body["Type"] != resource.cf_resource_type:
            raise UpdateRefusedError(
                "Update of resource type is not permitted. The new template modifies resource type "
                f"of the following resources: [{logical_id}]"
            )
        before = resource.given_properties
        changed = changes.between(before, wanted)
        if changed & changes.replacing(kind):
            self._replace(logical_id, kind, wanted)
        elif changed:
            if not isinstance(resource, StandIn):
                _refuse_unknown(logical_id, body["Type"], changed - changes.in_place(kind))
                changes.check(kind, wanted, before)
            self._changed.append((resource, before, wanted))
            self._give(resource, wanted)

    def _give(self, resource: Any, properties: Properties) -> None:
        if not isinstance(resource, StandIn):
            kind = parsing.resource_class_from_type(resource.cf_resource_type)
            changes.give(kind, resource, copy.deepcopy(properties), resource.given_properties)
        resource.given_properties = properties

    def _replace(self, logical_id: str, kind: Any, wanted: Properties) -> None:
        named = kind.cloudformation_name_type()
        name = wanted.get(named)
        if name is not None and name == self._standing[logical_id].given_properties.get(named):
            raise UpdateRefusedError(
                "CloudFormation cannot update a stack when a custom-named resource requires "
                f"replacing. Rename {name} and update the stack again."
            )
        del self._resources._parsed_resources[logical_id]  # noqa: SLF001
        _ = self._resources[logical_id]


def delete(resources: ResourceMap, *, retained: Collection[str] = _KEPT) -> list[Exception]:
    """Delete the resources of a stack, dependents first, but for those with a deletion policy of
    ``retained``. What cannot be deleted remains in the stack; return why."""
    errors = []
    bodies = resources._resource_json_map  # noqa: SLF001 - no public way
    for logical_id in reversed(references.order(bodies)):
        made = _made(resources).get(logical_id)
        if made is None:
            continue
        kept = bodies[logical_id].get("DeletionPolicy") in retained
        failed = [] if kept else _attempt(_delete, resources, made)
        if not failed:
            del resources._parsed_resources[logical_id]  # noqa: SLF001
        errors += failed
    there = _made(resources).keys()
    resources._resource_json_map = {name: bodies[name] for name in bodies if name in there}  # noqa: SLF001
    return errors


def _delete(resources: ResourceMap, resource: Any) -> None:
    """Delete a resource, or do nothing where it is gone with what it belonged to."""
    kind = type(resource)
    if not isinstance(resource, StandIn):
        kind = parsing.resource_class_from_type(resource.cf_resource_type)
    body = {"Type": resource.cf_resource_type, "Properties": resource.given_properties}
    try:
        if hasattr(kind, "destroy"):
            kind.destroy(resource)
        else:
            resources._delete_resource(resource, body)  # noqa: SLF001
    except Exception as error:
        if not _GONE.search(f"{type(error).__name__} {error}"):
            raise


def _attempt(action: Callable[..., None], *arguments: Any) -> list[Exception]:
    try:
        action(*arguments)
    except Exception as error:  # noqa: BLE001 - told among the stack's events
        return [error]
    return []


def _read(resources: ResourceMap, template: Template, parameters: dict[str, Any]) -> None:
    """Let moto resolve by this template from now on."""
    declared = template.get("Parameters", {})
    resources._template = template  # noqa: SLF001
    resources._resource_json_map = template["Resources"]  # noqa: SLF001
    resources.input_parameters = {k: v for k, v in parameters.items() if k in declared}
    resources.resolved_parameters = {}
    resources.load_mapping()
    resources.load_parameters()
    resources.load_conditions()


def _resolved(logical_id: str, body: Template, resources: ResourceMap) -> tuple[Any, Any, str]:
    """Return the class of a resource, its properties without references, and a name for it."""
    kind, resolved, name = parsing.parse_resource_and_generate_name(
        logical_id, copy.deepcopy(body), resources
    )
    return kind, resolved.get("Properties", {}), name


def _made(resources: ResourceMap) -> dict[str, Any]:
    """Return the resources that there are, by logical id; moto keeps parameters beside them."""
    parsed = resources._parsed_resources  # noqa: SLF001 - no public way
    return {name: one for name, one in parsed.items() if hasattr(one, "given_properties")}


def _is_wanted(body: Template, resources: ResourceMap) -> bool:
    condition = body.get("Condition")
    return condition is None or bool(resources.lazy_condition_map[condition])


def _refuse_taken_name(kind: Any, resource_type: str, properties: Properties) -> None:
    """A name that is given by hand belongs to one resource of its type: moto would hand out the
    same one twice."""
    name = properties.get(kind.cloudformation_name_type())
    if name is None or kind is StandIn:
        return
    for stack in cloudformation_backends[ACCOUNT][REGION].stacks.values():
        for one in _made(stack.resource_map).values():
            named = one.given_properties.get(kind.cloudformation_name_type())
            if one.cf_resource_type == resource_type and named == name:
                raise AlreadyExistsException(f"{name} already exists in stack {stack.stack_id}")


def _refuse_unknown(logical_id: str, resource_type: str, names: Iterable[str]) -> None:
    unknown = sorted(name for name in names if not inventory.does_nothing(resource_type, name))
    if unknown:
        raise UpdateRefusedError(
            f"The local cloud cannot change {' and '.join(unknown)} of {logical_id} "
            f"({resource_type}), which is deployed. Delete the stack and deploy it anew, or leave "
            "it as it was. docs/local-cloud.md lists what can be changed."
        )
