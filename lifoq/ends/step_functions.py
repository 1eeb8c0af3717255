"""Tells a state of Step Functions, which waits with a token, how its task ended."""

import logging
from typing import Any, Final

from lifoq.aws.errors import AwsRefusal, code_of
from lifoq.basics import jsontext
from lifoq.ends.end import End, Ending

log = logging.getLogger("lifoq.ends")

MAX_OUTPUT_BYTES: Final = 256 * 1024
"""The longest output of a state
(https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html)."""
ERRORS: Final = {
    Ending.FAILURE: "lifoq.Failed",
    Ending.CANCELLED: "lifoq.Cancelled",
    Ending.SHED: "lifoq.Shed",
    Ending.REPLACED: "lifoq.Replaced",
}
"""The error names that a state machine catches."""
TOO_LARGE: Final = "lifoq.ResultTooLarge"
NOBODY_WAITS: Final = frozenset({"InvalidToken", "TaskDoesNotExist", "TaskTimedOut"})
"""The state had its answer already, timed out, or its execution was stopped."""


class StepFunctions:
    """Answers states of Step Functions that wait for a task's end."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def answer(self, end: End) -> None:
        """boto3's errors pass, but where nobody waits any more."""
        if end.task_token is None:
            return
        try:
            self._send(end, end.task_token)
        except AwsRefusal as error:
            if code_of(error) not in NOBODY_WAITS:
                raise
            log.info("nobody waits for task %s any more: %s", end.task_id, code_of(error))

    def _send(self, end: End, token: str) -> None:
        if end.ending is not Ending.SUCCESS:
            self._fail(end, token, ERRORS[end.ending])
            return
        output = jsontext.encode(end.result, "result")
        if jsontext.size(output) > MAX_OUTPUT_BYTES:
            self._fail(end, token, TOO_LARGE)
        else:
            self._client.send_task_success(taskToken=token, output=output)

    def _fail(self, end: End, token: str, error: str) -> None:
        """The cause is JSON, as the causes of Lambda functions are."""
        cause: dict[str, Any] = {"taskId": end.task_id, "attempts": end.attempts}
        if end.error is not None:
            cause |= {"errorType": end.error.type, "errorMessage": end.error.message}
        self._client.send_task_failure(
            taskToken=token, error=error, cause=jsontext.encode(cause, "cause")
        )
