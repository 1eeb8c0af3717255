"""The switch of a deployed queue: whether its processors may run."""

from typing import Any, Final, Protocol

from lifoq.client import connection, deployment
from lifoq.client.account import Account, NotAllowed
from lifoq.client.connection import Connection
from lifoq.client.deployment import Deployment

KICK: Final = "processing resumes"


class Processing:
    """Lambda's own switch: the processor's reserved concurrency.

    Calls may raise QueueMisconfigured and StoreUnavailable.
    """

    def __init__(self, account: Account, *, settings: Connection, deployed: Deployment) -> None:
        self._account = account
        self._settings = settings
        self._deployed = deployed
        self._function = {"FunctionName": deployed.functions[deployment.PROCESSOR]}

    @classmethod
    def connect(cls, name: str, **client_arguments: Any) -> "Processing":
        """That of the queue of this name. ``client_arguments`` go to ``boto3.client``.

        Raises InvalidInput, QueueMisconfigured, StoreUnavailable.
        """
        return cls(
            Account(**client_arguments),
            settings=connection.read(name, **client_arguments),
            deployed=deployment.read(name, **client_arguments),
        )

    @property
    def is_paused(self) -> bool:
        """Whether no processor may start."""
        answer = self._account.call("lambda", "get_function_concurrency", **self._function)
        return bool(answer.get("ReservedConcurrentExecutions") == 0)

    @property
    def longest_run_seconds(self) -> int:
        """After which a processor that runs has ended."""
        answer = self._account.call("lambda", "get_function_configuration", **self._function)
        return int(answer["Timeout"])

    def pause(self) -> None:
        """Let no processor start; one that runs ends its window. Tasks keep coming, and
        shedding."""
        self._reserve(0)

    def resume(self) -> None:
        """Let as many processors run again as were deployed, and kick the first."""
        self._reserve(self._deployed.processors)
        self._account.call(
            "sns", "publish", TopicArn=self._settings.topics["process"], Message=KICK
        )

    def _reserve(self, executions: int) -> None:
        self._account.call(
            "lambda",
            "put_function_concurrency",
            ReservedConcurrentExecutions=executions,
            **self._function,
        )


class Switch(Protocol):
    """What of it a page or a command needs."""

    @property
    def is_paused(self) -> bool: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


def known_paused(switch: Switch | None) -> bool:
    """Whether no processor may start, as far as there is a switch and the caller may look at it."""
    try:
        return switch is not None and switch.is_paused
    except NotAllowed:
        return False
