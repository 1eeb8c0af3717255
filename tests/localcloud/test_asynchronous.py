"""Lambda's asynchronous invocation: retries, throttling, event age, on-failure destination."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from localcloud.asynchronous import AsynchronousInvoker
from localcloud.function import Outcome, Run, ThrottledError

OK = Outcome(payload=b"null")
FAILED = Outcome.failure("ValueError", "no")


class Clock:
    """Time that passes when the test says so; it is the timer, too."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._lock = threading.Condition()

    def __call__(self) -> float:
        return self.now

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        with self._lock:
            self.waits.append(round(seconds, 1))
            self._due.append((self.now + seconds, action))
            self._lock.notify()

    def run_next(self) -> None:
        """Go to the time of what is due next, and do it."""
        with self._lock:
            assert self._lock.wait_for(lambda: self._due, 300), "nothing was put off"
            self._due.sort(key=lambda entry: entry[0])
            self.now, action = self._due.pop(0)
        action()


class Function:
    """Stands for the function's pool."""

    def __init__(self, *answers: Outcome | None) -> None:
        self._answers = list(answers)
        self.events: list[bytes] = []
        self.contexts: list[str] = []
        self.ended = threading.Semaphore(0)
        self.config = type("Config", (), {"arn": "arn:aws:lambda:us-east-1:1:function:f"})

    def reserve(self) -> Run:
        answer = self._answers.pop(0)
        if answer is None:
            raise ThrottledError("f")

        def run(event: bytes, client_context: str = "", /) -> Outcome:
            self.events.append(event)
            self.contexts.append(client_context)
            self.ended.release()
            return answer

        return run


class Invoking:
    def __init__(
        self, *answers: Outcome | None, first_retry_seconds: float = 60.0, **settings: Any
    ) -> None:
        self.clock = Clock()
        self.function = Function(*answers)
        self.failures: list[dict[str, Any]] = []
        self._failed = threading.Semaphore(0)
        self._invoker = AsynchronousInvoker(
            pool={"f": self.function}.get,  # type: ignore[arg-type]
            settings=lambda _: {
                "DestinationConfig": {"OnFailure": {"Destination": "arn:aws:sqs:x:1:q"}},
                **settings,
            },
            send=self._send,
            timer=self.clock,
            clock=self.clock,
            first_retry_seconds=first_retry_seconds,
        )

    def submit(self) -> None:
        self._invoker.submit("f", b'{"n": 1}', '{"custom": {}}')

    def failure(self) -> dict[str, Any]:
        assert self._failed.acquire(timeout=300), "nothing was given up"
        return self.failures[-1]

    def _send(self, _arn: str, body: str) -> bool:
        self.failures.append(json.loads(body))
        self._failed.release()
        return True


@pytest.mark.parametrize("first", [60.0, 0.5], ids=["as on AWS", "as a test may want it"])
def test_an_event_that_fails_is_retried_twice_and_then_told(first):
    invoking = Invoking(FAILED, FAILED, FAILED, first_retry_seconds=first)
    invoking.submit()
    invoking.clock.run_next()
    invoking.clock.run_next()
    failure = invoking.failure()

    assert invoking.clock.waits == [first, 2 * first]
    assert invoking.function.events == [b'{"n": 1}'] * 3
    assert invoking.function.contexts == ['{"custom": {}}'] * 3
    assert failure["requestContext"]["condition"] == "RetriesExhausted"
    assert failure["requestContext"]["approximateInvokeCount"] == 3
    assert failure["requestContext"]["functionArn"].endswith(":f:$LATEST")
    assert failure["requestPayload"] == {"n": 1}
    assert failure["responseContext"]["functionError"] == "Unhandled"
    assert failure["responsePayload"]["errorMessage"] == "no"


def test_an_age_of_a_minute_leaves_no_time_for_a_retry():
    invoking = Invoking(FAILED, OK, MaximumEventAgeInSeconds=60, MaximumRetryAttempts=1)
    invoking.submit()
    invoking.clock.run_next()
    failure = invoking.failure()

    assert invoking.function.events == [b'{"n": 1}']
    assert failure["requestContext"]["condition"] == "EventAgeExceeded"
    assert failure["responsePayload"]["errorMessage"] == "no"


def test_an_event_that_succeeds_at_last_is_not_told():
    invoking = Invoking(FAILED, OK)
    invoking.submit()
    invoking.clock.run_next()
    assert invoking.function.ended.acquire(timeout=300)
    assert invoking.function.ended.acquire(timeout=300)

    assert invoking.failures == []


@pytest.mark.parametrize("retries", [0, 1])
def test_the_functions_own_number_of_retries_counts(retries):
    invoking = Invoking(*[FAILED] * (retries + 1), MaximumRetryAttempts=retries)
    invoking.submit()
    for _ in range(retries):
        invoking.clock.run_next()
    invoking.failure()

    assert len(invoking.function.events) == retries + 1


def test_a_throttled_event_waits_longer_and_longer_up_to_five_minutes():
    invoking = Invoking(*[None] * 11, OK)
    invoking.submit()
    for _ in range(11):
        invoking.clock.run_next()
    assert invoking.function.ended.acquire(timeout=300)

    assert invoking.clock.waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert len(invoking.function.events) == 1


def test_an_event_that_is_never_taken_is_given_up_at_its_age():
    invoking = Invoking(*[None] * 7, MaximumEventAgeInSeconds=60)
    begun = invoking.clock.now
    invoking.submit()
    for _ in range(6):
        invoking.clock.run_next()
    failure = invoking.failure()

    assert invoking.clock.now - begun == pytest.approx(60, abs=0.1)
    assert invoking.function.events == []
    assert failure["requestContext"]["condition"] == "EventAgeExceeded"
    assert failure["requestContext"]["approximateInvokeCount"] == 0
    assert "responsePayload" not in failure
