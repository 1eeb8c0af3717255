"""Calls of functions from inside of moto."""

from collections.abc import Callable
from typing import Any

from moto.awslambda.models import LambdaBackend, LambdaFunction
from moto.sqs.models import sqs_backends

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.functions.function import Outcome
from lifoq_localcloud.moto_adapter.patch import replace

Invoke = Callable[[str, bytes], Outcome]
"""Run a function, by name, and wait for it."""


def install(invoke: Invoke) -> None:
    """From now on, moto runs functions by ``invoke``, and none by itself for a queue."""

    def run(function: LambdaFunction, body: str, _request: Any, response: dict[str, Any]) -> bytes:
        """Run a function that something inside moto calls: a queue, a rule, a state machine."""
        outcome = invoke(function.function_name, body.encode() if body else b"{}")
        if outcome.failed:
            response["x-amz-function-error"] = "Unhandled"
        return outcome.payload

    create_mapping = LambdaBackend.create_event_source_mapping

    def create_event_source_mapping(backend: LambdaBackend, spec: dict[str, Any]) -> Any:
        """moto would run the function inside of SendMessage: a mapping's poller does it here."""
        mapping = create_mapping(backend, spec)
        for queue in sqs_backends[ACCOUNT][REGION].queues.values():
            queue.lambda_event_source_mappings.clear()
        return mapping

    replace(LambdaBackend, "create_event_source_mapping", create_event_source_mapping)
    replace(LambdaFunction, "invoke", run)
