"""The console's pages. Each reads what it shows when it is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lifoq.basics.host import SYSTEM
from lifoq.basics.numbers import check_rate
from lifoq.basics.shown import finalize
from lifoq.client.cells import Cells
from lifoq.client.failure_kind import Kind
from lifoq.client.failures import failures
from lifoq.client.listing import LISTED, Wanted
from lifoq.client.queue import Queue
from lifoq.errors import (
    InvalidInput,
    LifoqError,
    QueueMisconfigured,
    StoreUnavailable,
    TaskNotFound,
)
from lifoq.health import sweep_note
from lifoq.health.headline import headline
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import NewTask, Task
from lifoq.operating.read_found_limits import find_adaptive_limits
from lifoq.operating.shared_limit_usage import find_limit_usage
from lifoq.operating.workers import find_workers
from lifoq.schedules.schedules import Schedules
from lifoq.store.table_protocol import Count
from lifoq_cli import known
from lifoq_cli.schedule import terms_of
from lifoq_console import putting, words
from lifoq_console.bulk import ACTIONS, Action, Bulk, matching, preview
from lifoq_console.chart import HEIGHT, WIDTH, charts, charts_of_type, spark
from lifoq_console.guard import METRICS, Guard
from lifoq_console.life import WIDTH as LIFE_WIDTH
from lifoq_console.life import life
from lifoq_console.putting import Form
from lifoq_console.sample import by_type, sample
from lifoq_console.search import search
from lifoq_console.subject import Subject
from lifoq_console.traffic import RANGES
from lifoq_console.type_history import type_history

STATIC: Final = Path(__file__).with_name("static")
PAGE: Final = 50
"""Tasks of a list."""
SHOWN_AT_ONCE: Final = 1_000
"""Characters of a payload, a checkpoint or a result."""
SCAN: Final = 2_000
"""Index rows that one page of a list reads at the most."""

ENDED: Final = (Status.SUCCESS, Status.CANCELLED)
"""Statuses in no index: their lists show what a part of the table holds."""
NOT_FOUND: Final = 404
STATUSES: Final = {TaskNotFound: NOT_FOUND, StoreUnavailable: 503, QueueMisconfigured: 503}
"""HTTP's status for what the queue raises; a request that makes no sense is a 400."""
NO_SCHEDULES: Final = "takes no schedules: deploy it with schedules=True"
FILTERS: Final = ("type", "key", "error", "text", "shape", "older", "newer")
"""Fields of a list's form."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    port: int
    token: str
    write: bool
    """True if the console may change anything."""
    metrics_token: str | None = None
    """The token by which Prometheus gets in, to its own page alone; None: there is no such page."""


def application(subject: Subject, settings: Settings, *, root: str = "") -> Starlette:
    """Make the console of one queue. ``root``: the path under which it stands beside others, where
    somebody else guards it."""
    pages = Pages(subject, settings, root=root)
    changes = [
        *(
            Route(f"/task/{action}", partial(pages.change, action=action), methods=["POST"])
            for action in Action
        ),
        Route("/selected", pages.change_selected, methods=["POST"]),
        Route("/bulk", pages.bulk_preview, methods=["GET"]),
        Route("/bulk", pages.bulk_start, methods=["POST"]),
        Route("/bulk/stop", pages.bulk_stop, methods=["POST"]),
        Route("/bulk/progress", pages.bulk_progress),
        Route("/put", pages.put_form, methods=["GET"]),
        Route("/put", pages.put, methods=["POST"]),
        Route("/put/preview", pages.put_preview, methods=["POST"]),
        Route("/put/change", pages.put_change, methods=["POST"]),
        Route("/schedules/delete", pages.delete_schedule, methods=["POST"]),
        Route("/processing/pause", pages.pause, methods=["POST"]),
        Route("/processing/resume", pages.resume, methods=["POST"]),
    ]
    return Starlette(
        routes=[
            Route("/", pages.overview),
            Route("/types", pages.types),
            Route("/tasks", pages.tasks),
            Route("/type", pages.type_),
            Route("/workers", pages.workers),
            Route("/schedules", pages.schedules),
            Route("/search", pages.search),
            Route("/task", pages.task),
            Route("/task/json", pages.task_json),
            Route("/task/log", pages.task_log),
            *(changes if settings.write else []),
            *([Route(METRICS, pages.metrics)] if settings.metrics_token else []),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[] if root else [guard(settings)],
        exception_handlers={LifoqError: pages.failed, 404: pages.missing},
    )


def guard(settings: Settings) -> Middleware:
    return Middleware(
        Guard, token=settings.token, metrics_token=settings.metrics_token, port=settings.port
    )


def templates(*, root: str = "", **everywhere: Any) -> Environment:
    """Return the templates. ``root``: the path that all links of the pages begin with;
    ``everywhere``: what all templates know besides."""
    found = Environment(
        loader=PackageLoader("lifoq_console"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {"words": words, "root": root, **everywhere}
    # Jinja's own filter leaves a slash as it is.
    found.filters["quoted"] = partial(quote, safe="")
    return found


class Pages:
    def __init__(self, subject: Subject, settings: Settings, *, root: str = "") -> None:
        self._subject = subject
        self._write = settings.write
        self._bulk: Bulk | None = None
        self._templates = templates(root=root)
        self._templates.globals |= {
            "name": subject.name,
            "beside_others": bool(root),
            "write": settings.write,
            "statuses": (*LISTED, *ENDED),
            "actions_of": lambda status: ACTIONS.get(status, ()),
            "bulk": lambda: self._bulk,
            "counts": self._counts,
            "known_types": lambda: known.types(self._queue),
            "has_schedules": lambda: self._schedules is not None,
            "words": words,
        }

    @property
    def _queue(self) -> Queue | Cells:
        return self._subject.queue

    @property
    def _schedules(self) -> Schedules | None:
        """The schedules that clients make; None if the queue takes none. Of several cells, each has
        its own."""
        queue = self._queue
        if isinstance(queue, Cells) or queue.schedule_group is None:
            return None
        return queue.schedules

    # Seeing

    def overview(self, request: Request) -> Response:
        chosen = _range(request)
        stats = self._subject.look()
        traffic = self._subject.traffic(RANGES[chosen].step)
        paused = self._subject.is_paused
        return self._page(
            "overview",
            headline=headline(stats, paused=paused),
            stats=stats,
            traffic=traffic,
            chosen=chosen,
            ranges=RANGES,
            quotas=find_limit_usage(self._queue),
            now=SYSTEM.now(),
            problem=self._subject.problem,
            charts=[] if traffic is None or traffic.is_empty else charts(traffic),
            width=WIDTH,
            height=HEIGHT,
            paused=paused,
            can_pause=self._subject.processing is not None,
        )

    def types(self, _request: Request) -> Response:
        self._subject.glance()
        seen = sample(self._queue)
        shared = find_limit_usage(self._queue)
        limits = {one.task_type: one.at_a_time for one in shared if not (one.cell or one.unit)}
        limits |= {one.task_type: one.told for one in find_adaptive_limits(self._queue)}
        return self._page("types", rows=by_type(self._queue, seen), seen=seen, limits=limits)

    def type_(self, request: Request) -> Response:
        """One task type over time."""
        chosen, task_type = _range(request), request.query_params.get("name", "")
        self._subject.glance()
        seen = sample(self._queue)
        history = type_history(seen.tasks, task_type, now=SYSTEM.now(), step=RANGES[chosen].step)
        types = {one.name: one for one in by_type(self._queue, seen)}
        return self._page(
            "type",
            task_type=task_type,
            row=types.get(task_type),
            history=history,
            seen=seen,
            chosen=chosen,
            ranges=RANGES,
            charts=[] if history.is_empty else charts_of_type(history),
            width=WIDTH,
            height=HEIGHT,
        )

    def workers(self, _request: Request) -> Response:
        self._subject.glance()
        return self._page("workers", workers=find_workers(self._queue), now=SYSTEM.now())

    def schedules(self, request: Request) -> Response:
        if self._schedules is None:
            raise InvalidInput("schedules", self._subject.name, NO_SCHEDULES)
        prefix = request.query_params.get("prefix", "")
        self._subject.glance()
        found = self._schedules.list(prefix, limit=PAGE + 1)
        return self._page(
            "schedules",
            schedules=found[:PAGE],
            more=len(found) > PAGE,
            prefix=prefix,
            terms_of=terms_of,
            now=SYSTEM.now(),
        )

    def ended(self, status: Status, given: Mapping[str, str]) -> Response:
        task_type, key = given.get("type", ""), given.get("key", "")
        self._subject.glance()
        seen = sample(self._queue)
        found = seen.ended(status, task_type=task_type, key=key)
        return self._page(
            "ended",
            listed=status,
            task_type=task_type,
            key=key,
            found=found,
            tasks=found[:PAGE],
            seen=seen,
            now=SYSTEM.now(),
        )

    def tasks(self, request: Request) -> Response:
        status = request.query_params.get("status")
        if status in ENDED:
            return self.ended(Status(status), request.query_params)
        wanted, fields = _wanted(request.query_params, any_case=True)
        self._subject.glance()
        start = request.query_params.get("start") or None
        listing = self._queue.search(wanted, limit=PAGE, scan=SCAN, start=start)
        now = SYSTEM.now()
        failed = wanted.status is Status.FAILURE and start is None
        return self._page(
            "tasks",
            failures=failures(self._queue, wanted) if failed else None,
            spark=partial(spark, now=now),
            query_of=lambda kind: _query({**fields, **_fields(kind)}),
            listed=wanted.status,
            fields=fields,
            query=_query(fields),
            listing=listing,
            following=listing.next and _query({**fields, "start": listing.next}),
            began=start is None,
            now=now,
        )

    def search(self, request: Request) -> Response:
        """Tasks that have a text somewhere. The field that every page has finds an id at once."""
        given = request.query_params
        text, task_type = given.get("q", ""), given.get("type", "")
        self._subject.glance()
        exact = self._queue.look(text) if text else None
        if exact is not None and "all" not in given:
            return RedirectResponse(f"/task?{urlencode({'id': text})}", status_code=303)
        return self._page(
            "search",
            text=text,
            task_type=task_type,
            exact=exact,
            results=search(self._queue, text, task_type) if text else [],
            now=SYSTEM.now(),
        )

    def task(self, request: Request) -> Response:
        task_id = request.query_params.get("id", "")
        task = self._queue.get(task_id)
        if task is None:
            raise TaskNotFound(task_id)
        now = SYSTEM.now()
        return self._page(
            "task",
            task=task,
            now=now,
            life=life(task, now=now),
            life_width=LIFE_WIDTH,
            parts=_parts(task),
            most=SHOWN_AT_ONCE,
            has_log=self._subject.logs is not None,
            why=self._queue.explain(task_id) if task.waiting else None,
        )

    def task_json(self, request: Request) -> Response:
        """The payload, the checkpoint or the result, which may be long."""
        task_id, part = request.query_params.get("id", ""), request.query_params.get("part", "")
        task = self._queue.get(task_id)
        if task is None:
            raise TaskNotFound(task_id)
        if part not in ("payload", "checkpoint", "result"):
            raise InvalidInput("part", part, "is none of payload, checkpoint, result")
        return self._page("json", value=words.pretty(getattr(task, part)))

    def task_log(self, request: Request) -> Response:
        """The lines that the task's code logged: where they lie, to look takes a while."""
        task_id = request.query_params.get("id", "")
        task = self._queue.look(task_id)
        if task is None:
            raise TaskNotFound(task_id)
        if self._subject.logs is None:
            return self._page("log", task=task, problem="It is not known where this queue logs.")
        try:
            found = self._subject.logs.of(task, now=SYSTEM.now())
        except LifoqError as error:
            return self._page("log", task=task, problem=str(error))
        return self._page("log", task=task, problem=None, found=found)

    def metrics(self, _request: Request) -> Response:
        from lifoq_cli import prometheus  # noqa: PLC0415 - an extra of its own

        text = prometheus.of_queue(
            self._queue.stats(), find_limit_usage(self._queue), self._subject.name
        )
        return Response(text, media_type=prometheus.CONTENT_TYPE)

    # Steering

    def change(self, request: Request, *, action: Action) -> Response:
        task_id = request.query_params.get("id", "")
        task = action.apply(self._queue, task_id, running=True)
        place = f"/task?{urlencode({'id': task_id})}"
        if action is Action.DELETE:
            place = f"/tasks?status={task.status}"
        return RedirectResponse(place, status_code=303)

    def bulk_preview(self, request: Request) -> Response:
        wanted, fields = _wanted(request.query_params)
        return self._page(
            "preview",
            wanted=wanted,
            listed=wanted.status,
            query=_query(fields),
            fields=fields,
            action=_action(wanted.status, request.query_params),
            preview=preview(self._queue, wanted),
            now=SYSTEM.now(),
        )

    async def bulk_start(self, request: Request) -> Response:
        wanted, _ = _wanted(request.query_params)
        action = _action(wanted.status, request.query_params)
        per_second = _rate(await _form(request))
        ids = (task.task_id for task in matching(self._queue, wanted))
        return self._start(
            Bulk(self._queue, ids, action, status=wanted.status, per_second=per_second)
        )

    async def change_selected(self, request: Request) -> Response:
        """Rows of a list, by their boxes."""
        status = request.query_params.get("status", "")
        if status not in ACTIONS:
            raise InvalidInput("status", status, f"is none of {', '.join(ACTIONS)}")
        action = _action(Status(status), request.query_params)
        # Quoted once more: a browser changes the ends of lines in a form.
        ids = [unquote(quoted) for quoted in (await _form(request)).get("id", [])]
        if not ids:
            raise InvalidInput("id", None, "is missing: select tasks first")
        return self._start(Bulk(self._queue, ids, action, status=Status(status)))

    def put_form(self, request: Request) -> Response:
        """A form for a task: empty, of a type, or like another task."""
        given = request.query_params
        if not given.get("from"):
            task_type = given.get("type", "")
            last = putting.last_of(self._queue, task_type) if task_type else []
            form = Form.like(last[0]) if last else Form.empty(task_type)
            return self._put_form(form, last=last)
        task = self._queue.get(given["from"])
        if task is None:
            raise TaskNotFound(given["from"])
        return self._put_form(Form.like(task), like=task)

    async def put_change(self, request: Request) -> Response:
        """The form once more, as it was previewed."""
        form = Form.sent(await _form(request))
        return await run_in_threadpool(self._put_form, form)

    async def put_preview(self, request: Request) -> Response:
        form = Form.sent(await _form(request))
        try:
            return await run_in_threadpool(self._preview_put, form, form.new_task())
        except InvalidInput as error:
            return await run_in_threadpool(self._put_form, form, problem=str(error))

    def _preview_put(self, form: Form, new: NewTask) -> Response:
        """The task as it would be put now. InvalidInput."""
        task_id = new.task_id or SYSTEM.new_id()
        home = putting.home(self._queue, task_id)
        task = Task.from_item({**home.store.new_item(new), Attribute.TASK_ID: task_id})
        return self._page(
            "putting",
            form=form.with_id(task_id),
            terms=putting.TERMS,
            task=task,
            payload=words.pretty(new.payload),
            most=SHOWN_AT_ONCE,
            there=self._queue.look(task_id) if new.task_id else None,
            replaces=new.if_exists == "replace",
            lacks=sweep_note.read(home.store).lacks(task.task_type),
            now=SYSTEM.now(),
        )

    async def put(self, request: Request) -> Response:
        new = Form.sent(await _form(request)).new_task()
        task = await run_in_threadpool(self._queue.put, **vars(new))
        return RedirectResponse(f"/task?{urlencode({'id': task.task_id})}", status_code=303)

    def _put_form(
        self,
        form: Form,
        *,
        like: Task | None = None,
        last: Sequence[Task] = (),
        problem: str | None = None,
    ) -> Response:
        beside = ("task_type", "payload", "if_exists")
        return self._page(
            "put",
            form=form,
            terms=putting.TERMS,
            is_choice=putting.is_choice,
            more=any(text for name, text in form.texts.items() if name not in beside),
            like=like,
            last=last,
            problem=problem,
            status=400 if problem else 200,
        )

    def _start(self, bulk: Bulk) -> Response:
        if self._bulk is not None and self._bulk.is_running:
            raise InvalidInput("bulk", self._bulk.action.value, "is still under way; stop it first")
        self._bulk = bulk
        self._bulk.start()
        return RedirectResponse("/bulk/progress", status_code=303)

    def bulk_progress(self, _request: Request) -> Response:
        return self._page("progress")

    def bulk_stop(self, _request: Request) -> Response:
        if self._bulk is not None:
            self._bulk.stop()
        return RedirectResponse("/bulk/progress", status_code=303)

    def delete_schedule(self, request: Request) -> Response:
        if self._schedules is None:
            raise InvalidInput("schedules", self._subject.name, NO_SCHEDULES)
        self._schedules.delete(request.query_params.get("name", ""))
        return RedirectResponse("/schedules", status_code=303)

    def pause(self, _request: Request) -> Response:
        if self._subject.processing is not None:
            self._subject.processing.pause("lifoq console")
        return RedirectResponse("/", status_code=303)

    def resume(self, _request: Request) -> Response:
        if self._subject.processing is not None:
            self._subject.processing.resume()
        return RedirectResponse("/", status_code=303)

    # What goes wrong

    def failed(self, request: Request, error: Exception) -> Response:
        status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 400)
        is_unreached = status == STATUSES[StoreUnavailable]
        if is_unreached and request.method == "GET" and self._subject.finds_again():
            return RedirectResponse(str(request.url), status_code=303)
        return self._failed(request, status, str(error))

    def missing(self, request: Request, _error: Exception) -> Response:
        return self._failed(request, NOT_FOUND, "There is no such page.")

    def _failed(self, request: Request, status: int, sentence: str) -> Response:
        return self._page(
            "failed",
            status=status,
            sentence=sentence,
            is_unreached=status == STATUSES[StoreUnavailable],
            is_missing=status == NOT_FOUND,
            is_change=request.method == "POST",
        )

    def _counts(self) -> dict[Status, Count] | None:
        """Return the counts for the tabs, as they were last seen: a page that tells of an error
        looks at nothing."""
        stats = self._subject.looked
        return (
            None
            if stats is None
            else {
                Status.PENDING: stats.live,
                Status.DELAYED: stats.delayed,
                Status.TAKEN: stats.taken,
                Status.FAILURE: stats.failure,
            }
        )

    def _page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        text = self._templates.get_template(f"{template}.html.j2").render(page=template, **values)
        return HTMLResponse(text, status_code=status)


def _range(request: Request) -> str:
    chosen = request.query_params.get("range", "1h")
    if chosen not in RANGES:
        raise InvalidInput("range", chosen, f"is none of {', '.join(RANGES)}")
    return chosen


def _wanted(given: Mapping[str, str], *, any_case: bool = False) -> tuple[Wanted, dict[str, str]]:
    """Return what is searched for, and the fields of the form that said it."""
    texts = {name: given.get(name, "") for name in FILTERS}
    status = given.get("status", Status.PENDING.value)
    if status not in LISTED:
        raise InvalidInput("status", status, f"is none of {', '.join(LISTED)}")
    wanted = Wanted(
        status=Status(status),
        task_type=texts["type"] or None,
        key=texts["key"] or None,
        error_type=texts["error"] or None,
        text=texts["text"] or None,
        error_shape=texts["shape"] or None,
        older_than=words.seconds("older", texts["older"]),
        newer_than=words.seconds("newer", texts["newer"]),
        any_case=any_case,
    )
    return wanted, {"status": status, **texts}


def _fields(kind: Kind) -> dict[str, str]:
    """Return what to fill into the form to find the failures of a kind."""
    return {"type": kind.task_type, "error": kind.error_type, "shape": kind.shape}


def _query(fields: Mapping[str, str]) -> str:
    return urlencode({name: text for name, text in fields.items() if text})


def _parts(task: Task) -> dict[str, str]:
    """Return the values that the task holds, as JSON."""
    held = {
        "payload": True,
        "checkpoint": task.checkpoint is not None,
        "result": task.status is Status.SUCCESS,
    }
    return {part: words.pretty(getattr(task, part)) for part, is_held in held.items() if is_held}


async def _form(request: Request) -> dict[str, list[str]]:
    return parse_qs((await request.body()).decode("latin-1"))


def _action(status: Status, given: Mapping[str, str]) -> Action:
    possible = ACTIONS[status]
    action = given.get("action", possible[0].value)
    if action not in possible:
        raise InvalidInput("action", action, f"is none of {', '.join(possible)}")
    return Action(action)


def _rate(form: Mapping[str, list[str]]) -> float | None:
    text = form.get("per_second", [""])[0].strip()
    if not text:
        return None
    try:
        rate = float(text)
    except ValueError:
        raise InvalidInput("per_second", text, "must be a number, such as 5") from None
    check_rate("per_second", rate)
    return rate
