"""A queue's deployment under examination: where to find its parts."""

import shlex
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lifoq.client.connection import Connection
from lifoq.errors import LifoqError
from lifoq.operating.aws_calls import Account
from lifoq.operating.deployment import Deployment


class OutOfReach(LifoqError):
    """A check needs what an earlier one found to be missing."""


@dataclass(kw_only=True)
class Patient:
    name: str
    account: Account
    settings: Connection | None = field(default=None, init=False)
    """The settings that clients read; None until they were read."""
    deployed: Deployment | None = field(default=None, init=False)
    versions: dict[str, str] = field(default_factory=dict, init=False)
    """The releases of lifoq that were found, by what they are of: library, functions, table."""

    @property
    def parts(self) -> Deployment:
        """The parts of the queue. Raises OutOfReach where they are not known."""
        if self.deployed is None:
            raise OutOfReach("the parts of the deployment are not known")
        return self.deployed

    @property
    def connection(self) -> Connection:
        """The settings by which clients find the queue. Raises OutOfReach where they are not
        known."""
        if self.settings is None:
            raise OutOfReach("the settings of the queue are not known")
        return self.settings

    @cached_property
    def table(self) -> dict[str, Any]:
        """Return DynamoDB's description of the table."""
        answer = self.account.call("dynamodb", "describe_table", TableName=self.connection.table)
        found: dict[str, Any] = answer["Table"]
        return found

    @property
    def deploy(self) -> str:
        """The command that deploys the queue again."""
        return f"make deploy STAGE={self.name}, or cdk deploy in a project of your own"

    @staticmethod
    def aws(service: str, command: str, **options: object) -> str:
        """A command of AWS's own command line."""
        words = [
            word
            for name, value in options.items()
            for word in (f"--{name.replace('_', '-')}", shlex.quote(str(value)))
        ]
        return " ".join(["aws", service, command, *words])
