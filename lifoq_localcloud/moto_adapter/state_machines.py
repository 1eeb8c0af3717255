"""State machines that moto's own interpreter executes."""

import base64
from types import SimpleNamespace
from typing import Any

import boto3
from moto.core.config import default_user_config
from moto.core.responses import ActionResult, EmptyResult
from moto.stepfunctions.parser.asl.utils import boto_client
from moto.stepfunctions.responses import StepFunctionResponse

from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.moto_adapter.patch import replace


def install(credentials: Credentials) -> None:
    default_user_config["stepfunctions"] = {"execute_state_machine": True}

    def send_task_failure(response: StepFunctionResponse) -> ActionResult:
        """moto drops the cause."""
        backend: Any = response.stepfunction_backend
        backend.send_task_failure(
            response._get_param("taskToken"),  # noqa: SLF001 - as moto's own answers do
            error=response._get_param("error"),  # noqa: SLF001
            cause=response._get_param("cause"),  # noqa: SLF001
        )
        return EmptyResult()

    def make_client(**options: Any) -> Any:
        """moto would call as somebody whom this cloud does not know."""
        client = boto3.client(**{**options, **credentials.arguments()})
        client.meta.events.register("after-call.dynamodb", _tell_as_json)
        return client

    replace(boto_client, "boto3", SimpleNamespace(client=make_client))
    replace(StepFunctionResponse, "send_task_failure", send_task_failure)


def _tell_as_json(parsed: dict[str, Any], **_: Any) -> None:
    """Replace the bytes that a state has read by base64: a state's input is JSON."""
    parsed.update(_as_json(parsed))


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _as_json(inner) for name, inner in value.items()}
    return [_as_json(inner) for inner in value] if isinstance(value, list) else value
