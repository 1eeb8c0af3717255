"""The record of every API call: who asked for which action on which resources.

One JSON line per call in ``calls.jsonl``, with the epoch microseconds at which it came in. A role's
policy can be evaluated on it.
"""

import io
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from lifoq_localcloud.api import operations
from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.basics.folder import private_file
from lifoq_localcloud.http_server.gate import Callers, signer


@dataclass(frozen=True, kw_only=True)
class ApiCall:
    """A call as IAM would judge it."""

    caller: str
    """The function's name; empty for clients outside."""
    service: str
    operation: str
    resources: tuple[str, ...]
    request: dict[str, Any]

    @property
    def action(self) -> str:
        return f"{operations.IAM_PREFIXES.get(self.service, self.service)}:{self.operation}"


class CallLog:
    """Appends to one file; its lines are whole whenever it is read."""

    def __init__(self, path: Path, callers: Callers) -> None:
        self._file = private_file(path).open("a", buffering=1)
        self._lock = threading.Lock()
        self._callers = callers

    def record(self, environ: dict[str, Any]) -> ApiCall:
        at = time.time_ns() // 1_000
        call = self._read(environ)
        line = json.dumps(
            {"at": at, "caller": call.caller, "action": call.action, "resources": call.resources}
        )
        with self._lock:
            self._file.write(line + "\n")
        return call

    def _read(self, environ: dict[str, Any]) -> ApiCall:
        access_key, service = signer(environ)
        request = _request(environ)
        operation = operations.name(service, environ, request)
        return ApiCall(
            caller=self._callers.name(access_key),
            service=service,
            operation=operation,
            resources=tuple(resources(service, environ, request)),
            request=request,
        )


def _request(environ: dict[str, Any]) -> dict[str, Any]:
    """The request's parameters, as far as they are in its body."""
    kind = environ.get("CONTENT_TYPE", "")
    if "json" not in kind and "x-www-form-urlencoded" not in kind:
        return {}
    body: bytes = environ["wsgi.input"].getvalue()
    if "json" in kind:
        try:
            document = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            return {}  # The service itself answers what is wrong with it.
        return document if isinstance(document, dict) else {}
    environ["wsgi.input"] = io.BytesIO(body)
    return dict(parse_qsl(body.decode(), keep_blank_values=True))


def resources(service: str, environ: dict[str, Any], request: dict[str, Any]) -> Iterator[str]:
    """Yield the ARNs that a request names, as far as it can be read."""
    match service:
        case "dynamodb":
            yield from _dynamodb(request)
        case "sns":
            yield _text(request, "TopicArn") or _text(request, "TargetArn") or "*"
        case "sqs":
            url = _text(request, "QueueUrl")
            yield f"arn:aws:sqs:{REGION}:{ACCOUNT}:{url.rsplit('/', 1)[-1]}" if url else "*"
        case "lambda":
            found = re.search(r"/functions/([^/]+)", environ["PATH_INFO"])
            yield f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{found[1]}" if found else "*"
        case "ssm" if name := _text(request, "Name"):
            yield f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/{name.lstrip('/')}"
        case "scheduler" if found := re.fullmatch(r"/schedules/([^/]+)", environ["PATH_INFO"]):
            asked = parse_qs(environ.get("QUERY_STRING", "")).get("groupName", ["default"])[0]
            group = _text(request, "GroupName") or asked
            yield f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/{group}/{found[1]}"
        case "s3":
            yield "arn:aws:s3:::" + _s3_path(environ)
        case _:
            yield "*"


def _text(request: Any, name: str) -> str:
    """Return a parameter; empty where there is none, or where it is no text."""
    found = request.get(name) if isinstance(request, dict) else None
    return found if isinstance(found, str) else ""


def _dynamodb(request: dict[str, Any]) -> Iterator[str]:
    batch, transaction = request.get("RequestItems"), request.get("TransactItems")
    names = {_text(request, "TableName")}
    names |= {*batch} if isinstance(batch, dict) else set()
    for one in transaction if isinstance(transaction, list) else ():
        members = one.values() if isinstance(one, dict) else ()
        names |= {_text(member, "TableName") for member in members}
    index = _text(request, "IndexName")
    suffix = f"/index/{index}" if index else ""
    for name in sorted(names - {""}):
        arn = (
            name if name.startswith("arn:") else f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"
        )
        yield arn + suffix
    for field in ("TableArn", "StreamArn", "ExportArn", "ResourceArn"):
        if found := _text(request, field):
            yield found


def _s3_path(environ: dict[str, Any]) -> str:
    host = environ.get("HTTP_HOST", "").split(":")[0]
    path: str = environ["PATH_INFO"].strip("/")
    bucket = host.removesuffix(".localhost")
    return path if bucket == host else f"{bucket}/{path}".rstrip("/")
