"""A call of a service's API, held against the service's model and its rules."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from botocore.model import ServiceModel, StructureShape
from botocore.session import get_session

from lifoq_localcloud.basics.constraints import Constraints
from lifoq_localcloud.service_rules import (
    documents,
    event_rules,
    functions,
    queues,
    schedules,
    state_machines,
    topics,
)
from lifoq_localcloud.service_rules.refused import LAMBDA_VALUE, VALIDATION, RefusedError

Check = Callable[[dict[str, Any]], None]

CHECKS: Final[Mapping[str, Mapping[str, Check]]] = {
    "lambda": {
        "CreateFunction": functions.check_new,
        "UpdateFunctionConfiguration": functions.check,
        "CreateEventSourceMapping": functions.check_mapping,
    },
    "scheduler": {"CreateSchedule": schedules.check, "UpdateSchedule": schedules.check},
    "events": {"PutRule": event_rules.check, "PutEvents": event_rules.check_entries},
    "stepfunctions": {
        "CreateStateMachine": state_machines.check_new,
        "UpdateStateMachine": state_machines.check,
        "StartExecution": state_machines.check_input,
        "StartSyncExecution": state_machines.check_input,
        "SendTaskSuccess": state_machines.check_output,
    },
    "sqs": {
        "CreateQueue": queues.check_attributes,
        "SetQueueAttributes": queues.check_attributes,
        "SendMessage": queues.check_message,
    },
    "sns": {
        "Publish": topics.check_message,
        "Subscribe": topics.check_subscription,
        "SetSubscriptionAttributes": topics.check_subscription_attribute,
    },
    "iam": {
        "CreateRole": documents.check_trust,
        "UpdateAssumeRolePolicy": documents.check_policy,
        "PutRolePolicy": documents.check_policy,
        "CreatePolicy": documents.check_policy,
        "CreatePolicyVersion": documents.check_policy,
    },
    "ssm": {"PutParameter": documents.check_parameter},
    "logs": {"PutRetentionPolicy": documents.check_retention},
}
"""The rules that no model says, by service and operation."""

MODEL_CODES: Final = {
    "lambda": VALIDATION,
    "scheduler": VALIDATION,
    "events": VALIDATION,
    "stepfunctions": VALIDATION,
    "ssm": VALIDATION,
    "logs": "InvalidParameterException",
    "iam": "ValidationError",
    "cloudformation": "ValidationError",
}
"""The services that hold a call against their model, with the code of their refusal."""

_WORDS: Final = Constraints()


def check(service: str, operation: str, asked: dict[str, Any]) -> None:
    """Raise RefusedError for a call that AWS refuses whatever there is.

    ``service`` is boto3's name of it; ``asked`` are the parameters by the names of the model.
    """
    if service in MODEL_CODES:
        _check_model(service, operation, asked)
    if (own := CHECKS.get(service, {}).get(operation)) is not None:
        own(asked)


def knows(service: str, operation: str) -> bool:
    """True if there is anything to hold such a call against."""
    return service in MODEL_CODES or operation in CHECKS.get(service, {})


def _check_model(service: str, operation: str, asked: dict[str, Any]) -> None:
    model = _model(service)
    if operation not in model.operation_names:
        return
    shape = model.operation_model(operation).input_shape
    if not isinstance(shape, StructureShape):
        return
    told = _WORDS.told(shape, asked)
    if told is None:
        return
    code = LAMBDA_VALUE if service == "lambda" and "at 'runtime'" in told else MODEL_CODES[service]
    raise RefusedError(code, told)


@cache
def _model(service: str) -> ServiceModel:
    return get_session().get_service_model(service)
