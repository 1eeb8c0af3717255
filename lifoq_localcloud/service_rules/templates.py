"""A template, held against AWS's schema of each type of resource, before anything is made.

The schemas are those that CloudFormation itself goes by, as cfn-lint brings them. What only the
deployment knows (``{"Ref": …}``, ``{"Fn::GetAtt": …}``) fits everywhere. Text may stand for numbers
and truth values, as CloudFormation takes it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend

from lifoq_localcloud.service_rules import documents, event_rules, functions, queues, schedules
from lifoq_localcloud.service_rules.refused import RefusedError

TEMPLATE: Final = "ValidationError"
"""The code of all that CloudFormation itself refuses."""
REGION: Final = "us-east-1"

VERSION: Final = "2010-09-09"
SECTIONS: Final = frozenset(
    {
        *("AWSTemplateFormatVersion", "Description", "Metadata", "Parameters", "Mappings"),
        *("Conditions", "Rules", "Transform", "Hooks", "Resources", "Outputs", "Globals"),
    }
)
PARTS: Final = frozenset(
    {
        *("Type", "Properties", "DependsOn", "Condition", "Metadata", "DeletionPolicy"),
        *("UpdatePolicy", "UpdateReplacePolicy", "CreationPolicy", "Version"),
    }
)
"""Members that a resource may have
(https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/resources-section.html)."""
_LOGICAL_ID: Final = re.compile("[A-Za-z0-9]{1,255}")
_STACK: Final = re.compile(r"[a-zA-Z][-a-zA-Z0-9]{0,127}|arn:.+")

CHECKS: Final[Mapping[str, Callable[[dict[str, Any]], None]]] = {
    "AWS::Lambda::Function": functions.check_new,
    "AWS::Lambda::EventSourceMapping": functions.check_mapping,
    "AWS::Scheduler::Schedule": schedules.check,
    "AWS::Events::Rule": event_rules.check,
    "AWS::SQS::Queue": queues.check,
    "AWS::Logs::LogGroup": documents.check_retention,
}
"""The rules of each type: those of its service that speak of properties by the same names."""

NAMED: Final = {
    "AWS::IAM::Group": "GroupName",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Policy": "",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::User": "UserName",
    "AWS::IAM::AccessKey": "",
    "AWS::IAM::UserToGroupAddition": "",
}
"""The types that need a capability, with the property whose presence asks for the stronger one."""


def check_stack_name(name: str) -> None:
    """Hold the name of a stack against CloudFormation's rule, which its model does not have."""
    if not _STACK.fullmatch(name):
        raise RefusedError(
            TEMPLATE,
            f"1 validation error detected: Value '{name}' at 'stackName' failed to satisfy "
            "constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*",
        )


def check_capabilities(template: Any, given: list[str]) -> None:
    """Refuse IAM resources where the caller has not said that they are wanted."""
    wanted = set()
    for resource in _resources(template).values():
        name = NAMED.get(resource.get("Type", ""))
        if name is not None:
            named = bool(name) and name in (resource.get("Properties") or {})
            wanted.add("CAPABILITY_NAMED_IAM" if named else "CAPABILITY_IAM")
    if "CAPABILITY_NAMED_IAM" in given or not wanted:
        return
    if "CAPABILITY_NAMED_IAM" in wanted or "CAPABILITY_IAM" not in given:
        told = ", ".join(sorted(wanted, key=len, reverse=True)[:1])
        raise RefusedError("InsufficientCapabilitiesException", f"Requires capabilities : [{told}]")


def check_parameters(template: Any, given: Mapping[str, Any]) -> None:
    """Hold values against the constraints of the parameters that a template declares."""
    declared = template.get("Parameters") or {} if isinstance(template, dict) else {}
    if strangers := sorted(given.keys() - declared.keys()):
        raise RefusedError(
            TEMPLATE, f"Parameters: [{', '.join(strangers)}] do not exist in the template"
        )
    missing = [name for name, one in declared.items() if "Default" not in one and name not in given]
    if missing:
        raise RefusedError(TEMPLATE, f"Parameters: [{', '.join(missing)}] must have values")
    for name, value in given.items():
        if value is None:
            continue  # the previous value, which has been checked
        for told in _wrong_parameter(declared[name], str(value)):
            text = declared[name].get("ConstraintDescription")
            because = f" failed to satisfy constraint: {text}" if text else f" {told}"
            raise RefusedError(TEMPLATE, f"Parameter '{name}'{because}")


def _wrong_parameter(declared: Mapping[str, Any], value: str) -> Iterator[str]:
    if "AllowedValues" in declared and value not in map(str, declared["AllowedValues"]):
        yield "must be one of AllowedValues"
    if "AllowedPattern" in declared and not re.fullmatch(declared["AllowedPattern"], value):
        yield f"must match pattern {declared['AllowedPattern']}"
    if len(value) < int(declared.get("MinLength", 0)):
        yield f"must contain at least {declared['MinLength']} characters"
    if "MaxLength" in declared and len(value) > int(declared["MaxLength"]):
        yield f"must contain at most {declared['MaxLength']} characters"
    if declared.get("Type") == "Number":
        if not _NUMBER.fullmatch(value):
            yield "must be a number"
        elif "MinValue" in declared and float(value) < float(declared["MinValue"]):
            yield f"must be a number not less than {declared['MinValue']}"
        elif "MaxValue" in declared and float(value) > float(declared["MaxValue"]):
            yield f"must be a number not greater than {declared['MaxValue']}"


def check_form(template: Any) -> None:
    """Hold the sections of a template, and the form of each resource, against the grammar."""
    if not isinstance(template, dict):
        raise RefusedError(TEMPLATE, "Template format error: unsupported structure.")
    if strangers := sorted(map(str, template.keys() - SECTIONS)):
        raise RefusedError(
            TEMPLATE, f"Invalid template property or properties [{', '.join(strangers)}]"
        )
    version = template.get("AWSTemplateFormatVersion", VERSION)
    if str(version) != VERSION:
        raise RefusedError(
            TEMPLATE,
            "Template format error: unsupported value for AWSTemplateFormatVersion: "
            f"{version} is not {VERSION}.",
        )
    resources = template.get("Resources")
    if "Transform" in template:
        return  # a macro may bring what is missing
    if not isinstance(resources, dict) or not resources:
        raise _malformed("At least one Resources member must be defined.")
    for name, resource in resources.items():
        _check_resource(str(name), resource, resources)
    for name, output in (template.get("Outputs") or {}).items():
        if not isinstance(output, dict) or "Value" not in output:
            raise _malformed(
                f"Output {name} is malformed. The Value field of every Outputs "
                "member must be specified."
            )


def _check_resource(name: str, resource: Any, resources: dict[str, Any]) -> None:
    if not _LOGICAL_ID.fullmatch(name):
        raise _malformed(f"Resource name {name} is non alphanumeric.")
    if not isinstance(resource, dict) or not isinstance(resource.get("Type"), str):
        raise _malformed(f"[/Resources/{name}] Every Resources object must contain a Type member.")
    if strangers := sorted(resource.keys() - PARTS):
        raise RefusedError(
            TEMPLATE, f"Invalid template resource property '{strangers[0]}' of {name}"
        )
    wanted = resource.get("DependsOn") or []
    missing = [
        one for one in ([wanted] if isinstance(wanted, str) else wanted) if one not in resources
    ]
    if missing:
        raise _malformed(
            f"Unresolved resource dependencies [{', '.join(missing)}] in the "
            "Resources block of the template"
        )


def _malformed(told: str) -> RefusedError:
    return RefusedError(TEMPLATE, f"Template format error: {told}")


def check(template: Any) -> None:
    """Hold each resource's properties against its schema, and against its service's rules."""
    for logical_id, resource in _resources(template).items():
        kind = str(resource.get("Type", ""))
        properties = resource.get("Properties") or {}
        for told in _wrong_properties(kind, properties):
            raise RefusedError(
                TEMPLATE, f"Properties validation failed for resource {logical_id}: {told}"
            )
        if (own := CHECKS.get(kind)) is not None:
            try:
                own(properties)
            except RefusedError as error:
                raise RefusedError(TEMPLATE, f"Resource {logical_id} ({kind}): {error}") from error


def _resources(template: Any) -> dict[str, Any]:
    """Return the resources; none of a template that a macro has yet to change."""
    if not isinstance(template, dict) or "Transform" in template:
        return {}
    found = template.get("Resources")
    return found if isinstance(found, dict) else {}


def _wrong_properties(kind: str, properties: Any) -> Iterator[str]:
    validator = _validator(kind)
    if validator is None:
        return
    for error in validator.iter_errors(properties):
        place = "/".join(map(str, error.absolute_path))
        if error.validator == "additionalProperties":
            yield f"Encountered unsupported property {_unknown(error, place)}"
        else:
            yield f"#/{place}: {error.message}"


def _unknown(error: ValidationError, place: str) -> str:
    known = {*error.schema.get("properties", {})}
    names = sorted({*error.instance} - known)
    return ", ".join(f"{place}/{name}" if place else name for name in names)


@cache
def _validator(kind: str) -> Any:
    known = schema(kind)
    return _LENIENT(known) if known else None


@cache
def schema(kind: str) -> dict[str, Any]:
    """Return the schema of a type; nothing of a custom resource, or a type of the CDK's own."""
    known = _known_types()
    if kind not in known:
        return {}
    text = (_schemas() / "resources" / f"{known[kind]}.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def replaced_by(kind: str) -> frozenset[str]:
    """Return the properties of a type whose change makes CloudFormation replace the resource."""
    known = schema(kind)
    paths = (
        path.split("/")[2:]
        for key in ("createOnlyProperties", "conditionalCreateOnlyProperties")
        for path in known.get(key, ())
    )
    return frozenset(path[0] for path in paths if len(path) == 1)


@cache
def _known_types() -> dict[str, str]:
    known: dict[str, str] = json.loads((_schemas() / "providers" / f"{REGION}.json").read_text())
    return known


def _schemas() -> Path:
    """Return the folder of cfn-lint's data. To import cfn-lint itself takes a second."""
    spec = find_spec("cfnlint")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("cfn-lint, which brings CloudFormation's schemas")
    return Path(spec.origin).parent / "data" / "schemas"


# How CloudFormation reads JSON

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_INTEGER: Final = re.compile(r"-?\d+")


def _is_function(value: Any) -> bool:
    """True for what only a deployment knows."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    name = next(iter(value))
    return name in {"Ref", "Condition"} or str(name).startswith("Fn::")


def _unless_function(rule: Any) -> Any:
    def checked(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not _is_function(value):
            try:
                yield from rule(validator, wanted, value, schema) or ()
            except re.error:
                return  # an expression of another language than Python's

    return checked


def _is_number(_checker: Any, value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain or (isinstance(value, str) and _NUMBER.fullmatch(value) is not None)


def _is_integer(_checker: Any, value: Any) -> bool:
    plain = isinstance(value, int) and not isinstance(value, bool)
    return plain or (isinstance(value, str) and _INTEGER.fullmatch(value) is not None)


def _is_boolean(_checker: Any, value: Any) -> bool:
    return isinstance(value, bool) or value in {"true", "false", "True", "False"}


def _is_string(_checker: Any, value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _numeric(rule: Any) -> Any:
    """A bound that text stands under, too: ``"901"`` is more than 900."""

    def checked(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, str):
            if not _NUMBER.fullmatch(value):
                return
            value = float(value)
        yield from rule(validator, wanted, value, schema) or ()

    return checked


def _as_text(rule: Any) -> Any:
    def checked(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, str):
            yield from rule(validator, wanted, value, schema) or ()

    return checked


def _lenient() -> Any:
    rules = dict(Draft7Validator.VALIDATORS)
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        rules[name] = _numeric(rules[name])
    for name in ("pattern", "minLength", "maxLength"):
        rules[name] = _as_text(rules[name])
    rules["oneOf"] = rules["anyOf"]  # what only a deployment knows fits several
    rules.pop("format", None)
    types = Draft7Validator.TYPE_CHECKER.redefine_many(
        {
            "number": _is_number,
            "integer": _is_integer,
            "boolean": _is_boolean,
            "string": _is_string,
        }
    )
    return extend(
        Draft7Validator,
        validators={name: _unless_function(rule) for name, rule in rules.items()},
        type_checker=types,
    )


_LENIENT: Final = _lenient()
