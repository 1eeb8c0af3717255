"""Lambda's asynchronous invocation: retries, throttling, event age, destinations."""

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from lifoq_localcloud.basics import threads
from lifoq_localcloud.functions.asynchronous import AsynchronousInvoker
from lifoq_localcloud.functions.function import Outcome, Run, ThrottledError

OK = Outcome(payload=b"null")
FAILED = Outcome.failure("ValueError", "no")
THROTTLED = None
POWERS = [2**number for number in range(9)]


@pytest.fixture(autouse=True)
def _in_one_thread(monkeypatch) -> None:
    monkeypatch.setattr(threads, "start", lambda _name, work: work())


class Event:
    """An event that a function answers so, from its submission to its end. It is the function's
    pool, and clock and timer, too: time goes to whatever is due next."""

    config = SimpleNamespace(arn="arn:aws:lambda:us-east-1:1:function:f")

    def __init__(
        self, *answers: Outcome | None, first_retry_seconds: float = 60.0, **settings: Any
    ) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.runs: list[tuple[bytes, str]] = []
        self.told: list[dict[str, Any]] = []
        self.told_to: list[str] = []
        self._answers = iter(answers)
        self._due: list[Callable[[], None]] = []
        destinations = {
            end: {"Destination": f"arn:aws:sqs:x:1:{end}"} for end in ("OnFailure", "OnSuccess")
        }
        AsynchronousInvoker(
            pool={"f": self}.get,  # type: ignore[arg-type]
            settings=lambda _: {"DestinationConfig": destinations, **settings},
            send=self._send,
            timer=self,
            clock=lambda: self.now,
            first_retry_seconds=first_retry_seconds,
        ).submit("f", b'{"n": 1}', '{"custom": {}}')
        while self._due:
            self.now += self.waits[-1]
            self._due.pop()()

    def _send(self, arn: str, body: str) -> bool:
        self.told_to.append(arn)
        self.told.append(json.loads(body))
        return True

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        self.waits.append(seconds)
        self._due.append(action)

    def reserve(self) -> Run:
        if (answer := next(self._answers)) is THROTTLED:
            raise ThrottledError("f")

        def run(event: bytes, client_context: str = "", /) -> Outcome:
            self.runs.append((event, client_context))
            return answer

        return run


@pytest.mark.parametrize(
    ("answers", "settings", "waits", "runs", "condition"),
    [
        ([FAILED] * 3, {}, [60, 120], 3, "RetriesExhausted"),
        ([FAILED] * 3, {"first_retry_seconds": 0.5}, [0.5, 1], 3, "RetriesExhausted"),
        ([FAILED] * 2, {"MaximumRetryAttempts": 1}, [60], 2, "RetriesExhausted"),
        ([FAILED], {"MaximumRetryAttempts": 0}, [], 1, "RetriesExhausted"),
        ([FAILED, OK], {}, [60], 2, "Success"),
        # An age of a minute leaves no time for a retry, and is when one that is never taken ends.
        ([FAILED, OK], {"MaximumEventAgeInSeconds": 60}, [60], 1, "EventAgeExceeded"),
        ([None] * 6, {"MaximumEventAgeInSeconds": 60}, [1, 2, 4, 8, 16, 29], 0, "EventAgeExceeded"),
        ([None] * 80, {}, [*POWERS, *[300] * 70, 89], 0, "EventAgeExceeded"),  # after six hours
        ([*[None] * 11, OK], {}, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300], 1, "Success"),
    ],
)
def test_an_event_is_retried_and_given_up_as_lambda_does(answers, settings, waits, runs, condition):
    event = Event(*answers, **settings)
    assert event.waits == pytest.approx(waits, abs=0.1)
    assert event.runs == [(b'{"n": 1}', '{"custom": {}}')] * runs
    assert [told["requestContext"]["condition"] for told in event.told] == [condition]
    end = "OnSuccess" if condition == "Success" else "OnFailure"
    assert event.told_to == [f"arn:aws:sqs:x:1:{end}"]


def test_an_end_is_told_with_its_last_answer_if_there_was_one():
    (done,) = Event(OK).told
    request = done["requestContext"]
    assert datetime.fromisoformat(done.pop("timestamp")).tzinfo == UTC
    assert uuid.UUID(request.pop("requestId"))
    told = {"functionArn": f"{Event.config.arn}:$LATEST", "condition": "Success"}
    assert done == {
        "version": "1.0",
        "requestContext": {**told, "approximateInvokeCount": 1},
        "requestPayload": {"n": 1},
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "responsePayload": None,
    }
    (failed,) = Event(FAILED, FAILED, MaximumRetryAttempts=1).told
    assert failed["requestContext"]["approximateInvokeCount"] == 2
    assert failed["requestPayload"] == {"n": 1}
    assert failed["responseContext"] == {**done["responseContext"], "functionError": "Unhandled"}
    assert failed["responsePayload"] == {"errorType": "ValueError", "errorMessage": "no"}
    (never_ran,) = Event(*[THROTTLED] * 2, MaximumEventAgeInSeconds=1).told
    assert never_ran["requestContext"]["approximateInvokeCount"] == 0
    assert never_ran.keys().isdisjoint({"responseContext", "responsePayload"})


def test_an_event_of_a_function_that_is_gone_is_dropped():
    told: list[Any] = []
    AsynchronousInvoker(
        pool=lambda _: None,
        settings=lambda _: {"DestinationConfig": {"OnFailure": {"Destination": "arn:of:a:queue"}}},
        send=lambda *message: told.append(message) is None,
        timer=SimpleNamespace(after=lambda *later: told.append(later)),
    ).submit("f", b"{}")
    assert told == []
