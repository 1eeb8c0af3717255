"""The parts of a deployed queue: facts for operators, beside those for clients.

The queue writes them to an SSM parameter of its own when it is deployed: clients have no use for
them, and need not be let in.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from lifoq.basics import records
from lifoq.client import connection
from lifoq.errors import QueueMisconfigured
from lifoq.operating.aws_calls import Account

_ABOVE, _BEHIND = connection.parameter_name("NAME").split("NAME")
"""Texts around a queue's name in the name of the parameter that clients read."""
TRIGGER: Final = "trigger"
PROCESSOR: Final = "process_tasks"
SWEEP: Final = "sweep"
EVENTS: Final = "task_events"
INGEST: Final = "ingest"
API: Final = "api"
SCHEDULED_TASKS: Final = "scheduled_tasks"
"""The keys of ``functions``; the last four where they are asked for."""

RELEASE_TAG: Final = "lifoq:release"
"""The tag of the table that tells the version of lifoq that it was deployed with."""


def parameter_name(queue_name: str) -> str:
    """Return the name of the SSM parameter with a queue's parts. Raises InvalidInput where SSM
    could not take it."""
    return connection.parameter_name(queue_name).removesuffix("queue") + "deployment"


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A deployed queue, as its settings in the account describe it."""

    release: str
    """The version of lifoq that it was deployed with."""
    functions: Mapping[str, str]
    """The names of the functions, by what they do."""
    processors: int
    """Processors that may run at a time while the queue is not paused."""
    stream_mapping: str
    """The UUID of the mapping by which Lambda reads the table's stream."""
    schedules: tuple[str, ...]
    alarms: tuple[str, ...]
    alarm_topic: str
    """The ARN of the alarms' topic."""
    dead_letters: str
    """The URL of the SQS queue of dead letters."""
    export_bucket: str
    mappings: Mapping[str, str] = field(default_factory=dict)
    """The event source mappings by UUID, each with the queue or stream that it reads."""
    long_tasks: Mapping[str, str] = field(default_factory=dict)
    """Groups of long workers: ``cluster/service`` of ECS, by name."""
    log_groups: tuple[str, ...] = ()
    """The log groups that task code writes to."""

    def encode(self) -> str:
        """Return the parts as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str, *, source: str) -> "Deployment":
        """Read the parts of a queue. Fields that are unknown here are left alone: a later release
        may add some. Raises QueueMisconfigured, naming ``source``, where the text holds no such
        parts."""
        try:
            return records.decode(text, cls)
        except ValueError as error:
            raise QueueMisconfigured(
                f"{source} does not hold a deployment ({error}): deploy the queue anew"
            ) from error


def names(account: Account) -> list[str]:
    """Return the names of all queues of the account and region. Raises QueueMisconfigured,
    StoreUnavailable."""
    found, more = list[str](), dict[str, str]()
    while True:
        answer = account.call("ssm", "get_parameters_by_path", Path=_ABOVE, Recursive=True, **more)
        told = (one["Name"] for one in answer["Parameters"])
        found += [
            name.removeprefix(_ABOVE).removesuffix(_BEHIND)
            for name in told
            if name.endswith(_BEHIND)
        ]
        if not answer.get("NextToken"):
            return sorted(found)
        more = {"NextToken": answer["NextToken"]}


def read(queue_name: str, **client_arguments: Any) -> Deployment:
    """Return the parts of the queue of this name. ``client_arguments`` go to ``boto3.client``.

    Raises InvalidInput, QueueMisconfigured, StoreUnavailable.
    """
    parameter = parameter_name(queue_name)
    text = connection.read_parameter(parameter, **client_arguments)
    return Deployment.decode(text, source=f"SSM parameter {parameter}")
