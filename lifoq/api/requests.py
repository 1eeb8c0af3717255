"""Read requests: JSON bodies, query parameters and headers, by the names that HTTP clients use.

The library itself checks the values; its errors are told by the name that the client sent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from lifoq.api.fields import FILTERS, GETTING, LISTING, LONGEST_WAIT, MOST_LISTED, MOST_PUT, TERMS
from lifoq.client.listing import LISTED, Wanted
from lifoq.errors import InvalidInput
from lifoq.items.schema import Status
from lifoq.items.task import NewTask

LISTED_BY_DEFAULT: Final = 20
"""Tasks of one list, where the request does not say how many."""
IN_THE_QUERY: Final = "-"
"""Stands in a path for an id that no path can have: API Gateway decodes paths twice."""
IN_A_PATH: Final = r"[A-Za-z0-9._~-]+"
SENT: Final = {field.library: name for name, field in {**TERMS, **FILTERS}.items()}
"""The HTTP API's names of fields, by the library's names."""


def task_id(path: Mapping[str, str], query: Mapping[str, str]) -> str:
    """Return the id of the task: of the query, or of the path."""
    return query.get("id", path["id"])


def address(task_id: str) -> str:
    """Return the path of a task."""
    if re.fullmatch(IN_A_PATH, task_id) and task_id not in (".", ".."):
        return f"/tasks/{task_id}"
    return f"/tasks/{IN_THE_QUERY}?id={quote(task_id, safe='')}"


def new_task(document: Any, *, idempotency_key: str | None = None, place: str = "") -> NewTask:
    """``place``: before each field's name, where there are several. InvalidInput."""
    known = ", ".join(TERMS)
    if not isinstance(document, dict):
        raise InvalidInput(place or "body", document, f"must be an object with type, of {known}")
    dot = f"{place}." if place else ""
    for name, value in document.items():
        if name not in TERMS:
            raise InvalidInput(f"{dot}{name}", value, f"is unknown; known are {known}")
    if "type" not in document:
        raise InvalidInput(f"{dot}type", None, "is missing; it says which task type is to run")
    terms = {TERMS[name].library: value for name, value in document.items()}
    if idempotency_key is not None:
        given = terms.setdefault("task_id", idempotency_key)
        if given != idempotency_key:
            problem = "stands beside another Idempotency-Key; give one of the two"
            raise InvalidInput("id", given, problem)
    return NewTask(**terms)


def new_tasks(document: Any) -> Sequence[NewTask]:
    """Return the tasks of a request's body. Raises InvalidInput."""
    tasks = document.get("tasks") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(tasks, list) or not 1 <= len(tasks) <= MOST_PUT:
        problem = f'must be an object with a list of 1 to {MOST_PUT} tasks: {{"tasks": […]}}'
        raise InvalidInput("body" if tasks is None else "tasks", document, problem)
    return [new_task(each, place=f"tasks[{index}]") for index, each in enumerate(tasks)]


def idempotency_key(header: str | None) -> str | None:
    """Return the key that a header names, with or without the quotation marks that the draft
    standard asks for."""
    quoted = header is not None and len(header) > 1 and header[0] == header[-1] == '"'
    return header[1:-1] if header and quoted else header


def wait_seconds(parameters: Mapping[str, str]) -> int:
    """Return the seconds for which the answer may wait. InvalidInput."""
    _only(parameters, *GETTING)
    return _whole("wait", parameters.get("wait", "0"), least=0, most=LONGEST_WAIT)


def wanted(parameters: Mapping[str, str]) -> Wanted:
    """Return the filter of the tasks to list. Raises InvalidInput."""
    _only(parameters, *LISTING)
    status = parameters.get("status")
    if status not in LISTED:
        problem = f"must be one of {', '.join(LISTED)}; what has ended otherwise, get by its id"
        raise InvalidInput("status", status, problem)
    asked: dict[str, Any] = {one.library: parameters.get(name) for name, one in FILTERS.items()}
    return Wanted(status=Status(status), **asked)


def limit(parameters: Mapping[str, str]) -> int:
    """Return the most tasks of a page. InvalidInput."""
    text = parameters.get("limit", str(LISTED_BY_DEFAULT))
    return _whole("limit", text, least=1, most=MOST_LISTED)


@contextmanager
def by_our_names(*, one: bool) -> Iterator[None]:
    """The library's InvalidInput, by the name that the client sent. ``one``: of one task alone."""
    try:
        yield
    except InvalidInput as error:
        found = re.fullmatch(r"(tasks\[\d+\]\.)?(\w+)(.*)", error.field, re.DOTALL)
        place, name, inner = found.groups() if found else (None, error.field, "")
        told = "" if one or place is None else place
        field = f"{told}{SENT.get(name, name)}{inner}"
        raise InvalidInput(field, error.value, error.problem) from error


def _only(parameters: Mapping[str, str], *known: str) -> None:
    for name, value in parameters.items():
        if name not in known:
            raise InvalidInput(name, value, f"is unknown here; known are {', '.join(known)}")


def _whole(name: str, text: str, *, least: int, most: int) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise InvalidInput(name, text, f"must be a whole number from {least} to {most}")
    return int(text)
