"""Lambda's asynchronous invocation: its queue, retries, event age and destinations."""

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from lifoq_localcloud.basics import threads
from lifoq_localcloud.functions.function import Outcome, Run, ThrottledError
from lifoq_localcloud.functions.pool import Pool

FIRST_RETRY_SECONDS = 60.0
"""Lambda's wait before the first retry of an event that failed; before the second it is twice that
(https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html)."""
FIRST_THROTTLE_DELAY_SECONDS = 1.0
LONGEST_THROTTLE_DELAY_SECONDS = 300.0
DEFAULT_EVENT_AGE_SECONDS = 21600
DEFAULT_RETRIES = 2


class Delay(Protocol):
    """Something like :class:`lifoq_localcloud.basics.timer.Timer`."""

    def after(self, seconds: float, action: Callable[[], None]) -> None: ...


@dataclass(kw_only=True)
class _Event:
    function_name: str
    body: bytes
    client_context: str
    queued_at: float
    request_id: str
    invocations: int = 0
    throttles: int = 0
    last: Outcome | None = None


class AsynchronousInvoker:
    """Takes events and answers for them until they are done, too old or out of retries."""

    def __init__(
        self,
        *,
        pool: Callable[[str], Pool | None],
        settings: Callable[[str], Mapping[str, Any]],
        send: Callable[[str, str], bool],
        timer: Delay,
        first_retry_seconds: float = FIRST_RETRY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._send = send
        self._timer = timer
        self._first_retry_seconds = first_retry_seconds
        self._clock = clock

    def submit(self, function_name: str, body: bytes, client_context: str = "") -> None:
        """Accept an event; it runs as soon as the function has room for it."""
        self._attempt(
            _Event(
                function_name=function_name,
                body=body,
                client_context=client_context,
                queued_at=self._clock(),
                request_id=str(uuid.uuid4()),
            )
        )

    def _attempt(self, event: _Event) -> None:
        pool = self._pool(event.function_name)
        if pool is None:
            return  # Lambda drops the events of a function that has been deleted.
        if self._clock() - event.queued_at >= self._event_age(event):
            self._tell("OnFailure", event, pool, "EventAgeExceeded")
            return
        try:
            run = pool.reserve()
        except ThrottledError:
            delay = FIRST_THROTTLE_DELAY_SECONDS * 2**event.throttles
            event.throttles += 1
            self._retry(event, min(delay, LONGEST_THROTTLE_DELAY_SECONDS))
            return
        threads.start(f"an event of {event.function_name}", partial(self._run, event, pool, run))

    def _run(self, event: _Event, pool: Pool, run: Run) -> None:
        event.invocations += 1
        event.last = run(event.body, event.client_context)
        if not event.last.failed:
            self._tell("OnSuccess", event, pool, "Success")
            return
        retries = int(
            self._settings(event.function_name).get("MaximumRetryAttempts", DEFAULT_RETRIES)
        )
        if event.invocations > retries:
            self._tell("OnFailure", event, pool, "RetriesExhausted")
        else:
            self._retry(event, self._first_retry_seconds * event.invocations)

    def _retry(self, event: _Event, seconds: float) -> None:
        """Not later than its age allows: then it is given up, and not forgotten."""
        left = self._event_age(event) - (self._clock() - event.queued_at)
        self._timer.after(max(0.0, min(seconds, left + 0.01)), lambda: self._attempt(event))

    def _event_age(self, event: _Event) -> float:
        settings = self._settings(event.function_name)
        return float(settings.get("MaximumEventAgeInSeconds", DEFAULT_EVENT_AGE_SECONDS))

    def _tell(self, end: str, event: _Event, pool: Pool, condition: str) -> None:
        """Send a message to the destination for this end, ``OnSuccess`` or ``OnFailure``."""
        destinations = self._settings(event.function_name).get("DestinationConfig", {})
        destination = destinations.get(end, {}).get("Destination")
        if destination:
            self._send(destination, json.dumps(_envelope(event, pool, condition)))


def _envelope(event: _Event, pool: Pool, condition: str) -> dict[str, Any]:
    """Return the message that AWS sends to a destination of an asynchronous invocation."""
    arn = f"{pool.config.arn}:$LATEST"
    envelope: dict[str, Any] = {
        "version": "1.0",
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "requestContext": {
            "requestId": event.request_id,
            "functionArn": arn,
            "condition": condition,
            "approximateInvokeCount": event.invocations,
        },
        "requestPayload": Outcome(payload=event.body).document(),
    }
    if event.last is not None:
        envelope["responseContext"] = {
            "statusCode": 200,
            "executedVersion": "$LATEST",
            **({"functionError": "Unhandled"} if event.last.failed else {}),
        }
        envelope["responsePayload"] = event.last.document()
    return envelope
