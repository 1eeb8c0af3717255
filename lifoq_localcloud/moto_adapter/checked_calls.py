"""Each call of a service's API is held against AWS's rules before moto answers it.

A call that brings CloudFormation a template is refused for what is wrong with the template.
"""

from typing import Any, Final

from moto.cloudformation.models import Stack
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse

from lifoq_localcloud.moto_adapter.patch import replace
from lifoq_localcloud.service_rules import calls, templates
from lifoq_localcloud.service_rules.refused import RefusedError

_WITH_TEMPLATE: Final = {"CreateStack", "UpdateStack", "CreateChangeSet", "ValidateTemplate"}


class ServiceRefusal(ServiceException):
    """A refusal that moto tells in the protocol of the service that was called."""


def install() -> None:
    """Refuse what AWS refuses, in the form in which the service tells it."""
    answer = BaseResponse.call_action

    def call_action(response: BaseResponse) -> Any:
        service, operation = response.boto3_service_name, response._get_action()  # noqa: SLF001
        if operation and calls.knows(service, operation):
            try:
                asked = _asked(response)
                calls.check(service, operation, asked)
                if service == "cloudformation" and operation in _WITH_TEMPLATE:
                    _check_template(response, operation, asked)
            except RefusedError as error:
                return response.serialized(ActionResult(ServiceRefusal(error.code, str(error))))
        return answer(response)

    replace(BaseResponse, "call_action", call_action)


def _asked(response: BaseResponse) -> dict[str, Any]:
    """Return the call's parameters, by the names of the service's model."""
    if response.automated_parameter_parsing:
        return dict(response.params)
    parsed = type(response).__new__(type(response))
    vars(parsed).update(vars(response))  # what moto reads of the response stays as it is
    parsed.parse_parameters(response.normalized_request)
    return dict(parsed.params)


def _check_template(response: Any, operation: str, asked: dict[str, Any]) -> None:
    """Hold a template and what is given with it against CloudFormation's rules."""
    text = asked.get("TemplateBody")
    if asked.get("TemplateURL"):
        text = response._get_stack_from_s3_url(asked["TemplateURL"])  # noqa: SLF001 - no public way
    if not text:
        return  # the previous template, which has been checked
    template = Stack.parse_template(text)
    templates.check(template)
    if operation == "ValidateTemplate":
        return
    given = {
        one["ParameterKey"]: one.get("ParameterValue") for one in asked.get("Parameters") or []
    }
    templates.check_parameters(template, given)
    templates.check_capabilities(template, asked.get("Capabilities") or [])
