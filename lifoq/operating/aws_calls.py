"""An AWS account, as operators ask it about a queue's parts."""

from functools import partial
from typing import Any, Final

from lifoq.errors import LifoqError, QueueMisconfigured

OPERATORS_READ_TIMEOUT: Final = 10
"""Seconds until the next bytes of an answer must have come: services that operators ask answer
slowly at times."""

_NOT_FOUND: Final = frozenset(
    {
        *("NotFound", "NotFoundException", "ParameterNotFound", "ResourceNotFound"),
        *("ResourceNotFoundException", "TableNotFoundException"),
        *("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"),
        *("NoSuchBucket", "NoSuchKey", "NoSuchLifecycleConfiguration"),
        "NoSuchPublicAccessBlockConfiguration",
    }
)
"""Codes by which services say that there is no such thing."""
_DENIED: Final = frozenset(
    {"AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException"}
)


class NotThere(QueueMisconfigured):
    """Raised when something that was asked about does not exist in this account and region."""


class NotAllowed(QueueMisconfigured):
    """Raised when the caller lacks a permission."""

    def __init__(self, action: str, message: str) -> None:
        self.action = action
        """The name that a policy has for it, such as ``lambda:GetFunctionConcurrency``."""
        super().__init__(message)


class Account:
    """The calls of AWS for operators. A service's client is made when it is first needed.
    ``client_arguments`` (region_name, endpoint_url …) go to ``boto3.client``."""

    def __init__(self, **client_arguments: Any) -> None:
        self._arguments = client_arguments
        self._clients: dict[str, Any] = {}

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """Make a call, and return its answer. ``operation`` is the name of boto3's method.

        Raises NotThere, NotAllowed, QueueMisconfigured, StoreUnavailable.
        """
        # boto3 takes long to import, and not every process that imports lifoq connects.
        from lifoq.aws.errors import translated  # noqa: PLC0415

        client = self.client(service)
        name = client.meta.method_to_api_mapping[operation]
        meaning = partial(_meaning, f"{client.meta.service_model.signing_name}:{name}")
        with translated(f"{service} {name}", operation=name, meaning=meaning):
            answer: dict[str, Any] = getattr(client, operation)(**parameters)
        return answer

    def client(self, service: str) -> Any:
        """Return the client of a service. Raises QueueMisconfigured where boto3 cannot make one of
        its settings."""
        from lifoq.aws.boto3_clients import new_client, patient  # noqa: PLC0415 - as above
        from lifoq.aws.errors import connecting  # noqa: PLC0415 - as above

        if service not in self._clients:
            own = patient(read_timeout=OPERATORS_READ_TIMEOUT)
            with connecting(f"{service} cannot be asked"):
                self._clients[service] = new_client(service, own, **self._arguments)
        return self._clients[service]


def _meaning(action: str, error: Any) -> LifoqError | None:
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code in _NOT_FOUND:
        return NotThere(f"{action}: there is no such thing in this account and region: {message}")
    if code in _DENIED:
        return NotAllowed(action, f"this caller may not do it: grant it {action} ({message})")
    return None
