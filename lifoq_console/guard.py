"""Who may speak to the console: this machine's browser, with the address that was printed; and
Prometheus on this machine, where it was asked in.

Another page that is open in the same browser must neither read the console nor make it act, and a
name that somebody points at this machine must not reach it. So each request has to name this host
and carry the cookie, and one that changes something has to come from the console's own page.
"""

import secrets
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTRANCE: Final = "/enter"
METRICS: Final = "/metrics"
_SAFE: Final = ("GET", "HEAD")
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Lets through what comes from the console's own pages, and sets the headers that keep a
    browser from running or showing anything else."""

    def __init__(
        self, app: ASGIApp, *, token: str, port: int, metrics_token: str | None = None
    ) -> None:
        """``metrics_token`` opens the page of metrics to a program, and nothing else."""
        self._app = app
        self._token = token
        self._metrics_token = metrics_token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        # Cookies know hosts, and no ports: two consoles must not take each other's.
        self._cookie = f"lifoq-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, send_guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the answer that is given in the app's place; None if the app may answer."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return _refusal(f"This console is at {min(self._hosts)}, not at {host!r}.")
        if scope["path"] == ENTRANCE:
            return self._enter(scope)
        if scope["path"] == METRICS and self._is_scraper(headers):
            return None
        if not self._is_token(cookie_parser(headers.get("cookie", "")).get(self._cookie, "")):
            return _refusal("Open the address that the console printed when it was started.")
        if scope["method"] not in _SAFE and headers.get("origin") != f"http://{host}":
            return _refusal("Only the console's own pages may change something.")
        return None

    def _enter(self, scope: Scope) -> Response:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self._is_token(given):
            return _refusal("This address is of a console that was started earlier.")
        # The token leaves the address bar, and with it the history and what is copied from it.
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _is_scraper(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        return (
            self._metrics_token is not None
            and kind.lower() == "bearer"
            and secrets.compare_digest(given.strip().encode(), self._metrics_token.encode())
        )


def _refusal(sentence: str) -> Response:
    return PlainTextResponse(sentence + "\n", status_code=403)
