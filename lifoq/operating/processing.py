"""The switch of a deployed queue: whether its processors may run."""

import logging
from typing import Any, Final, Protocol

from lifoq.basics.host import SYSTEM
from lifoq.client import connection
from lifoq.client.connection import Connection
from lifoq.errors import LifoqError
from lifoq.operating import deployment, pause_note_in_table
from lifoq.operating.aws_calls import Account, NotAllowed
from lifoq.operating.deployment import Deployment
from lifoq.operating.pause_note_in_table import PauseNote

KICK: Final = "processing resumes"

log = logging.getLogger("lifoq")


class Processing:
    """Lambda's own switch, the processor's reserved concurrency, with a note of who turned it.

    Calls may raise QueueMisconfigured and StoreUnavailable.
    """

    def __init__(self, account: Account, *, settings: Connection, deployed: Deployment) -> None:
        self._account = account
        self._settings = settings
        self._deployed = deployed
        self._function = {"FunctionName": deployed.functions[deployment.PROCESSOR]}

    @classmethod
    def connect(cls, name: str, **client_arguments: Any) -> "Processing":
        """Return the switch of the queue of this name. ``client_arguments`` go to ``boto3.client``.

        Raises InvalidInput, QueueMisconfigured, StoreUnavailable.
        """
        return cls(
            Account(**client_arguments),
            settings=connection.read(name, **client_arguments),
            deployed=deployment.read(name, **client_arguments),
        )

    @property
    def is_paused(self) -> bool:
        """True if no processor may start."""
        answer = self._account.call("lambda", "get_function_concurrency", **self._function)
        return bool(answer.get("ReservedConcurrentExecutions") == 0)

    @property
    def longest_run_seconds(self) -> int:
        """Seconds after which a processor that runs now has ended."""
        answer = self._account.call("lambda", "get_function_configuration", **self._function)
        return int(answer["Timeout"])

    @property
    def note(self) -> PauseNote | None:
        """The note of the pause, which names who paused the queue; None if nobody noted it, or this
        caller may not read the table."""
        try:
            return pause_note_in_table.read(self._account, self._settings.table)
        except NotAllowed:
            return None

    def hold(self) -> None:
        """Let no processor start, and leave the note alone: for who renews a pause that a
        deployment has ended."""
        self._reserve(0)

    def pause(self, by: str, *, passing: bool = False) -> None:
        """Let no processor start; one that runs ends its window. Tasks keep coming, and
        shedding.

        ``by`` says what pauses, such as ``lifoq pause``; ``passing``: it resumes by itself. Both
        are noted in the table. A pause holds also where that fails, with a warning in the log: who
        pauses in need must not wait for a database.
        """
        self.hold()
        note = pause_note_in_table.made_here(by, at=SYSTEM.now(), passing=passing)
        try:
            pause_note_in_table.write(self._account, self._settings.table, note)
        except LifoqError as error:
            log.warning("who paused the queue could not be noted: %s", error)

    def resume(self) -> None:
        """Let as many processors run again as were deployed, and kick the first."""
        self._reserve(self._deployed.processors)
        self._account.call(
            "sns", "publish", TopicArn=self._settings.topics["process"], Message=KICK
        )
        try:
            pause_note_in_table.remove(self._account, self._settings.table)
        except LifoqError as error:
            log.warning("the note of who paused the queue could not be deleted: %s", error)

    def _reserve(self, executions: int) -> None:
        self._account.call(
            "lambda",
            "put_function_concurrency",
            ReservedConcurrentExecutions=executions,
            **self._function,
        )


class Switch(Protocol):
    """The part of the switch that a page or a command needs."""

    @property
    def is_paused(self) -> bool: ...

    def pause(self, by: str) -> None:
        """Let no processor start."""
        ...

    def resume(self) -> None:
        """Let processors run again."""
        ...


def known_paused(switch: Switch | None) -> bool:
    """True if no processor may start, as far as there is a switch and the caller may read it."""
    try:
        return switch is not None and switch.is_paused
    except NotAllowed:
        return False
