"""Signatures, as botocore makes them."""

import contextlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore import auth
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from lifoq_localcloud.api import signatures
from lifoq_localcloud.api.signatures import SignatureError, StaleError
from lifoq_localcloud.http_server.gate import signer

SECRET = "known"  # noqa: S105 - as it says
NOW = 1_800_000_000.0
QUARTER_OF_AN_HOUR = 15 * 60
"""Seconds by which the time of a request to AWS may differ."""
ODD = "a b/é+~*'()&=?#%2F//.."


@dataclass
class Wire:
    """A request as a client would have sent it."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes = b""

    def environ(self) -> dict[str, Any]:
        place = urlsplit(self.url)
        path = self.url.partition(place.netloc)[2].partition("?")[0]
        environ = {
            "REQUEST_METHOD": self.method,
            "RAW_URI": f"{path or '/'}?{place.query}",
            "QUERY_STRING": place.query,
            "HTTP_HOST": place.netloc,
        }
        for name, value in self.headers.items():
            key = name.upper().replace("-", "_")
            plain = key in {"CONTENT_TYPE", "CONTENT_LENGTH"}
            environ[key if plain else f"HTTP_{key}"] = str(value)
        return environ

    def check(self, secret: str = SECRET, *, now: float = NOW) -> None:
        signatures.check(self.environ(), self.body, secret, now=now)


def client(service: str, **options: Any) -> Any:
    return boto3.client(
        service,
        aws_access_key_id="LKIA1",
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
        endpoint_url="http://localhost:4577",
        **options,
    )


def sent(service: str, operation: str, config: Config | None = None, **arguments: Any) -> Wire:
    """The request that a client makes."""
    found: list[Wire] = []

    def record(request: Any, **_: Any) -> AWSResponse:
        text = request.body or b""
        content = text.read() if hasattr(text, "read") else text
        body = content if isinstance(content, bytes) else content.encode()
        headers = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in request.headers.items()
        }
        found.append(Wire(request.method, request.url, headers, body))
        return AWSResponse(request.url, 200, {}, BytesIO(b""))

    one = client(service, config=config)
    one.meta.events.register("before-send", record)
    with contextlib.suppress(Exception):  # what it makes of an empty answer is no matter
        getattr(one, operation)(**arguments)
    return found[0]


@pytest.fixture(autouse=True)
def _at_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    at = datetime.fromtimestamp(NOW, UTC).replace(tzinfo=None)
    monkeypatch.setattr(auth, "get_current_datetime", lambda *_, **__: at)
    monkeypatch.setattr("time.time", lambda: NOW)


V4 = Config(signature_version="s3v4")
OBJECT = {"Bucket": "b", "Body": b"abc"}
CALLS = {
    "JSON": ("dynamodb", "get_item", {"TableName": "t", "Key": {"id": {"S": "é"}}}),
    "form": ("sns", "publish", {"TopicArn": "arn:aws:sns:us-east-1:1:t", "Message": "é & =+"}),
    "path": ("lambda", "invoke", {"FunctionName": "arn:aws:lambda:us-east-1:1:function:f"}),
    "path with dots": ("lambda", "invoke", {"FunctionName": ".."}),
    "query": ("lambda", "list_functions", {"Marker": ODD, "MaxItems": 2}),
    "group": ("scheduler", "list_schedules", {"NamePrefix": "a b", "GroupName": "default"}),
    "object": ("s3", "put_object", {**OBJECT, "Key": ODD, "Metadata": {"a_b": "c  d"}}),
    "stream": ("s3", "put_object", {"Bucket": "b", "Key": "k", "Body": BytesIO(b"abc")}),
    "list": ("s3", "list_objects_v2", {"Bucket": "b", "Prefix": ODD}),
    "empty parameter": ("s3", "get_bucket_lifecycle_configuration", {"Bucket": "b"}),
}


@pytest.mark.parametrize(("service", "operation", "arguments"), CALLS.values(), ids=list(CALLS))
def test_what_botocore_signs_is_let_in_and_nothing_else(service, operation, arguments):
    wire = sent(service, operation, **arguments)
    wire.check()
    wire.check(now=NOW + QUARTER_OF_AN_HOUR)
    wire.check(now=NOW - QUARTER_OF_AN_HOUR)
    assert signer(wire.environ()) == ("LKIA1", service)

    for wrong in (NOW + QUARTER_OF_AN_HOUR + 1, NOW - QUARTER_OF_AN_HOUR - 1):
        with pytest.raises(StaleError):
            wire.check(now=wrong)
    for change in (
        {"method": "PATCH"},
        {"url": wire.url.replace("4577/", "4577/x")},
        {"url": wire.url + ("&" if "?" in wire.url else "?") + "x"},
        {"headers": {**wire.headers, "X-Amz-Date": "20270115T080001Z"}},
        {"url": wire.url.replace("localhost", "127.0.0.1")},
        {"body": wire.body + b"x"},
    ):
        changed: Any = change
        with pytest.raises(SignatureError):
            replace(wire, **changed).check()
    with pytest.raises(SignatureError, match="secret key is another"):
        wire.check("another")


@pytest.mark.parametrize("config", [None, V4], ids=["version 2", "version 4"])
@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("get_object", {"ResponseContentType": "text/plain; a=b"}),
        ("put_object", {"ContentType": "text/plain", "Metadata": {"of": "a b"}}),
    ],
)
def test_a_presigned_address_is_good_until_it_expires(config, operation, more):
    url = client("s3", config=config).generate_presigned_url(
        operation, Params={"Bucket": "b", "Key": "a b/é+~", **more}, ExpiresIn=60
    )
    method = operation.partition("_")[0].upper()
    headers = {"Content-Type": "text/plain", "X-Amz-Meta-Of": "a b"} if method == "PUT" else {}
    wire = Wire(method, url, headers, b"whatever it is")
    wire.check()
    wire.check(now=NOW + 60)
    with pytest.raises(StaleError):
        wire.check(now=NOW + 61)
    if config is None:  # the address alone tells what version 2 signed
        Wire(method, url, {}).check()
    for wrong in (url.replace("/b/", "/c/"), url.replace("Expires=", "Expires=9")):
        with pytest.raises(SignatureError):
            Wire(method, wrong, headers).check()
    with pytest.raises(SignatureError):
        wire.check("another")


FORM, SCOPE = "is not as version 4 of signatures has it", "The credential's scope is not"
ODD_HEADERS = {
    "no more than a name": (lambda _: "AWS4-HMAC-SHA256", FORM),
    "version 2": (lambda _: "AWS LKIA1:signature", FORM),
    "another scheme": (lambda _: "Bearer LKIA1", FORM),
    "no signature": (lambda good: good.partition(", Signature")[0], FORM),
    "no host": (lambda good: good.replace("host;", ""), "The header Host has to be signed"),
    "no region": (lambda good: good.replace("/us-east-1/", "/"), SCOPE),
    "another day": (lambda good: good.replace("/20270115/", "/20270114/"), SCOPE),
    "more": (lambda good: good + "é", FORM),
}


@pytest.mark.parametrize(("odd", "told"), ODD_HEADERS.values(), ids=list(ODD_HEADERS))
def test_an_odd_header_is_refused(odd, told):
    wire = sent("dynamodb", "list_tables")
    wire.check()
    wire.headers["Authorization"] = odd(wire.headers["Authorization"])
    with pytest.raises(SignatureError, match=told):
        wire.check()


def test_a_request_tells_its_time_and_may_do_so_in_the_date():
    wire = sent("dynamodb", "list_tables")
    for date in ("", "now", "20279915T080000Z", "Fri, 15 Jan 2027 08:00:00 GMT"):
        with pytest.raises(StaleError):
            replace(wire, headers={**wire.headers, "X-Amz-Date": date}).check()
    wire.headers["Authorization"] = wire.headers["Authorization"].replace(";x-amz-date", "")
    wire.headers["Date"] = "Fri, 15 Jan 2027 08:00:00 GMT"
    del wire.headers["X-Amz-Date"]
    with pytest.raises(SignatureError, match="does not match"):
        wire.check()


ODD_ADDRESSES = (
    "",
    "X-Amz-Signature=é",
    "X-Amz-Signature=0&X-Amz-Date=20270115T080000Z&X-Amz-Expires=9",
    "AWSAccessKeyId=LKIA1",
    "AWSAccessKeyId=LKIA1&Expires=99999999999&Signature=%C3%A9",
)


@pytest.mark.parametrize("query", ODD_ADDRESSES)
def test_an_odd_address_is_refused(query):
    with pytest.raises(SignatureError):
        Wire("GET", f"http://localhost/b/k?{query}", {}).check()
