"""Several queues in one console: a list with a headline each, and the pages of each queue under a
path of its own.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lifoq.errors import LifoqError
from lifoq.health.headline import Headline, headline
from lifoq.health.statistics import QueueStats
from lifoq_console.app import STATIC, Settings, application, guard, templates
from lifoq_console.subject import Subject

log = logging.getLogger(__name__)

COUNTED: Final = 1_000
"""Rows that one count of the list reads at the most: each queue has several of them."""
AT_A_TIME: Final = 8
"""Queues that are asked at a time."""


class Queues:
    """The queues of one console. Each is connected with when it is first needed."""

    def __init__(
        self, names: Callable[[], Sequence[str]], connect: Callable[[str], Subject]
    ) -> None:
        """Both functions may raise LifoqError."""
        self.names = names
        self._connect = connect
        self._lock = threading.Lock()
        self._found: dict[str, Subject] = {}

    def __getitem__(self, name: str) -> Subject:
        """Raises LifoqError."""
        with self._lock:
            known = self._found.get(name)
        if known is None:
            known = self._connect(name)
            with self._lock:
                known = self._found.setdefault(name, known)
        return known


@dataclass(frozen=True, kw_only=True)
class Row:
    """A queue in the list."""

    name: str
    stats: QueueStats | None = None
    headline: Headline | None = None
    problem: str | None = None
    """A sentence in place of the numbers, which cannot be had."""


def application_of_several(queues: Queues, settings: Settings) -> Starlette:
    pages = templates(write=settings.write, name="lifoq", beside_others=False)

    def overview(_request: Request) -> Response:
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            rows = list(pool.map(lambda name: _row(queues, name), queues.names()))
        rows.sort(key=lambda row: row.headline is not None and row.headline.state.is_well)
        text = pages.get_template("queues.html.j2").render(
            page="queues", rows=rows, most=COUNTED, statuses=(), counts=dict, bulk=lambda: None
        )
        return HTMLResponse(text)

    return Starlette(
        routes=[
            Route("/", overview),
            Mount("/static", StaticFiles(directory=STATIC)),
            Mount("/queue/{name}", _Consoles(queues, settings)),
        ],
        middleware=[guard(settings)],
    )


def _row(queues: Queues, name: str) -> Row:
    try:
        subject = queues[name]
        stats = subject.queue.stats(cap=COUNTED)
        return Row(name=name, stats=stats, headline=headline(stats, paused=subject.is_paused))
    except LifoqError as error:
        return Row(name=name, problem=str(error))
    except Exception as error:  # the other queues are shown all the same
        log.exception("the queue %s could not be looked at", name)
        return Row(
            name=name, problem=f"{type(error).__name__}; the console's own terminal tells where"
        )


class _Consoles:
    """The pages of each queue, by the name in their path."""

    def __init__(self, queues: Queues, settings: Settings) -> None:
        self._queues = queues
        self._settings = settings
        self._consoles: dict[str, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path_params"]["name"]
        if name not in self._consoles:
            try:
                self._consoles[name] = await run_in_threadpool(self._made, name)
            except LifoqError:
                await RedirectResponse("/", status_code=303)(scope, receive, send)  # it says why
                return
        await self._consoles[name](scope, receive, send)

    def _made(self, name: str) -> ASGIApp:
        root = f"/queue/{name}"
        pages = application(self._queues[name], self._settings, root=root)

        async def under_root(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_on(message: Message) -> None:
                if message["type"] == "http.response.start":
                    headers = MutableHeaders(scope=message)
                    place = headers.get("location", "")
                    if place.startswith("/"):
                        headers["location"] = root + place
                await send(message)

            await pages(scope, receive, send_on)

        return under_root
