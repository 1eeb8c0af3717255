"""The facts that a client must know of a queue, in one SSM parameter. So nobody restates a table's
name or a deadline.

Whoever deploys writes ``Connection.encode()`` to ``parameter_name(…)``; ``Queue.connect("prod")``
reads it back.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from functools import partial
from typing import Any, Final, TypeVar

from lifoq.basics.numbers import check_count, check_rate
from lifoq.client import local_cloud
from lifoq.environment import Variable
from lifoq.errors import InvalidInput, LifoqError, QueueMisconfigured
from lifoq.items.lifetimes import Lifetimes
from lifoq.schedules.target import ScheduleTarget
from lifoq.worker.settings import WorkerSettings

T = TypeVar("T", Lifetimes, ScheduleTarget, "SharedLimits")

VERSION: Final = 1
"""The document's version, and the item schema's; a client refuses what is newer than itself."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_REMEDY: Final = "deploy the queue, or name its table instead"


def parameter_name(queue_name: str) -> str:
    """Return the name of the SSM parameter that clients read. Raises InvalidInput where SSM could
    not take it."""
    if not isinstance(queue_name, str) or not _NAME.fullmatch(queue_name):
        raise InvalidInput(
            "queue name",
            queue_name,
            "must be letters, digits, '.', '_' and '-', 128 at the most, such as 'prod'",
        )
    return f"/lifoq/{queue_name}/queue"


@dataclass(frozen=True, kw_only=True)
class SharedLimits:
    """The limits that all workers of a queue share."""

    rate_limit: float | None = None
    total_in_flight: int | None = None

    def __post_init__(self) -> None:
        if self.rate_limit is not None:
            check_rate("rate_limit", self.rate_limit)
        if self.total_in_flight is not None:
            check_count("total_in_flight", self.total_in_flight)

    @classmethod
    def of(cls, worker: WorkerSettings) -> "SharedLimits | None":
        """Return the limits that a worker shares with others; None where it has its own."""
        if not worker.shared_limits:
            return None
        return cls(**{one.name: getattr(worker, one.name) for one in fields(cls)})


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The settings by which a client finds a queue, as the deployment wrote them."""

    table: str
    """The table's name; its ARN where clients are in another account."""
    lifetimes: Lifetimes
    region: str | None = None
    """The region of the table; None: the region of the parameter."""
    topics: Mapping[str, str] = field(default_factory=dict)
    """ARNs, by what they are for, such as ``process``."""
    shared_limits: SharedLimits | None = None
    bucket: str | None = None
    """The bucket for large payloads; None: they have to fit the item."""
    schedules: ScheduleTarget | None = None
    """The parts by which clients make schedules; None: the queue takes none."""

    def encode(self) -> str:
        """Return the settings as JSON, as clients read them."""
        document = {
            "version": VERSION,
            "table": self.table,
            "region": self.region,
            **_written(self.lifetimes),
            "topics": dict(self.topics),
            **({"sharedLimits": _written(self.shared_limits)} if self.shared_limits else {}),
            **self._for_large_payloads(),
            **({"schedules": _written(self.schedules)} if self.schedules else {}),
        }
        return json.dumps(document)

    def _for_large_payloads(self) -> dict[str, str]:
        """The prefix is for producers without this library, which go by the lifetimes."""
        if self.bucket is None:
            return {}
        return {"bucket": self.bucket, "objectPrefix": self.lifetimes.object_prefix}

    @classmethod
    def decode(cls, text: str, *, source: str) -> "Connection":
        """Read the settings of a queue. Fields that are unknown here are left alone: a later
        release may add some. Raises QueueMisconfigured, naming ``source``, where the text holds no
        settings."""
        try:
            document = json.loads(text)
            version = document["version"]
            if version > VERSION:
                raise QueueMisconfigured(
                    f"{source} has version {version}, and this lifoq reads up to {VERSION}: "
                    "install the lifoq that the queue was deployed with"
                )
            shared, schedules = document.get("sharedLimits"), document.get("schedules")
            return cls(
                table=_text(document["table"]),
                region=None if document.get("region") is None else _text(document["region"]),
                lifetimes=_read(Lifetimes, document),
                topics={str(name): _text(arn) for name, arn in document["topics"].items()},
                shared_limits=None if shared is None else _read(SharedLimits, shared),
                bucket=None if document.get("bucket") is None else _text(document["bucket"]),
                schedules=None if schedules is None else _read(ScheduleTarget, schedules),
            )
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise QueueMisconfigured(
                f"{source} does not hold a queue's settings ({error!r}): {_REMEDY}"
            ) from error


def read(queue_name: str | None, **client_arguments: Any) -> Connection:
    """The settings of the queue of this name; None: of the one that the environment variable
    LIFOQ_QUEUE names. ``client_arguments`` go to ``boto3.client``.

    Raises InvalidInput, QueueMisconfigured (the parameter is missing, forbidden, or unreadable),
    StoreUnavailable.
    """
    name = os.environ.get(Variable.QUEUE) if queue_name is None else queue_name
    if name is None:
        raise InvalidInput(
            "name",
            name,
            f"is not given, and {Variable.QUEUE} is not set; set one to the queue's name, "
            f'or give table="…"{local_cloud.remedy(client_arguments)}',
        )
    parameter = parameter_name(name)
    try:
        text = read_parameter(parameter, **client_arguments)
    except QueueMisconfigured as error:
        # The sentence says all: whoever runs a script would look for it behind 60 lines of boto3's.
        raise QueueMisconfigured(f"{error}{local_cloud.remedy(client_arguments)}") from None
    return Connection.decode(text, source=f"SSM parameter {parameter}")


def read_parameter(parameter: str, **client_arguments: Any) -> str:
    """Return the content of a queue's SSM parameter. Raises QueueMisconfigured,
    StoreUnavailable."""
    # boto3 takes long to import, and not every process that imports lifoq connects.
    from lifoq.aws.boto3_clients import new_client, refuse_half_answers  # noqa: PLC0415
    from lifoq.aws.errors import connecting, translated  # noqa: PLC0415

    call = f"SSM parameter {parameter} could not be read"
    with connecting(call):
        client = new_client("ssm", **client_arguments)
    refuse_half_answers(client, "ssm")
    with translated(call, operation="GetParameter", meaning=partial(_meaning, parameter)):
        answer = client.get_parameter(Name=parameter)
    return str(answer["Parameter"]["Value"])


def _meaning(parameter: str, error: Any) -> LifoqError | None:
    """Translate the errors that SSM alone answers with."""
    code = error.response["Error"]["Code"]
    if code == "ParameterNotFound":
        return QueueMisconfigured(
            f"there is no SSM parameter {parameter} in this account and region: {_REMEDY}, or look "
            "at AWS_PROFILE and AWS_REGION"
        )
    if code in ("AccessDenied", "AccessDeniedException"):
        return QueueMisconfigured(
            f"this caller may not read the SSM parameter {parameter}: "
            "grant it ssm:GetParameter on it"
        )
    return None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is no text")
    return value


def _written(settings: Any) -> dict[str, Any]:
    """Return the settings by their names in JSON. A setting that is off is left out."""
    values = {_name(one): getattr(settings, one.name) for one in fields(settings)}
    return {name: value for name, value in values.items() if value not in (None, False)}


def _read(settings: type[T], document: Mapping[str, Any]) -> T:
    """Read settings. Durations must be there; other settings may be left out. Raises ValueError and
    LookupError where the document holds none."""
    named = [(one, _name(one)) for one in fields(settings)]
    said = {
        one.name: document[name] for one, name in named if one.type is float or name in document
    }
    return settings(**said)


def _name(setting: Field[Any]) -> str:
    """Return the name of a setting in JSON: in camel case, and with its unit if it is a
    duration."""
    first, *rest = setting.name.split("_")
    return first + "".join(map(str.title, rest)) + ("Seconds" if setting.type is float else "")
