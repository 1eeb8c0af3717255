"""A task type that is an HTTPS request."""

import http.client
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlsplit

from lifoq.basics import jsontext
from lifoq.basics.numbers import check_count, check_seconds
from lifoq.errors import Busy, Fail, InvalidInput, Retry
from lifoq.targets.address import CheckedConnection, network
from lifoq.targets.hidden import Hidden
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.registry import Terms

METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
WITH_BODY: Final = frozenset({"PATCH", "POST", "PUT"})
FULL: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
"""The downstream has no room: no attempt of the task."""
RETRIED: Final = (408, 425, 500, 502, 504)
LARGEST_ANSWER: Final = 256 * 1024
"""Bytes that may be asked for: the answer becomes the task's result."""
LONGEST_WISH: Final = 86_400.0
"""Seconds of a Retry-After that are believed."""
SHOWN: Final = 200
"""Characters of an answer that an error tells."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OWN: Final = frozenset({"connection", "content-length", "host", "transfer-encoding", "te"})
"""Headers that the request sets itself."""


@dataclass(frozen=True, kw_only=True)
class HttpsTarget(Terms):
    """A task type without code: one HTTPS request for each attempt. The payload is its body, as
    JSON. The task's id is sent as ``Idempotency-Key``, since a task may run more than once.

    A status of 2xx is a success, with the answer as the result: JSON where it says so, else text.
    429 and 503 are ``Busy``, ``retry_statuses`` are retried, ``Retry-After`` is heeded; any other
    status is a FAILURE at once, redirects too, which are not followed.

    Raises:
        InvalidInput: A field is out of bounds, or would send a secret in the clear.

    Examples:
        >>> from lifoq.targets.https import HttpsTarget
        >>> target = HttpsTarget(url="https://devices.example.com/check", timeout=5, in_flight=4)
    """

    url: str
    """The address, ``https://`` and a host; ``http://`` only to ``allowed_networks``."""
    method: str = "POST"
    """The method of the request."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers beside those that the request sets itself."""
    secret_headers: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret value: for each, the name of the secret in Secrets Manager whose text
    is the value. An answer that holds the value is kept with ``…`` in its place."""
    timeout: float = 10.0
    """The seconds that the whole request may take, answer included."""
    retry_statuses: tuple[int, ...] = RETRIED
    """The statuses after which the task is tried again, beside 429 and 503."""
    answer_bytes: int = 64 * 1024
    """The longest answer that is kept, in bytes; a larger one is a FAILURE."""
    allowed_networks: tuple[str, ...] = ()
    """Networks beside the internet that the request may go to, such as ``10.1.0.0/16``; to these it
    may go without TLS. Anything private, loopback or link-local is refused without."""

    def __post_init__(self) -> None:
        self._check_url()
        if self.method not in METHODS:
            raise InvalidInput("method", self.method, f"must be one of {', '.join(METHODS)}")
        self._check_headers()
        check_seconds("timeout", self.timeout)
        for status in self.retry_statuses:
            self._check_retry_status(status)
        check_count("answer_bytes", self.answer_bytes)
        if self.answer_bytes > LARGEST_ANSWER:
            problem = f"is more than a result should hold: {LARGEST_ANSWER:,} at the most"
            raise InvalidInput("answer_bytes", self.answer_bytes, problem)
        for text in self.allowed_networks:
            network(text)
        self.check_terms()

    @property
    def place(self) -> SplitResult:
        return urlsplit(self.url)

    def _check_headers(self) -> None:
        names = (*self.headers, *self.secret_headers)
        for name in names:
            _check_header(name)
        for name, value in self.headers.items():
            if not isinstance(value, str) or not _VALUE.fullmatch(value):
                raise InvalidInput(f"headers.{name}", value, "must be text of one line")
        lower = [name.lower() for name in names]
        if twice := sorted({name for name in lower if lower.count(name) > 1}):
            raise InvalidInput("headers", twice[0], "is given twice: leave one of them out")

    def _check_url(self) -> None:
        try:
            place = self.place
            host, _port = place.hostname, place.port
        except ValueError as error:
            raise InvalidInput("url", self.url, f"is no URL ({error})") from error
        if place.scheme not in ("https", "http") or not host:
            raise InvalidInput("url", self.url, "must begin with https:// and a host")
        if place.scheme == "http" and not self.allowed_networks:
            problem = "is sent in the clear: use https, or allow the private network it leads to"
            raise InvalidInput("url", self.url, problem)
        if place.username is not None or place.password is not None:
            problem = "holds a user or password: put them into a secret, and name it in "
            raise InvalidInput("url", self.url, problem + "secret_headers")
        if place.fragment:
            raise InvalidInput("url", self.url, "has a #fragment, which is never sent: remove it")
        if re.search(r"[^\x21-\x7e]", self.url):
            problem = "holds a space or a letter beyond ASCII: write them as %20 and the like"
            raise InvalidInput("url", self.url, problem)

    @staticmethod
    def _check_retry_status(status: Any) -> None:
        if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:  # noqa: PLR2004
            raise InvalidInput("retry_statuses", status, "must be from 400 to 599")
        if status in FULL:
            problem = "is Busy always, which is no attempt: leave it out"
            raise InvalidInput("retry_statuses", status, problem)


def _check_header(name: Any) -> None:
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise InvalidInput("headers", name, "is no name of a header")
    if name.lower() in _OWN:
        raise InvalidInput("headers", name, "is set by the request itself: leave it out")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An HTTP answer. ``cut``: True if its content was longer than what is read of it."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes
    cut: bool
    """True if the answer was longer than this."""


class HttpsHandler:
    """The handler of an HTTPS target's tasks."""

    def __init__(self, target: HttpsTarget, *, secret: Callable[[str], str]) -> None:
        """``secret`` tells the text of the secret of a name."""
        self._target = target
        self._secret = secret
        self._networks = tuple(network(text) for text in target.allowed_networks)
        self._tls = ssl.create_default_context() if target.place.scheme == "https" else None

    def __call__(self, payload: Any, context: Context) -> Any:
        target = self._target
        timeout = min(target.timeout, context.remaining)
        secrets = {name: self._secret_value(of) for name, of in target.secret_headers.items()}
        hidden = Hidden(secrets.values())
        answer = self._send(payload, context, timeout, secrets, hidden)
        told = hidden.text(f"{answer.status} {answer.reason}".strip())
        after = _retry_after(answer.headers.get("retry-after"))
        if answer.status in FULL:
            raise Busy(f"the downstream is full: {told}", after=after)
        if answer.status in target.retry_statuses:
            raise Retry(f"{told}: {_shown(answer, hidden)}", after=after)
        if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
            place = hidden.text(answer.headers.get("location", "nowhere"))
            raise Fail(f"{told}: redirects are not followed, this one leads to {place[:SHOWN]}")
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            raise Fail(f"{told}: {_shown(answer, hidden)}")
        if answer.cut:
            raise Fail(
                f"{told}, but the answer has more than {target.answer_bytes:,} bytes: raise "
                "answer_bytes of the target, or answer less"
            )
        return hidden.value(_result(answer))

    def _send(
        self,
        payload: Any,
        context: Context,
        timeout: float,
        secrets: Mapping[str, str],
        hidden: Hidden,
    ) -> Answer:
        """Send the request. ``secrets``: by header; what the errors tell of the answer is without
        them. TimeoutError, OSError and HTTPException are retried as any error is."""
        place = self._target.place
        connection = CheckedConnection(
            place.hostname or "",
            place.port or (443 if self._tls else 80),
            timeout=timeout,
            allowed=self._networks,
            tls=self._tls,
        )
        # A socket's timeout is of each step: who sends a byte now and then would hold the slot.
        alarm = threading.Timer(timeout, connection.abort)
        alarm.daemon = True
        alarm.start()
        try:
            answer = self._exchange(connection, payload, self._headers(context, secrets))
        except (OSError, http.client.HTTPException) as error:
            if connection.aborted or isinstance(error, TimeoutError):
                raise TimeoutError(f"no whole answer within {timeout:g} s") from None
            told = f"{type(error).__name__}: {error}"
            if hidden.text(told) != told:  # a line of the answer that is no HTTP
                raise http.client.HTTPException(hidden.text(told)) from None
            raise
        finally:
            alarm.cancel()
            connection.close()
        if connection.aborted:
            raise TimeoutError(f"no whole answer within {timeout:g} s")
        return answer

    def _exchange(
        self, connection: CheckedConnection, payload: Any, headers: dict[str, str]
    ) -> Answer:
        target = self._target
        place = target.place
        has_body = target.method in WITH_BODY
        connection.request(
            target.method,
            (place.path or "/") + (f"?{place.query}" if place.query else ""),
            body=jsontext.encode(payload, "payload").encode() if has_body else None,
            headers=headers,
        )
        with connection.getresponse() as response:
            content = _read(response, target.answer_bytes)
            return Answer(
                status=response.status,
                reason=response.reason,
                headers={name.lower(): value for name, value in response.getheaders()},
                content=content[: target.answer_bytes],
                cut=len(content) > target.answer_bytes,
            )

    def _headers(self, context: Context, secrets: Mapping[str, str]) -> dict[str, str]:
        """Return the request's headers; those of the target win."""
        has_body = self._target.method in WITH_BODY
        own = {
            "Accept": "application/json, text/plain;q=0.5, */*;q=0.1",
            "Idempotency-Key": quote(context.task_id, safe="!#$&'()*+,/:;=?@[]~ "),
            "User-Agent": "lifoq",
            **({"Content-Type": "application/json"} if has_body else {}),
            **({"traceparent": context.traceparent} if context.traceparent else {}),
        }
        given = {**self._target.headers, **secrets}
        lower = {name.lower() for name in given}
        return {**{k: v for k, v in own.items() if k.lower() not in lower}, **given}

    def _secret_value(self, name: str) -> str:
        value = self._secret(name).strip()
        if not _VALUE.fullmatch(value):
            raise Fail(f"the secret {name} is no text of one line, as a header has to be")
        return value


def _read(response: http.client.HTTPResponse, most: int) -> bytes:
    """Return the body of an answer, up to ``most`` bytes and one more."""
    parts: list[bytes] = []
    room = most + 1
    while room > 0 and (part := response.read(min(room, 65_536))):
        parts.append(part)
        room -= len(part)
    if room > 0 and response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _result(answer: Answer) -> Any:
    if not answer.content:
        return None
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return result_of_json(answer.content)
    return answer.content.decode(errors="replace")


def result_of_json(content: bytes) -> Any:
    """The value; text where it is not JSON, or JSON that cannot be stored as it is: the work is
    done, whatever it says of itself."""
    try:
        value = jsontext.decode(content.decode())
        jsontext.encode(value, "answer")
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
    return value


def _shown(answer: Answer, hidden: Hidden) -> str:
    """The beginning of the answer. What is hidden goes before the text is cut: a part would be too
    short to be found."""
    return hidden.text(answer.content.decode(errors="replace"))[:SHOWN] or "no more was said"


def _retry_after(wish: str | None) -> float | None:
    """Seconds; None where the downstream says nothing that makes sense."""
    if wish is None:
        return None
    if re.fullmatch(r"\d{1,9}", wish.strip()):
        return min(float(wish), LONGEST_WISH)
    try:
        moment = parsedate_to_datetime(wish)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), LONGEST_WISH)
