"""ApiFunction: the queue over HTTP, behind API Gateway."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.api import answers, requests
from lifoq.api.operations import OPERATIONS
from lifoq.basics import jsontext
from lifoq.basics.shown import harmless
from lifoq.client.queue import Queue
from lifoq.environment import Environment
from lifoq.errors import (
    InvalidInput,
    LifoqError,
    TaskCancelled,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
)
from lifoq.items import traceparent
from lifoq.items.packed import PARTS, Large
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskFailed

JSON: Final = "application/json"
MARGIN: Final = 3.0
"""Seconds that a wait leaves for the answer."""
ANSWER_BYTES: Final = 2 * 1024 * 1024
"""The largest payload or result in an answer: Lambda answers with 6 MB at the most, as JSON within
JSON."""
RETRY_AFTER: Final = "1"
"""Seconds; of an answer that DynamoDB did not confirm something."""

logger = Logger()
environment = Environment.of_this_process()
queue = Queue.connect(
    table=environment.table_name, lifetimes=environment.lifetimes(), bucket=environment.bucket
)
app = APIGatewayHttpResolver()


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """``event``: of an HTTP API, payload format 2.0."""
    # By the route that API Gateway chose: in the path it has decoded whatever the client encoded.
    path = event["routeKey"].partition(" ")[2]
    return app.resolve({**event, "rawPath": path}, context)


def put_task() -> Response[str]:
    key = requests.idempotency_key(app.current_event.headers.get("idempotency-key"))
    new = requests.new_task(body(), idempotency_key=key).within(trace())
    # One of many: that tells whether it is new, too.
    put = queue.put_many([new])[0]
    if put.task is None:
        raise put.error or RuntimeError("a put has neither a task nor an error")
    if key is not None and not put.created and not is_same(new, put.task):
        raise answers.KeyReused(key)
    status = HTTPStatus.CREATED if put.created else HTTPStatus.OK
    place = {"Location": requests.address(put.task.task_id)}
    return respond(status, answers.whole(put.task, now=queue.store.now()), place)


def put_tasks() -> Response[str]:
    tasks = [new.within(trace()) for new in requests.new_tasks(body())]
    outcomes, now = queue.put_many(tasks), queue.store.now()
    return respond(
        HTTPStatus.OK, {"outcomes": [answers.outcome(each, now=now) for each in outcomes]}
    )


def get_task(task_id: str) -> Response[str]:
    wait = requests.wait_seconds(parameters())
    if wait:
        left = app.lambda_context.get_remaining_time_in_millis() / 1000 - MARGIN
        with suppress(TaskCancelled, TaskFailed, TaskShed, WaitTimeout):
            queue.wait(task_id, timeout=max(0.0, min(wait, left)))
    task = queue.look(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    return respond(HTTPStatus.OK, answers.whole(read(task), now=queue.store.now()))


def list_tasks() -> Response[str]:
    asked = parameters()
    found = queue.search(
        requests.wanted(asked), limit=requests.limit(asked), start=asked.get("start")
    )
    return respond(HTTPStatus.OK, answers.listing(found, now=queue.store.now()))


def cancel_task(task_id: str) -> Response[str]:
    task = queue.cancel(task_id)
    return respond(HTTPStatus.OK, answers.whole(task, now=queue.store.now()))


def redrive_task(task_id: str) -> Response[str]:
    task = queue.redrive(task_id)
    return respond(HTTPStatus.OK, answers.whole(task, now=queue.store.now()))


def get_stats() -> Response[str]:
    return respond(HTTPStatus.OK, answers.stats(queue.stats()))


def read(task: Task) -> Task:
    """With what lies in the queue's bucket, as far as it fits the answer."""
    parts = {name: getattr(task, name) for name in PARTS}
    fit = [p for p, it in parts.items() if isinstance(it, Large) and it.size <= ANSWER_BYTES]
    return queue.store.whole(task, *fit) if fit else task


def is_same(new: NewTask, task: Task) -> bool:
    payload = jsontext.decode(jsontext.encode(new.payload, "payload"))
    return (new.task_type, payload) == (task.task_type, task.payload)


def body() -> Any:
    event = app.current_event
    try:
        return jsontext.decode(event.decoded_body or "")
    except (ValueError, RecursionError) as error:
        raise InvalidInput("body", event.body, f"is not JSON ({error})") from error


def trace() -> str | None:
    """That of the request."""
    return traceparent.if_one(app.current_event.headers.get("traceparent"))


def parameters() -> Mapping[str, str]:
    return app.current_event.query_string_parameters or {}


def respond(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Response[str]:
    return Response(
        status_code=status,
        content_type=JSON,
        body=harmless(json.dumps(body, separators=(",", ":"), ensure_ascii=False)),
        headers=dict(headers or {}),
    )


def refuse(error: LifoqError) -> Response[str]:
    status = next(
        (status for kind, status in answers.STATUSES.items() if isinstance(error, kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("the queue cannot answer: %s", error)
    unavailable = status == HTTPStatus.SERVICE_UNAVAILABLE
    headers = {"Retry-After": RETRY_AFTER} if unavailable else {}
    return respond(status, answers.error(error), headers)


def route(operation: str, function: Callable[..., Response[str]]) -> None:
    asked = next(one for one in OPERATIONS if one.name == operation)

    def run() -> Response[str]:
        path = app.current_event.path_parameters
        with requests.by_our_names(one=operation != "putTasks"):
            return function(requests.task_id(path, parameters())) if path else function()

    app.route(asked.path, method=asked.method)(run)


ANSWERED_BY: Final[Mapping[str, Callable[..., Response[str]]]] = {
    "putTask": put_task,
    "putTasks": put_tasks,
    "getTask": get_task,
    "listTasks": list_tasks,
    "cancelTask": cancel_task,
    "redriveTask": redrive_task,
    "getStats": get_stats,
}
for name, function in ANSWERED_BY.items():
    route(name, function)
app.exception_handler(LifoqError)(refuse)
