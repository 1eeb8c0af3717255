"""State machines that moto's own interpreter executes."""

from typing import Any

from moto.core.config import default_user_config
from moto.core.responses import ActionResult, EmptyResult
from moto.stepfunctions.responses import StepFunctionResponse

from ..moto_adapter.patch import replace


def install() -> None:
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

    replace(StepFunctionResponse, "send_task_failure", send_task_failure)
