"""A task type that is the run of a Lambda function."""

import base64
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lifoq.aws.errors import AwsRefusal, code_of
from lifoq.basics import jsontext
from lifoq.basics.numbers import check_count, check_seconds
from lifoq.errors import Busy, Fail, InvalidInput, Retry
from lifoq.targets.https import LARGEST_ANSWER, result_of_json
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.registry import Terms

FULL: Final = frozenset({"EC2ThrottledException", "TooManyRequestsException"})
"""Lambda's codes where the function may not run more often at a time, or the account."""

_ARN: Final = re.compile(r"arn:[a-z-]+:lambda:[a-z0-9-]+:\d{12}:function:[\w-]+(:[\w$-]+)?")


@dataclass(frozen=True, kw_only=True)
class LambdaTarget(Terms):
    """A task type without code: one run of a Lambda function for each attempt, with the payload as
    its event. Its answer is the result. A function that raises is tried again; Lambda's throttling
    is ``Busy``.

    The task's id comes as ``context.client_context.custom["taskId"]``, since a task may run more
    than once.

    Raises:
        InvalidInput: A field is out of bounds.

    Examples:
        >>> from lifoq.targets.function import LambdaTarget
        >>> arn = "arn:aws:lambda:eu-central-1:111122223333:function:check"
        >>> target = LambdaTarget(function_arn=arn, timeout=20)
    """

    function_arn: str
    """The function's ARN."""
    timeout: float = 30.0
    """The seconds that the run may take."""
    answer_bytes: int = 64 * 1024
    """The longest answer that is kept, in bytes; a larger one is a FAILURE."""

    def __post_init__(self) -> None:
        arn = self.function_arn
        # The CDK writes for an ARN that is only known when it is deployed.
        if not isinstance(arn, str) or not (_ARN.fullmatch(arn) or arn.startswith("${Token[")):
            problem = "must be the ARN of a Lambda function"
            raise InvalidInput("function_arn", arn, problem)
        check_seconds("timeout", self.timeout)
        check_count("answer_bytes", self.answer_bytes)
        if self.answer_bytes > LARGEST_ANSWER:
            problem = f"is more than a result should hold: {LARGEST_ANSWER:,} at the most"
            raise InvalidInput("answer_bytes", self.answer_bytes, problem)
        self.check_terms()


class LambdaHandler:
    """The handler of a Lambda target's tasks."""

    def __init__(self, target: LambdaTarget, *, client: Callable[[float], Any]) -> None:
        """``client`` makes one of Lambda whose calls are answered within so many seconds, and are
        sent once: at the first attempt, as boto3 takes long to import."""
        self._target = target
        self._make_client = client
        self._made: Any = None
        self._making = threading.Lock()

    def __call__(self, payload: Any, context: Context) -> Any:
        custom = {
            "taskId": context.task_id,
            "attempt": context.attempt,
            **({"traceparent": context.traceparent} if context.traceparent else {}),
        }
        try:
            answer = self._client().invoke(
                FunctionName=self._target.function_arn,
                Payload=jsontext.encode(payload, "payload").encode(),
                ClientContext=base64.b64encode(
                    jsontext.encode({"custom": custom}, "context").encode()
                ).decode(),
            )
        except AwsRefusal as error:
            if code_of(error) in FULL:
                raise Busy(f"Lambda has no room for the function: {error}") from error
            raise
        content: bytes = answer["Payload"].read(self._target.answer_bytes + 1)
        if answer.get("FunctionError"):
            raise Retry(_error(content))
        if len(content) > self._target.answer_bytes:
            raise Fail(
                f"the function's answer has more than {self._target.answer_bytes:,} bytes: raise "
                "answer_bytes of the target, or answer less"
            )
        return result_of_json(content) if content else None

    def _client(self) -> Any:
        with self._making:  # attempts run in threads
            if self._made is None:
                self._made = self._make_client(self._target.timeout)
            return self._made


def _error(content: bytes) -> str:
    """Say what a function raised; if it was killed, Lambda tells no type."""
    try:
        told = jsontext.decode(content.decode())
    except (ValueError, RecursionError):
        return "the function failed, and told more than can be kept"
    if not isinstance(told, dict):
        return "the function failed"
    return f"{told.get('errorType', 'the function failed')}: {told.get('errorMessage', '')}"
