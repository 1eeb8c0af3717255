"""Lambda: what it refuses of functions, of their mappings and of invocations."""

import json
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import LAMBDA_VALUE, VALIDATION, RefusedError

LONGEST_SECONDS: Final = 900
MOST_MEMORY_MB: Final = 10_240
"""Both: for functions outside of Managed Instances, which the local cloud does not imitate."""
MOST_ENVIRONMENT_BYTES: Final = 4_096
MOST_NAME_LETTERS: Final = 64
MOST_REQUEST_BYTES: Final = 6_291_456
MOST_EVENT_BYTES: Final = 1_048_576
"""The payload of an invocation that somebody waits for, and of one that nobody does
(https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""

RESERVED: Final = frozenset(
    {
        "_HANDLER",
        "_X_AMZN_TRACE_ID",
        "AWS_DEFAULT_REGION",
        "AWS_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
        "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_INITIALIZATION_TYPE",
        "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME",
        "AWS_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_LAMBDA_RUNTIME_API",
        "LAMBDA_TASK_ROOT",
        "LAMBDA_RUNTIME_DIR",
    }
)
"""Environment variables that Lambda sets
(https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html)."""

DEPRECATED: Final = frozenset(
    {
        *("python2.7", "python3.6", "python3.7", "python3.8"),
        *("nodejs", "nodejs4.3", "nodejs4.3-edge", "nodejs6.10", "nodejs8.10", "nodejs10.x"),
        *("nodejs12.x", "nodejs14.x", "nodejs16.x"),
        *("java8", "go1.x", "provided", "ruby2.5", "ruby2.7"),
        *("dotnetcore1.0", "dotnetcore2.0", "dotnetcore2.1", "dotnetcore3.1", "dotnet6"),
    }
)
"""Runtimes of which no function can be made any more
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html)."""

MOST_BATCH_WITHOUT_WINDOW: Final = 10


def check_new(asked: dict[str, Any]) -> None:
    """Hold a new function against Lambda's rules."""
    zipped = asked.get("PackageType", "Zip") == "Zip"
    if zipped and not (asked.get("Handler") and asked.get("Runtime")):
        raise RefusedError(
            LAMBDA_VALUE,
            "Runtime and Handler are mandatory parameters for functions created with deployment "
            "packages.",
        )
    name = asked.get("FunctionName")
    if isinstance(name, str) and not name.startswith("arn:") and len(name) > MOST_NAME_LETTERS:
        raise RefusedError(
            VALIDATION,
            f"1 validation error detected: Value '{name}' at 'functionName' failed to satisfy "
            f"constraint: Member must have length less than or equal to {MOST_NAME_LETTERS}",
        )
    check(asked)


def check(asked: dict[str, Any]) -> None:
    """Hold a function's configuration against Lambda's rules."""
    _check_most(asked, "Timeout", LONGEST_SECONDS)
    _check_most(asked, "MemorySize", MOST_MEMORY_MB)
    runtime = asked.get("Runtime")
    if runtime in DEPRECATED:
        raise RefusedError(
            LAMBDA_VALUE,
            f"The runtime parameter of {runtime} is no longer supported for creating or updating "
            "AWS Lambda functions. We recommend you use a supported runtime while creating or "
            "updating functions.",
        )
    given = (asked.get("Environment") or {}).get("Variables") or {}
    if reserved := [name for name in given if name in RESERVED]:
        raise RefusedError(
            LAMBDA_VALUE,
            "Lambda was unable to configure your environment variables because the environment "
            "variables you have provided contains reserved keys that are currently not supported "
            f"for modification. Reserved keys used in this request: {', '.join(reserved)}",
        )
    measured = json.dumps(given, separators=(",", ":"))
    if len(measured.encode()) > MOST_ENVIRONMENT_BYTES:
        raise RefusedError(
            LAMBDA_VALUE,
            "Lambda was unable to configure your environment variables because the environment "
            f"variables you have provided exceeded the 4KB limit. String measured: {measured}",
        )


def _check_most(asked: dict[str, Any], name: str, most: int) -> None:
    """Hold a number against a bound that is lower than the model's."""
    value = asked.get(name)
    if isinstance(value, int | str) and str(value).isdecimal() and int(value) > most:
        raise RefusedError(
            VALIDATION,
            f"1 validation error detected: Value '{value}' at '{name[0].lower()}{name[1:]}' failed "
            f"to satisfy constraint: Member must have value less than or equal to {most}",
        )


def check_code(asked: dict[str, Any]) -> None:
    """Refuse an update of code that brings none, or brings it twice."""
    sources = [name for name in ("ZipFile", "S3Bucket", "ImageUri") if asked.get(name)]
    if not sources:
        raise RefusedError(LAMBDA_VALUE, "Please provide a source for function code.")
    if len(sources) > 1:
        raise RefusedError(
            LAMBDA_VALUE, "Please provide only one source for function code, not several."
        )
    if "S3Bucket" in sources and not asked.get("S3Key"):
        raise RefusedError(LAMBDA_VALUE, "S3Key is required with S3Bucket.")


def check_mapping(asked: dict[str, Any]) -> None:
    """Hold a mapping against the rules of its source: a queue, a FIFO queue or a stream."""
    source = asked.get("EventSourceArn")
    if not isinstance(source, str) or not source.startswith("arn:"):
        return
    if source.split(":")[2] == "sqs":
        _check_mapping_of_queue(asked, fifo=source.endswith(".fifo"))
    elif asked.get("StartingPosition") is None and source.split(":")[2] in {"dynamodb", "kinesis"}:
        raise RefusedError(
            VALIDATION,
            "1 validation error detected: Value null at 'startingPosition' failed to satisfy "
            "constraint: Member must not be null",
        )


def _check_mapping_of_queue(asked: dict[str, Any], *, fifo: bool) -> None:
    if asked.get("StartingPosition") is not None:
        raise RefusedError(LAMBDA_VALUE, "StartingPosition is not valid for SQS event sources.")
    batch, window = asked.get("BatchSize"), asked.get("MaximumBatchingWindowInSeconds")
    if fifo and window:
        raise RefusedError(LAMBDA_VALUE, "Batching window is not supported for FIFO queues")
    if isinstance(batch, int) and batch > MOST_BATCH_WITHOUT_WINDOW and not window:
        told = (
            "Maximum batch size for FIFO queues is 10"
            if fifo
            else "Maximum batch window in seconds must be greater than 0 if maximum batch size is "
            "greater than 10"
        )
        raise RefusedError(LAMBDA_VALUE, told)


def check_invocation(asked: dict[str, Any]) -> None:
    """Hold the payload of an invocation against Lambda's bounds; it has to be JSON."""
    body: bytes = asked.get("Payload") or b""
    most = MOST_EVENT_BYTES if asked.get("InvocationType") == "Event" else MOST_REQUEST_BYTES
    if len(body) > most:
        raise RefusedError(
            "RequestTooLargeException",
            f"Request must be smaller than {most} bytes for the InvokeFunction operation",
        )
    try:
        json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            "InvalidRequestContentException", f"Could not parse request body into json: {error}"
        ) from error
