"""Deployments of stacks as CloudFormation makes them: whole, or rolled back.

moto lets a failure pass as the call's error and leaves the stack half made. It loses the exports of
change sets and of updates, takes a change set's name for unique among all stacks, and deletes
exports that others import. It takes values that nothing can run with, such as text for a number,
and deletes resources in no order. What an update does to the resources is in ``updates``.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from moto.cloudformation.exceptions import CloudFormationError, ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack
from moto.cloudformation.parsing import ResourceMap
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.ssm.models import ssm_backends

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.deployments import names, references, updates
from lifoq_localcloud.deployments.resources.changes import text
from lifoq_localcloud.moto_adapter.patch import replace


class ExportInUseError(CloudFormationError):
    """Another stack imports what would go."""

    code = "ValidationError"


class ChangeSetNotFoundError(CloudFormationError):
    code = "ChangeSetNotFound"


class ChangeSetStatusError(CloudFormationError):
    code = "InvalidChangeSetStatus"


_moto_create_stack = CloudFormationBackend.create_stack
_moto_create_change_set = CloudFormationBackend.create_change_set
_moto_parse_ssm_parameter = ResourceMap.parse_ssm_parameter

_NO_CHANGES: Final = (
    "The submitted information didn't contain changes. Submit different information to create a "
    "change set."
)
_lock = threading.RLock()
_check: Callable[[Iterable[Any]], object] = list


@contextmanager
def exclusive() -> Iterator[None]:
    """One call at a time: moto makes what a stack's outputs speak of when it is asked for them. Who
    asks while a stack is made, such as the next CLI after one that was killed, waits for its end.
    """
    with _lock:
        yield


def install(check: Callable[[Iterable[Any]], object]) -> None:
    """Put these in the place of moto's. ``check`` raises where one of a stack's resources cannot
    run: its deployment is rolled back."""
    global _check  # noqa: PLW0603 - moto's backends are global, too
    _check = check
    updates.install()
    names.install()
    replace(ResourceMap, "parse_ssm_parameter", parse_ssm_parameter)
    replace(Stack, "stack_resources", property(stack_resources))
    replace(CloudFormationBackend, "create_stack", create_stack)
    replace(CloudFormationBackend, "update_stack", update_stack)
    replace(CloudFormationBackend, "delete_stack", delete_stack)
    replace(CloudFormationBackend, "create_change_set", create_change_set)
    replace(CloudFormationResponse, "_validate_different_update", _leave_it_to_the_backend)
    replace(CloudFormationResponse, "describe_change_set", describe_change_set)
    replace(CloudFormationResponse, "execute_change_set", execute_change_set)
    replace(CloudFormationResponse, "delete_change_set", delete_change_set)


def stack_resources(stack: Stack) -> list[Any]:
    """Return what the stack has made. Moto lists what a condition leaves out, too, as None."""
    return [one for one in stack.resource_map.values() if one is not None]


def parse_ssm_parameter(resources: ResourceMap, name: str, kind: str) -> str:
    """Return the value of a parameter of Systems Manager that a template reads."""
    _check_stored(name)
    return _moto_parse_ssm_parameter(resources, name, kind)


def _check_stored(name: str) -> None:
    if ssm_backends[ACCOUNT][REGION].get_parameter(name) is None:
        raise ValidationError(
            message=f"Unable to fetch parameters [{name}] from parameter store for this account."
        )


# The calls


def create_stack(backend: CloudFormationBackend, name: str, **more: Any) -> Stack:
    if _standing(backend, name) is not None:
        return _moto_create_stack(backend, name, **more)  # says that it exists
    references.check(Stack.parse_template(more["template"]))
    try:
        created = _moto_create_stack(backend, name, **more)
        _check_all(created)
    except Exception as error:
        stack = _standing(backend, name)
        if stack is None:
            raise
        _undo_creation(backend, stack, error)
        return stack
    return created


def update_stack(
    backend: CloudFormationBackend,
    *,
    name: str,
    template: str,
    parameters: list[dict[str, Any]],
    tags: dict[str, str] | None,
    **_: Any,
) -> Stack:
    stack = backend.get_stack(name)
    references.check(Stack.parse_template(template))
    resolved = backend._resolve_update_parameters(stack, parameters)  # noqa: SLF001
    if not _differs(stack, template, resolved, tags):
        raise ValidationError(message="No updates are to be performed.")
    _update(backend, stack, template, resolved, tags)
    return stack


def delete_stack(backend: CloudFormationBackend, name_or_stack_id: str) -> None:
    stack = backend.stacks.get(name_or_stack_id) or _standing(backend, name_or_stack_id)
    if stack is None:
        return
    try:
        _refuse_exports_in_use(backend, stack, {})
    except ExportInUseError as error:
        _tell(stack, "DELETE_FAILED", error)
        return
    _begin(stack, "DELETE_IN_PROGRESS")
    errors = updates.delete(stack.resource_map)
    # moto makes anew what is gone when it is asked for an output that speaks of it.
    stack.template_dict = {"Resources": stack.resource_map._resource_json_map}  # noqa: SLF001
    stack.output_map = stack._create_output_map()  # noqa: SLF001
    _export(backend, stack)
    for failure in errors:
        _tell(stack, "DELETE_FAILED", failure)
    if not errors:
        _forget_change_sets(backend, stack)
        backend.deleted_stacks[stack.stack_id] = backend.stacks.pop(stack.stack_id)
        _begin(stack, "DELETE_COMPLETE")


def create_change_set(
    backend: CloudFormationBackend, stack_name: str, *, parameters: dict[str, str], **more: Any
) -> tuple[str, str]:
    references.check(Stack.parse_template(more["template"]))
    stack = _standing(backend, stack_name)
    if stack is not None and stack.status == "REVIEW_IN_PROGRESS":
        del backend.stacks[stack.stack_id]  # of a change set that was never executed
        _forget_change_sets(backend, stack)
    elif stack is not None:
        parameters = _unresolved(stack, parameters)
    for key, declared in (Stack.parse_template(more["template"]).get("Parameters") or {}).items():
        stored = parameters.get(key, declared.get("Default"))
        if stored and declared["Type"].startswith("AWS::SSM::Parameter::"):
            _check_stored(stored)
    change_set_id, stack_id = _moto_create_change_set(
        backend, stack_name, parameters=parameters, **more
    )
    change_set = backend.change_sets[change_set_id]
    tags = change_set.tags or None
    if stack_id in backend.stacks and change_set.change_set_type == "UPDATE":
        updated = backend.stacks[stack_id]
        differs = _differs(updated, change_set.template, change_set.parameters, tags)
        change_set.status = "CREATE_COMPLETE" if differs else "FAILED"
        change_set.execution_status = "AVAILABLE" if differs else "UNAVAILABLE"
        change_set.status_reason = None if differs else _NO_CHANGES
    return change_set_id, stack_id


def _differs(
    stack: Stack, template: str, parameters: dict[str, Any], tags: dict[str, str] | None
) -> bool:
    """True if an update has anything to do: another template, parameter, tag, or another value of
    a parameter of Systems Manager that the template reads."""
    declared = stack.template_dict.get("Parameters", {})
    resources = stack.resource_map
    return (
        stack.template_dict != Stack.parse_template(template)
        or bool(parameters and _given(declared, parameters) != _given(declared, stack.parameters))
        or (tags is not None and tags != stack.tags)
        or any(
            resources.parse_ssm_parameter(stack.parameters.get(name, one.get("Default")), kind)
            != resources.resolved_parameters.get(name)
            for name, one in declared.items()
            if (kind := one.get("Type", "")).startswith("AWS::SSM::Parameter::")
        )
    )


def _given(declared: dict[str, Any], parameters: dict[str, Any]) -> dict[str, str]:
    """Return the value of each parameter, its default where none is given."""
    return {
        name: text(parameters.get(name, one.get("Default", ""))) for name, one in declared.items()
    }


def _leave_it_to_the_backend(_response: Any, *_: Any) -> None:
    """moto looks only at updates with parameters, and refuses a change set that AWS lets fail."""


def _unresolved(stack: Stack, parameters: dict[str, str]) -> dict[str, str]:
    """A parameter that names an SSM parameter keeps the name for its previous value; moto takes
    what it read under that name."""
    declared = stack.template_dict.get("Parameters", {})
    read = {
        key
        for key, value in parameters.items()
        if declared.get(key, {}).get("Type", "").startswith("AWS::SSM::Parameter::")
        and value == stack.stack_parameters.get(key)
    }
    named = {key: stack.parameters[key] for key in read if key in stack.parameters}
    return {key: value for key, value in parameters.items() if key not in read} | named


def describe_change_set(response: CloudFormationResponse) -> ActionResult:
    return ActionResult(_change_set(response))


def execute_change_set(response: CloudFormationResponse) -> ActionResult:
    backend, change_set = response.cloudformation_backend, _change_set(response)
    if change_set.status == "FAILED":
        raise ChangeSetStatusError(
            f"ChangeSet [{change_set.change_set_id}] cannot be executed in its current status of "
            "[FAILED]"
        )
    stack = backend.stacks[change_set.stack_id]
    if change_set.change_set_type == "CREATE":
        _create(backend, stack, change_set)
    else:
        _update(backend, stack, change_set.template, change_set.parameters, change_set.tags)
    change_set.execution_status = "EXECUTE_COMPLETE"
    return EmptyResult()


def delete_change_set(response: CloudFormationResponse) -> ActionResult:
    try:
        change_set = _change_set(response)
    except ChangeSetNotFoundError:
        return EmptyResult()
    del response.cloudformation_backend.change_sets[change_set.change_set_id]
    return EmptyResult()


def _change_set(response: CloudFormationResponse) -> ChangeSet:
    """Return the change set of this name and stack: the CDK CLI gives the change sets of all
    stacks the same name."""
    name, stack = response._get_param("ChangeSetName"), response._get_param("StackName")  # noqa: SLF001
    for found in reversed(response.cloudformation_backend.change_sets.values()):
        if name == found.change_set_id:
            return found
        if name == found.change_set_name and stack in {found.stack_name, found.stack_id}:
            return found
    raise ChangeSetNotFoundError(f"ChangeSet [{name}] does not exist")


def _forget_change_sets(backend: CloudFormationBackend, stack: Stack) -> None:
    """They go with their stack: the next of its name is another."""
    for one in [one for one in backend.change_sets.values() if one.stack_id == stack.stack_id]:
        del backend.change_sets[one.change_set_id]


# Creation


def _create(backend: CloudFormationBackend, stack: Stack, change_set: ChangeSet) -> None:
    """Create the resources of a stack that came with its change set, like ``CreateStack``."""
    stack.template, stack.parameters = change_set.template, change_set.parameters
    stack.tags = change_set.tags or {}
    stack.cross_stack_resources = backend.exports
    _begin(stack, "CREATE_IN_PROGRESS")
    try:
        stack._parse_template()  # noqa: SLF001
        _read_template(stack)
        _refuse_exports_of_others(backend, stack)
        stack.create_resources()
        _check_all(stack)
    except Exception as error:  # noqa: BLE001 - AWS tells by the stack's status, too
        _undo_creation(backend, stack, error)
        return
    _export(backend, stack)


def _check_all(stack: Stack) -> None:
    """Raise where a resource cannot run, or an output cannot be told: moto would find that out each
    time that somebody looks at the stack."""
    _check(stack.stack_resources)
    list(stack.output_map.values())


def _undo_creation(backend: CloudFormationBackend, stack: Stack, error: Exception) -> None:
    """Delete the resources that were made. The stack itself stays, for people to see why, and to
    delete."""
    _tell(stack, "CREATE_FAILED", error)
    _begin(stack, "ROLLBACK_IN_PROGRESS")
    for failure in updates.delete(stack.resource_map, retained={"Retain"}):
        _tell(stack, "ROLLBACK_FAILED", failure)
    # An empty template, since to ask moto for an output makes the resources that it speaks of.
    stack.template_dict = {"Resources": {}}
    _read_template(stack)
    _export(backend, stack)
    _begin(stack, "ROLLBACK_COMPLETE")


# Update


def _update(
    backend: CloudFormationBackend,
    stack: Stack,
    template: str,
    parameters: dict[str, Any],
    tags: dict[str, str] | None,
) -> None:
    """Make new and changed resources first, and delete the others afterwards: until then the update
    can be undone."""
    before, after = stack.template_dict, Stack.parse_template(template)
    update = updates.Update(stack.resource_map)
    stack.cross_stack_resources = stack.resource_map.cross_stack_resources = backend.exports
    _begin(stack, "UPDATE_IN_PROGRESS")
    try:
        update.make(after, parameters or stack.resource_map.input_parameters)
        stack.template_dict = after
        stack.output_map = stack._create_output_map()  # noqa: SLF001
        _refuse_exports_of_others(backend, stack)
        _refuse_exports_in_use(backend, stack, {one.name: one.value for one in stack.exports})
        _check_all(stack)
    except Exception as error:  # noqa: BLE001 - AWS tells by the stack's status, too
        _tell(stack, "UPDATE_FAILED", error)
        _begin(stack, "UPDATE_ROLLBACK_IN_PROGRESS")
        for failure in update.undo():  # passed over; the next deployment can mend it
            _tell(stack, "UPDATE_ROLLBACK_FAILED", failure)
        stack.template_dict = before
        stack.output_map = stack._create_output_map()  # noqa: SLF001
        _begin(stack, "UPDATE_ROLLBACK_COMPLETE")
        return
    for failure in update.finish():  # left behind, as on AWS
        _tell(stack, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", failure)
    stack.template, stack.description = template, after.get("Description")
    stack.parameters = parameters or stack.parameters
    stack.tags = stack.tags if tags is None else tags
    _export(backend, stack)
    _begin(stack, "UPDATE_COMPLETE")


# Exports


def _export(backend: CloudFormationBackend, stack: Stack) -> None:
    """Exactly these are the stack's from now on."""
    for name in [n for n, one in backend.exports.items() if _is_of(one, stack)]:
        del backend.exports[name]
    for export in stack.exports:
        backend.exports[export.name] = export


def _refuse_exports_of_others(backend: CloudFormationBackend, stack: Stack) -> None:
    """An export has one stack, in a region."""
    for export in stack.exports:
        there = backend.exports.get(export.name)
        if there is not None and not _is_of(there, stack):
            other = backend.stacks[there.exporting_stack_id].name
            raise ValidationError(
                message=f"Export with name {export.name} is already exported by stack {other}"
            )


def _refuse_exports_in_use(
    backend: CloudFormationBackend, stack: Stack, remaining: dict[str, str]
) -> None:
    """An export that another stack imports must neither go nor change."""
    for name, export in backend.exports.items():
        if not _is_of(export, stack) or remaining.get(name) == export.value:
            continue
        users = [
            other.name
            for other in backend.stacks.values()
            if other is not stack and name in set(_imports(other.template_dict))
        ]
        if users:
            what = "updated" if name in remaining else "deleted"
            raise ExportInUseError(
                f"Export {name} cannot be {what} as it is in use by {' and '.join(users)}"
            )


def _imports(document: Any) -> Iterator[str]:
    """The names of the exports that a template asks for."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key == "Fn::ImportValue" and isinstance(value, str):
                yield value
            else:
                yield from _imports(value)
    elif isinstance(document, list):
        for value in document:
            yield from _imports(value)


def _is_of(export: Any, stack: Stack) -> bool:
    return bool(export.exporting_stack_id == stack.stack_id)


# Small parts


def _standing(backend: CloudFormationBackend, name: str) -> Stack | None:
    return next((stack for stack in backend.stacks.values() if stack.name == name), None)


def _read_template(stack: Stack) -> None:
    stack.resource_map = stack._create_resource_map()  # noqa: SLF001
    stack.output_map = stack._create_output_map()  # noqa: SLF001


def _begin(stack: Stack, status: str) -> None:
    stack.status = status
    stack._add_stack_event(status)  # noqa: SLF001


def _tell(stack: Stack, status: str, error: Exception) -> None:
    stack.status = status
    reason = str(error) or type(error).__name__
    stack._add_stack_event(status, resource_status_reason=reason)  # noqa: SLF001
