"""Requests drawn from the services' models, and the same broken in one place."""

import copy
import io
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from botocore.model import ListShape, MapShape, OperationModel, Shape, StringShape, StructureShape
from botocore.serialize import create_serializer

DEEPEST: Final = 6
LONGEST_TEXT: Final = 70_000
"""Bounds of text above this are not tried: some are megabytes."""
LONGEST_HEAD: Final = 2_000
"""Bounds above this are not tried of text in a path, an address or a header: it would not fit."""

_ARN: Final = "arn:aws:iam::123456789012:role/drawn"
_CANDIDATES: Final = (
    *("drawn", "drawn-1", "a" * 20, "drawn.fifo", "1", "12", "drawn_key", "Name", "/drawn", "$"),
    *("drawn@example.com", "2030-01-01", "123456789012", "us-east-1", "a" * 32, "a" * 36, "[1]"),
    *("rate(1 hour)", "{}", "x" * 40, "0" * 64, "1.0", "index.handler", "1-2", "*", "GET /", "/"),
    _ARN,
    "arn:aws:lambda:us-east-1:123456789012:function:drawn",
    "arn:aws:sqs:us-east-1:123456789012:drawn",
    "arn:aws:sns:us-east-1:123456789012:drawn",
    "arn:aws:events:us-east-1:123456789012:event-bus/drawn",
    "arn:aws:events:us-east-1:123456789012:endpoint/drawn",
    "arn:aws:scheduler:us-east-1:123456789012:schedule-group/drawn",
    "arn:aws:scheduler:us-east-1:123456789012:schedule/drawn/drawn",
    "arn:aws:kms:us-east-1:123456789012:key/12345678-1234-1234-1234-123456789012",
    "arn:aws:states:us-east-1:123456789012:stateMachine:drawn",
    "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-0123456789abcdef0",
    "arn:aws:lambda:us-east-1:123456789012:layer:drawn:1",
    "arn:aws:lambda:us-east-1:123456789012:code-signing-config:csc-0123456789abcdef0",
    "arn:aws:lambda:us-east-1::runtime:" + "a" * 64,
    "arn:aws:lambda:us-east-1:123456789012:capacity-provider:drawn",
    *("AKIA" + "A" * 16, "lambda:InvokeFunction", "lambda.amazonaws.com", "/mnt/drawn"),
    "o-abcdefghij",
    *("12345678-1234-1234-1234-123456789012", "subnet-0123456789abcdef0", "drawn:1", "AUTO", "v1"),
)
"""Texts of which a pattern takes one."""
_ODD: Final = (
    *("", " ", "not one", "ä", "\x07", "no/such!", "x" * 3, "-", "@@@@ @@@@ @@@@ @@@@ @@@@ "),
)
"""Texts of which a pattern refuses one."""


_POLICY: Final = {"Effect": "Allow", "Action": "sqs:*"}
NAMED: Final[dict[str, str]] = {
    "AssumeRolePolicyDocument": json.dumps(
        {"Statement": [{**_POLICY, "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}]}
    ),
    "DashboardBody": "{}",
    "DataType": "String",
    "Detail": "{}",
    "Endpoint": "arn:aws:sqs:us-east-1:123456789012:drawn",
    "EventPattern": '{"source": ["drawn"]}',
    "Handler": "index.handler",
    "Input": "{}",
    "Path": "/",
    "PolicyDocument": json.dumps({"Statement": [{**_POLICY, "Resource": "*"}]}),
    "Protocol": "sqs",
    "QueueUrl": "http://localhost/123456789012/drawn",
    "ResourceArn": "arn:aws:sns:us-east-1:123456789012:drawn",
    "RoleArn": _ARN,
    "ScheduleExpression": "rate(1 hour)",
    "StreamArn": (
        "arn:aws:dynamodb:us-east-1:123456789012:table/drawn/stream/2030-01-01T00:00:00.000"
    ),
    "SubscriptionArn": "arn:aws:sns:us-east-1:123456789012:drawn:drawn",
    "TemplateBody": '{"Resources": {"It": {"Type": "AWS::SNS::Topic"}}}',
    "TopicArn": "arn:aws:sns:us-east-1:123456789012:drawn",
    "definition": json.dumps({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}),
    "input": "{}",
    "output": "{}",
    "stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:drawn",
}
"""Texts that parameters of these names need beyond their model: JSON, an ARN, an expression."""


class UndrawableError(Exception):
    """A text that nothing of the candidates fits."""


@dataclass(frozen=True, kw_only=True)
class Broken:
    """One place of a request, and the value that its model does not allow there."""

    path: tuple[str | int, ...]
    kind: str
    value: Any = None

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} {self.kind}"


def whole(operation: OperationModel, draw: random.Random, *, share: float) -> dict[str, Any]:
    """Return parameters that the model allows: all that are required, and a share of the others."""
    if not isinstance(operation.input_shape, StructureShape):
        return {}
    given = _drawn(operation.input_shape, draw, share, 0)
    return given if isinstance(given, dict) else {}


def _drawn(shape: Shape, draw: random.Random, share: float, depth: int) -> Any:
    if isinstance(shape, StructureShape):
        return _structure(shape, draw, share, depth)
    least = max(int(shape.metadata.get("min") or 0), 1 if depth < DEEPEST else 0)
    if isinstance(shape, ListShape):
        return [_drawn(shape.member, draw, share, depth + 1) for _ in range(least)]
    if isinstance(shape, MapShape):
        names = [f"{_text(shape.key, draw)}{place or ''}" for place in range(least)]
        return {name: _drawn(shape.value, draw, share, depth + 1) for name in names}
    if isinstance(shape, StringShape):
        return _text(shape, draw)
    return _scalar(shape)


def _structure(
    shape: StructureShape, draw: random.Random, share: float, depth: int
) -> dict[str, Any]:
    given = {}
    for name, member in shape.members.items():
        needed = name in shape.required_members
        if name == "ContentLength":
            continue  # botocore would announce another length than the body has
        if not needed and (depth >= DEEPEST or draw.random() >= share):
            continue
        try:
            given[name] = _named(name, member) or _drawn(member, draw, share, depth + 1)
        except UndrawableError:
            if needed:
                raise
    return given


def _named(name: str, shape: Shape) -> Any:
    """Return the text that a parameter of this name needs; None for all others."""
    text = NAMED.get(name) if isinstance(shape, StringShape) and not shape.enum else None
    return text if text is not None and _matches(shape, text) is not False else None


def _text(shape: Shape, draw: random.Random) -> str:
    if isinstance(shape, StringShape) and shape.enum:
        return str(draw.choice(shape.enum))
    least, most = shape.metadata.get("min", 0), shape.metadata.get("max", LONGEST_TEXT)
    fits = [
        one
        for one in (*_CANDIDATES, "x" * least)
        if least <= len(one) <= most and _matches(shape, one) is not False
    ]
    if not fits:
        raise UndrawableError(f"{shape.name}: {shape.metadata}")
    return fits[0]


def _matches(shape: Shape, text: str) -> bool | None:
    """True if a pattern takes the text; None if there is none, or none of Python's."""
    pattern = shape.metadata.get("pattern")
    try:
        return re.fullmatch(pattern, text, re.DOTALL) is not None if pattern else None
    except re.error:
        return None


def _scalar(shape: Shape) -> Any:
    match shape.type_name:
        case "boolean":
            return True
        case "blob":
            return b"{}"
        case "timestamp":
            return datetime(2030, 1, 1, tzinfo=UTC)
        case _:
            return int(shape.metadata.get("min") or min(1, shape.metadata.get("max", 1)))


def broken(operation: OperationModel, given: dict[str, Any], *, protocol: str) -> Iterator[Broken]:
    """Yield each way of breaking one rule of the model in one place of a request."""
    shape = operation.input_shape
    if not isinstance(shape, StructureShape):
        return
    for name, member in shape.members.items():
        location = member.serialization.get("location")
        # By what stands in the address, and by a header of S3's, requests are told apart.
        apart = location in {"uri", "querystring"} or name == "CopySource"
        if name in shape.required_members and not apart:
            yield Broken(path=(name,), kind="missing")
        if name not in given or location == "headers":
            continue
        streams = shape.serialization.get("payload") == name and member.type_name == "blob"
        in_json = "json" in protocol and location is None and not streams
        if not streams:
            yield from _broken(member, given[name], (name,), in_json=in_json, head=bool(location))


def _broken(
    shape: Shape, value: Any, path: tuple[str | int, ...], *, in_json: bool, head: bool
) -> Iterator[Broken]:
    if in_json:
        other: Any = [7] if shape.type_name in {"structure", "map"} else {"other": 7}
        yield Broken(path=path, kind="type", value=other)
    if isinstance(shape, StringShape):
        yield from _broken_text(shape, path, head=head)
    elif isinstance(shape, ListShape):
        yield from _broken_size(shape, value, path)
    elif shape.type_name in {"integer", "long"}:
        yield from _broken_number(shape, path)
    for step, member, one in _parts(shape, value):
        if isinstance(shape, StructureShape) and step in shape.required_members:
            yield Broken(path=(*path, step), kind="missing")
        yield from _broken(member, one, (*path, step), in_json=in_json, head=head)


def _parts(shape: Shape, value: Any) -> Iterator[tuple[str | int, Shape, Any]]:
    """Yield what is in a value: each member of a structure, and the first of a list or a map."""
    if isinstance(shape, StructureShape):
        for name, member in shape.members.items():
            if name in value:
                yield name, member, value[name]
    elif isinstance(shape, ListShape):
        for place, one in enumerate(value[:1]):
            yield place, shape.member, one
    elif isinstance(shape, MapShape):
        for name, one in list(value.items())[:1]:
            yield name, shape.value, one


def _broken_number(shape: Shape, path: tuple[str | int, ...]) -> Iterator[Broken]:
    if "min" in shape.metadata:
        yield Broken(path=path, kind="below", value=shape.metadata["min"] - 1)
    if "max" in shape.metadata:
        yield Broken(path=path, kind="above", value=shape.metadata["max"] + 1)


def _broken_text(
    shape: StringShape, path: tuple[str | int, ...], *, head: bool
) -> Iterator[Broken]:
    if shape.enum:
        yield Broken(path=path, kind="enum", value="NotOneOfThem")
    least, most = shape.metadata.get("min", 0), shape.metadata.get("max")
    # An empty part of a path is another path, and an empty header is none.
    if least > (1 if head else 0):
        yield Broken(path=path, kind="short", value="x" * (least - 1))
    if most is not None and most < (LONGEST_HEAD if head else LONGEST_TEXT):
        yield Broken(path=path, kind="long", value="x" * (most + 1))
    odd = [
        one
        for one in _ODD
        if least <= len(one) <= (most or LONGEST_TEXT) and _matches(shape, one) is False
    ]
    if head:
        odd = [
            one for one in odd if one.isascii() and one.isprintable() and one.strip() == one != ""
        ]
    if odd:
        yield Broken(path=path, kind="pattern", value=odd[0])


def _broken_size(
    shape: ListShape, value: list[Any], path: tuple[str | int, ...]
) -> Iterator[Broken]:
    least, most = shape.metadata.get("min", 0), shape.metadata.get("max")
    if least > 0:
        yield Broken(path=path, kind="few", value=value[: least - 1])
    if most is not None and most <= 200 and value:
        yield Broken(path=path, kind="many", value=value[:1] * (most + 1))


def environ(
    operation: OperationModel, given: dict[str, Any], protocol: str, one: Broken | None = None
) -> dict[str, Any]:
    """Return the request as it arrives; broken in one place, if there is one."""
    by_parameters = one is not None and one.kind != "type"
    asked = _replaced(given, one) if one is not None and by_parameters else given
    sent = create_serializer(protocol, include_validation=False).serialize_to_request(
        asked, operation
    )
    body = sent["body"]
    if one is not None and not by_parameters:
        whole_body = json.loads(body)
        body = json.dumps(_retyped(whole_body, operation, one))
    if isinstance(body, dict):
        body = urlencode(body)
        sent["headers"].setdefault(
            "Content-Type", "application/x-www-form-urlencoded; charset=utf-8"
        )
    if hasattr(body, "read"):
        body = body.read()
    content = body.encode() if isinstance(body, str) else bytes(body or b"")
    query = sent["query_string"]
    address = urlencode(query, doseq=True, quote_via=quote) if isinstance(query, dict) else query
    path = sent["url_path"]
    if "?" in path:
        path, _, more = path.partition("?")
        address = f"{more}&{address}" if address else more
    heads = {
        (name if name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{name}"): str(value)
        for name, value in (
            (name.upper().replace("-", "_"), value) for name, value in sent["headers"].items()
        )
    }
    return {
        "REQUEST_METHOD": sent["method"],
        "PATH_INFO": unquote(path),
        "RAW_URI": f"{path}?{address}" if address else path,
        "QUERY_STRING": address or "",
        "HTTP_HOST": "localhost",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SCRIPT_NAME": "",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(content),
        "CONTENT_LENGTH": str(len(content)),
        **heads,
    }


def _replaced(given: dict[str, Any], one: Broken) -> dict[str, Any]:
    changed = copy.deepcopy(given)
    place: Any = changed
    for step in one.path[:-1]:
        place = place[step]
    if one.kind == "missing":
        place.pop(one.path[-1], None)
    else:
        place[one.path[-1]] = one.value
    return changed


def _retyped(body: Any, operation: OperationModel, one: Broken) -> Any:
    """Put a value of another type into a body, whose names may be others than the model's."""
    shape: Any = operation.input_shape
    place, path = body, list(one.path)
    if shape.serialization.get("payload") == path[0]:
        shape = shape.members[path.pop(0)]
        if not path:
            return one.value
    for number, step in enumerate(path):
        name: Any = step
        if isinstance(shape, StructureShape):
            shape = shape.members[str(step)]
            name = shape.serialization.get("name", step)
        else:
            shape = shape.member if isinstance(shape, ListShape) else shape.value
        if number == len(path) - 1:
            place[name] = one.value
        else:
            place = place[name]
    return body
