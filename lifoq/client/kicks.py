"""Kicks by a producer: a task that comes alone starts at once, and not when Lambda next reads the
table's stream."""

import logging
import threading
from typing import Any, Final

from lifoq.basics.host import Host, microseconds
from lifoq.errors import LifoqError, QueueMisconfigured, StoreUnavailable

log = logging.getLogger("lifoq.kicks")

KICKS_APART: Final = 1.0
"""Seconds between two kicks of one client: a processor that runs finds later tasks by itself."""
KICK_TIMEOUT: Final = 1.0
"""Seconds for which a kick waits for a connection, and for its answer; the stream kicks anyhow."""
_WHY: Final = "a task for which somebody waits"
"""The message, for people who read it; nobody acts on it."""
_REFUSED: Final = frozenset(
    {"AuthorizationError", "AuthorizationErrorException", "AccessDenied", "AccessDeniedException"}
    | {"NotFound", "NotFoundException", "InvalidParameter", "InvalidParameterException"}
)
"""Codes of SNS that do not pass by themselves: the permission or the topic is missing."""


class Kicks:
    """The kicks of one client to one queue. Any of them may be lost."""

    def __init__(self, topic_arn: str, *, host: Host, **client_arguments: Any) -> None:
        """``client_arguments`` go to ``boto3.client``, which is made for the first kick."""
        self._topic_arn = topic_arn
        self._host = host
        self._client_arguments = client_arguments
        self._sns: Any = None
        self._lock = threading.Lock()
        self._next_at = 0
        """When the next kick may be sent, in microseconds of the host's monotonic clock."""
        self._is_off = False
        """True once a kick was refused: each further one would cost its time for nothing."""

    def kick(self) -> None:
        """Wake the processor, unless this client has just done so. Raises nothing of AWS's: the put
        stands, and the stream kicks as well."""
        with self._lock:
            now = self._host.monotonic()
            if self._is_off or now < self._next_at:
                return
            self._next_at = now + microseconds(KICKS_APART)
        try:
            self._publish()
        except QueueMisconfigured as error:
            self._is_off = True
            log.debug("kicks are left to the stream: %s", error)
        except StoreUnavailable as error:
            log.debug("a kick is left to the stream: %s", error)

    def _publish(self) -> None:
        # boto3 takes long to import, and not every process that imports lifoq kicks.
        from lifoq.aws.errors import translated  # noqa: PLC0415

        call = "the queue could not be kicked"
        with translated(call, operation="Publish", meaning=_meaning):
            self._client().publish(TopicArn=self._topic_arn, Message=_WHY)

    def _client(self) -> Any:
        from lifoq.aws.boto3_clients import new_client, once_only, patient  # noqa: PLC0415 - as above
        from lifoq.aws.errors import connecting  # noqa: PLC0415 - as above

        if self._sns is None:
            defaults = once_only(patient(connect_timeout=KICK_TIMEOUT, read_timeout=KICK_TIMEOUT))
            region = self._topic_arn.split(":")[3]
            with connecting("the queue could not be kicked"):
                self._sns = new_client(
                    "sns", defaults, **{**self._client_arguments, "region_name": region}
                )
        return self._sns


def _meaning(error: Any) -> LifoqError:
    """Translate a refusal: whatever it is, this kick was not taken."""
    from lifoq.aws.errors import code_of, message_of  # noqa: PLC0415 - as above

    code, described = code_of(error), f"{code_of(error)}: {message_of(error)}"
    if code in _REFUSED or code.startswith("KMS"):
        return QueueMisconfigured(f"{described}: grant_call allows it")
    return StoreUnavailable(described)
