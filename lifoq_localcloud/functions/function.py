"""A deployed function's configuration, and the outcome of an invocation."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class FunctionConfig:
    """A function as the Lambda API knows it at one moment."""

    name: str
    arn: str
    handler: str
    runtime: str
    code_digest: str
    environment: Mapping[str, str]
    timeout_seconds: float
    memory_megabytes: int
    reserved_concurrency: int | None
    logging: Mapping[str, str]
    """CloudFormation's ``LoggingConfig``."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The end of one invocation: its answer, or its error."""

    payload: bytes
    failed: bool = False

    @classmethod
    def failure(cls, error_type: str, message: str) -> "Outcome":
        payload = json.dumps({"errorType": error_type, "errorMessage": message}).encode()
        return cls(payload=payload, failed=True)

    def document(self) -> Any:
        """The payload as JSON, or as text where it is not JSON."""
        try:
            return json.loads(self.payload)
        except (ValueError, RecursionError):
            return self.payload.decode(errors="replace")


class Run(Protocol):
    """One invocation, to its end."""

    def __call__(self, event: bytes, client_context: str = "", /) -> Outcome: ...


class CodeError(Exception):
    """A function's code cannot be unpacked, such as a damaged archive."""


class ThrottledError(Exception):
    """All of the function's concurrency is in use."""

    def __init__(self, function_name: str) -> None:
        super().__init__(f"Function {function_name} is at its concurrency limit.")
        self.function_name = function_name
