"""Step Functions by lifoq's own client, as far as the end of a task needs it."""

import json
from collections.abc import Mapping

from lifoq.aws.connections import Answer
from lifoq.aws.own_client import Service, document, refusal_in_json
from lifoq.aws.retry_policy import ATTEMPTS


class StepFunctionsCalls:
    """The calls of Step Functions by lifoq's own client. Raises what boto3's client would."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def send_task_success(self, **fields: str) -> None:
        """``taskToken`` and ``output``."""
        self._call("SendTaskSuccess", fields)

    def send_task_failure(self, **fields: str) -> None:
        """``taskToken``, ``error`` and ``cause``."""
        self._call("SendTaskFailure", fields)

    def _call(self, operation: str, fields: Mapping[str, str]) -> None:
        self._service.call(
            operation,
            {
                "x-amz-target": f"AWSStepFunctions.{operation}",
                "content-type": "application/x-amz-json-1.0",
            },
            json.dumps(fields).encode(),
            attempts=ATTEMPTS,
            of_success=_sent,
            of_refusal=refusal_in_json,
        )


def _sent(answer: Answer) -> None:
    """Check an answer. Raises HTTPClientError where it is not Step Functions' own."""
    document(answer.content)
