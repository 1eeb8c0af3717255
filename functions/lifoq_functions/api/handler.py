"""ApiFunction: the queue over HTTP, behind API Gateway."""

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools import Logger
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
from lifoq_functions import started
from lifoq_functions.connected import store_of
from lifoq_functions.end_when_credentials_expire import end_if_expired, ends_with_credentials

JSON: Final = "application/json"
MARGIN: Final = 3.0
"""Seconds that a wait leaves for the answer."""
ANSWER_BYTES: Final = 2 * 1024 * 1024
"""The largest payload or result in an answer: Lambda answers with 6 MB at the most, as JSON within
JSON."""
RETRY_AFTER: Final = "1"
"""Seconds; of an answer that DynamoDB did not confirm something."""

Answer = dict[str, Any]
"""The answer that Lambda hands to API Gateway."""

logger = Logger()
environment = Environment.of_this_process()
queue = Queue(store_of(environment))
started()


class Request:
    """An event of an HTTP API, payload format 2.0: its headers' names are in lower case."""

    def __init__(self, event: Mapping[str, Any], context: LambdaContext) -> None:
        self._event = event
        self.context = context
        self.headers: Mapping[str, str] = event.get("headers", {})
        self.parameters: Mapping[str, str] = event.get("queryStringParameters", {})

    @cached_property
    def task_id(self) -> str:
        """The id of the task that the path names."""
        return requests.task_id(self._event["pathParameters"], self.parameters)

    @property
    def body(self) -> Any:
        text = self._event.get("body", "")
        try:
            decoded = base64.b64decode(text).decode() if self._event["isBase64Encoded"] else text
            return jsontext.decode(decoded)
        except (ValueError, RecursionError) as error:
            raise InvalidInput("body", text, f"is not JSON ({error})") from error

    @property
    def trace(self) -> str | None:
        return traceparent.if_one(self.headers.get("traceparent"))


@logger.inject_lambda_context
@ends_with_credentials
def handle(event: dict[str, Any], context: LambdaContext) -> Answer:
    # By the route that API Gateway chose: in the path it has decoded whatever the client encoded.
    operation = OPERATION_OF[event["routeKey"]]
    try:
        with requests.by_our_names(one=operation != "putTasks"):
            return ANSWERED_BY[operation](Request(event, context))
    except LifoqError as error:
        end_if_expired(error)
        return refuse(error)


def put_task(request: Request) -> Answer:
    key = requests.idempotency_key(request.headers.get("idempotency-key"))
    new = requests.new_task(request.body, idempotency_key=key).within(request.trace)
    # One of many: that tells whether it is new, too.
    put = queue.put_many([new])[0]
    if put.task is None:
        raise put.error or RuntimeError("a put has neither a task nor an error")
    if key is not None and not put.created and not is_same(new, put.task):
        raise answers.KeyReused(key)
    status = HTTPStatus.CREATED if put.created else HTTPStatus.OK
    place = {"Location": requests.address(put.task.task_id)}
    return respond(status, answers.whole(put.task, now=queue.store.now()), place)


def put_tasks(request: Request) -> Answer:
    tasks = [new.within(request.trace) for new in requests.new_tasks(request.body)]
    outcomes, now = queue.put_many(tasks), queue.store.now()
    return respond(
        HTTPStatus.OK, {"outcomes": [answers.outcome(each, now=now) for each in outcomes]}
    )


def get_task(request: Request) -> Answer:
    wait = requests.wait_seconds(request.parameters)
    if wait:
        left = request.context.get_remaining_time_in_millis() / 1000 - MARGIN
        with suppress(TaskCancelled, TaskFailed, TaskShed, WaitTimeout):
            queue.wait(request.task_id, timeout=max(0.0, min(wait, left)))
    task = queue.look(request.task_id)
    if task is None:
        raise TaskNotFound(request.task_id)
    return respond(HTTPStatus.OK, answers.whole(read(task), now=queue.store.now()))


def list_tasks(request: Request) -> Answer:
    asked = request.parameters
    found = queue.search(
        requests.wanted(asked), limit=requests.limit(asked), start=asked.get("start")
    )
    return respond(HTTPStatus.OK, answers.listing(found, now=queue.store.now()))


def cancel_task(request: Request) -> Answer:
    task = queue.cancel(request.task_id)
    return respond(HTTPStatus.OK, answers.whole(task, now=queue.store.now()))


def redrive_task(request: Request) -> Answer:
    task = queue.redrive(request.task_id)
    return respond(HTTPStatus.OK, answers.whole(task, now=queue.store.now()))


def get_stats(_request: Request) -> Answer:
    return respond(HTTPStatus.OK, answers.stats(queue.stats()))


def read(task: Task) -> Task:
    """Return the task with those values that lie in the queue's bucket, as far as they fit the
    answer."""
    parts = {name: getattr(task, name) for name in PARTS}
    fit = [p for p, it in parts.items() if isinstance(it, Large) and it.size <= ANSWER_BYTES]
    return queue.store.whole(task, *fit) if fit else task


def is_same(new: NewTask, task: Task) -> bool:
    payload = jsontext.decode(jsontext.encode(new.payload, "payload"))
    return (new.task_type, payload) == (task.task_type, task.payload)


def respond(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    return {
        "statusCode": status,
        "headers": {"Content-Type": JSON, **(headers or {})},
        "body": harmless(json.dumps(body, separators=(",", ":"), ensure_ascii=False)),
    }


def refuse(error: LifoqError) -> Answer:
    status = next(
        (status for kind, status in answers.STATUSES.items() if isinstance(error, kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("the queue cannot answer: %s", error)
    unavailable = status == HTTPStatus.SERVICE_UNAVAILABLE
    headers = {"Retry-After": RETRY_AFTER} if unavailable else {}
    return respond(status, answers.error(error), headers)


OPERATION_OF: Final = {f"{one.method} {one.path}": one.name for one in OPERATIONS}
"""The name of each operation, by API Gateway's key of the route."""
ANSWERED_BY: Final[Mapping[str, Callable[[Request], Answer]]] = {
    "putTask": put_task,
    "putTasks": put_tasks,
    "getTask": get_task,
    "listTasks": list_tasks,
    "cancelTask": cancel_task,
    "redriveTask": redrive_task,
    "getStats": get_stats,
}
