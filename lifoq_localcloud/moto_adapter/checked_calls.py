"""Each call of a service's API is held against AWS's rules before moto sees it.

A call that brings CloudFormation a template is refused for what is wrong with the template.
DynamoDB's calls are held by ``table_rules``.
"""

from typing import Any, Final

from moto.cloudformation.models import Stack, cloudformation_backends
from moto.cloudformation.utils import get_stack_from_s3_url
from moto.core.exceptions import ServiceException
from yaml import YAMLError  # type: ignore[import-untyped] # it has no types

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.moto_adapter import tokens, wire
from lifoq_localcloud.moto_adapter.wire import Answer, Call, MalformedError
from lifoq_localcloud.service_rules import calls, templates
from lifoq_localcloud.service_rules.refused import RefusedError

_WITH_TEMPLATE: Final = {"CreateStack", "UpdateStack", "CreateChangeSet", "ValidateTemplate"}
_WITH_NAME: Final = {"CreateStack", "CreateChangeSet"}


def refusal(service: str, environ: dict[str, Any]) -> Answer | None:
    """Return the answer to a request that AWS refuses, whatever there is; None for all others."""
    call = wire.read(service, environ)
    if call is None or call.service == "dynamodb":
        return None
    try:
        _check(call)
    except RefusedError as error:
        return call.refusal(error.code, str(error))
    return None


def not_imitated(service: str, environ: dict[str, Any], told: str) -> Answer:
    """Return the answer to a call that moto has no answer for."""
    call = wire.read(service, environ)
    if call is None:
        raise NotImplementedError(told)
    return call.refusal("NotImitatedException", told)


def _check(call: Call) -> None:
    try:
        asked = call.asked()
    except MalformedError as error:
        raise RefusedError(calls.malformed_code(call.protocol), str(error)) from error
    calls.check(call.operation, asked)
    tokens.check(call.service, call.operation.name, asked)
    if call.service == "cloudformation" and call.operation.name in _WITH_TEMPLATE:
        _check_template(call.operation.name, asked)


def _check_template(operation: str, asked: dict[str, Any]) -> None:
    """Hold a template and what is given with it against CloudFormation's rules."""
    if operation in _WITH_NAME:
        templates.check_stack_name(asked["StackName"])
    if asked.get("TemplateBody") and asked.get("TemplateURL"):
        raise RefusedError(
            templates.TEMPLATE, "Either Template URL or Template Body must be specified, not both."
        )
    text = asked.get("TemplateBody")
    if asked.get("TemplateURL"):
        text = _from_bucket(asked["TemplateURL"])
    if not text:
        if not asked.get("UsePreviousTemplate"):
            raise RefusedError(
                templates.TEMPLATE, "Either Template URL or Template Body must be specified."
            )
        _check_previous(asked.get("StackName", ""))
        return  # the previous template has been checked
    template = _parsed(text)
    templates.check_form(template)
    templates.check(template)
    if operation == "ValidateTemplate":
        return
    given = {
        one["ParameterKey"]: one.get("ParameterValue") for one in asked.get("Parameters") or []
    }
    templates.check_parameters(template, given)
    templates.check_capabilities(template, asked.get("Capabilities") or [])


def _check_previous(name: str) -> None:
    """Refuse the previous template of a stack that is not there."""
    stacks = list(cloudformation_backends[ACCOUNT][REGION].stacks.values())
    if not any(name in {one.name, one.stack_id} for one in stacks):
        raise RefusedError(templates.TEMPLATE, f"Stack [{name}] does not exist")


def _from_bucket(address: str) -> str:
    try:
        return get_stack_from_s3_url(address, account_id=ACCOUNT, partition="aws")
    except (ServiceException, AttributeError, ValueError) as error:
        # moto finds no bucket, takes no object for one, or reads no path in the address.
        raise RefusedError(
            templates.TEMPLATE, f"S3 error: there is no template at {address}"
        ) from error


def _parsed(text: str) -> Any:
    try:
        return Stack.parse_template(text)
    except (YAMLError, ValueError) as error:
        raise RefusedError(
            templates.TEMPLATE, f"Template format error: JSON or YAML not well-formed. {error}"
        ) from error
