"""Task types that are configured: what is sent where, and what becomes of each answer."""

import base64
import html
import itertools
import json
import socket
import ssl
import traceback
from contextlib import suppress
from http.client import HTTPException
from ipaddress import ip_address
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.parse import quote, unquote

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.serving import generate_adhoc_ssl_context

from lifoq import Busy, Fail, InvalidInput, Registry, Retry
from lifoq.targets.address import AddressRefused, network, permitted
from lifoq.targets.configured import MOST_BYTES, Secrets, decode, encode, register
from lifoq.targets.function import LambdaHandler, LambdaTarget
from lifoq.targets.hidden import Hidden
from lifoq.targets.https import HttpsHandler, HttpsTarget
from lifoq.testing.hosts import ManualHost
from tests.downstream import Downstream, downstream

__all__ = ["downstream"]

LOOPBACK = ("127.0.0.0/8",)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def context(
    task_id: str = "t", remaining: float = 30.0, traceparent: str | None = None
) -> SimpleNamespace:
    return SimpleNamespace(task_id=task_id, attempt=1, remaining=remaining, traceparent=traceparent)


def run(target: HttpsTarget, payload=None, about=None, **secrets: str):
    return HttpsHandler(target, secret=secrets.__getitem__)(payload, about or context())


def to(downstream: Downstream, **more) -> HttpsTarget:
    return HttpsTarget(**{"url": downstream.url, "allowed_networks": LOOPBACK, **more})


# What is sent


def test_the_payload_is_the_body_where_the_method_has_one_and_the_task_is_named(downstream):
    run(to(downstream, method="DELETE"), {"device": "d-17"})
    run(to(downstream), {"device": "d-17"}, context("d-17 é", traceparent=TRACE))
    bare, request = downstream.requests
    assert (bare.method, bare.body) == ("DELETE", b"")
    assert not {"traceparent", "Content-Type"} & {*bare.headers}
    assert (request.method, request.path) == ("POST", "/work?a=1")
    assert json.loads(request.body) == {"device": "d-17"}
    assert request.headers["traceparent"] == TRACE
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Idempotency-Key"] == "d-17 %C3%A9"


def test_headers_are_the_targets_and_secrets_are_asked_for_by_their_names(downstream):
    target = to(
        downstream,
        headers={"content-type": "application/vnd.api+json"},
        secret_headers={"Authorization": "shop"},
    )
    run(target, shop="Bearer 123\n")
    with pytest.raises(Fail, match="shop is no text of one line"):
        run(target, shop="a\r\nX-Admin: yes")
    (request,) = downstream.requests
    assert request.headers["Authorization"] == "Bearer 123"
    assert request.headers["content-type"] == "application/vnd.api+json"
    assert "Content-Type" not in request.headers


# What becomes of the answer


@pytest.mark.parametrize(
    ("kind", "body", "result"),
    [
        ("application/json; charset=utf-8", b'{"n":1}', {"n": 1}),
        ("application/problem+json", b"[1]", [1]),
        ("application/json", b"no JSON", "no JSON"),
        ("application/json", b"NaN", "NaN"),
        ("application/json", b'{"n":1e999}', '{"n":1e999}'),
        ("application/json", rb'["\ud800"]', r'["\ud800"]'),
        ("application/json", b"[" * 300 + b"]" * 300, "[" * 300 + "]" * 300),
        ("text/plain", b'{"n":1}', '{"n":1}'),
        ("text/plain", b"", None),
    ],
)
def test_an_answer_is_the_result_and_what_is_said_before_is_not(downstream, kind, body, result):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    downstream.before = b"HTTP/1.1 102 Processing\r\n\r\n" + hints
    downstream.headers, downstream.body = {"Content-Type": kind}, body
    assert run(to(downstream)) == result


@pytest.mark.parametrize(
    ("status", "headers", "error", "after", "says"),
    [
        (429, {}, Busy, None, "full"),
        (503, {"Retry-After": "7"}, Busy, 7, "full"),
        (503, {"Retry-After": "soon"}, Busy, None, "full"),
        (503, {"Retry-After": "-1"}, Busy, None, "full"),
        (429, {"Retry-After": "999999999"}, Busy, 86_400, "full"),
        (429, {"Retry-After": "Mon, 02 Jan 2006 15:04:05 GMT"}, Busy, 0, "full"),
        (500, {"Retry-After": "3"}, Retry, 3, "500 .*out of order"),
        (501, {}, Fail, None, "501 .*out of order"),
        (404, {}, Fail, None, "404 .*out of order"),
        (307, {"Location": "/elsewhere"}, Fail, None, "redirects are not followed.*elsewhere"),
    ],
)
def test_any_other_status_is_an_error_of_its_kind(downstream, status, headers, error, after, says):
    downstream.status, downstream.headers, downstream.body = status, headers, b"out of order"
    with pytest.raises(error, match=says) as raised:
        run(to(downstream))
    assert (raised.type, getattr(raised.value, "after", None)) == (error, after)
    assert len(downstream.requests) == 1
    if error is Retry:  # as the target says
        with pytest.raises(Fail, match=says):
            run(to(downstream, retry_statuses=(502,)))


@pytest.mark.parametrize("length", [{}, {"Transfer-Encoding": "identity"}])
def test_an_answer_is_bounded(downstream, length):
    downstream.headers, downstream.body = length, b"x" * 1001
    with pytest.raises(Fail, match="more than 1,000 bytes"):
        run(to(downstream, answer_bytes=1000))
    assert run(to(downstream, answer_bytes=1001)) == "x" * 1001


# What is kept of an answer that holds the request's secrets

VALUE = 'Bearer sk_live_51H/x+"a\\b&c9ZqTtPpA=='
TOKEN = VALUE.removeprefix("Bearer ")
ECHOES = {
    VALUE: "…",
    f"({TOKEN})": "(…)",
    TOKEN[3:11]: "…",
    quote(VALUE, safe=""): "…",
    json.dumps(VALUE): '"…"',
    json.dumps(json.dumps({"Key": VALUE})): r'"{\"Key\": \"…\"}"',
    "".join(f"\\u{ord(one):04X}" for one in VALUE): "…",
    quote(json.dumps(VALUE), safe=""): "%22…%22",
    html.escape(VALUE): "…",
    base64.b64encode(VALUE.encode() + b" is yours").decode(): "…SBpcyB5b3Vycw==",
    base64.b64encode(b"It is " + VALUE.encode()).decode(): "SXQgaXMg…Q==",
    base64.b64encode(b"It was " + VALUE.encode()).decode(): "SXQgd2FzIE…0=",
    base64.b64encode(b"It will " + VALUE.encode()).decode(): "SXQgd2lsbCB…",
    base64.urlsafe_b64encode(TOKEN[4:18].encode()).decode(): "…=",
    base64.b64encode(TOKEN[4:12].encode()).decode(): "…8=",
}


def parts(text: str, *, least: int = 8) -> set[str]:
    return {text[at : at + least] for at in range(len(text) - least + 1)}


def test_what_is_kept_of_an_answer_has_no_secret_in_it(downstream, subtests):
    target = to(downstream, secret_headers={"Authorization": "shop"})
    for status, (echo, left) in itertools.product((200, 307, 404, 429, 502), ECHOES.items()):
        downstream.status, downstream.body = status, f"you sent: {echo}.".encode()
        downstream.headers = {"Content-Type": "text/html", "Location": f"/you sent: {echo}."}
        with subtests.test(status=status, echo=echo):
            try:
                kept = run(target, shop=VALUE)
            except (Busy, Fail, Retry) as error:
                kept = str(error)
            assert (f"you sent: {left}." in kept) is (status != 429)
            assert echo not in kept


def test_a_part_that_is_too_short_to_tell_anything_stays():
    assert Hidden([VALUE]).text(f"It is {TOKEN[3:10]}.") == f"It is {TOKEN[3:10]}."


@pytest.mark.parametrize(
    ("secret", "text", "left"),
    [
        ("sk_live_51H", "Hsk_live_51H", "H…"),  # before it stands its own last letter
        ("sk_live_51H", "k_live_51Hs", "…s"),  # behind it, its own first
        # &nvlt; stands for two characters.
        ("sk_live_51H", "&nvlt; sk_live_51H, &nvlt;", "&nvlt; …, &nvlt;"),
        ("sänger ü", "sänger ü", "…"),
        ("sänger ü", "sänger ü".encode().decode("latin-1"), "…"),
        ("Basic no_base64", "no_base64", "…"),
        ("7", "7 of 17", "… of 1…"),
    ],
)
def test_a_secret_is_hidden_whatever_is_beside_it_and_in_the_bytes_of_utf_8(secret, text, left):
    hidden = Hidden([secret])
    assert (hidden.text(text), hidden.value([text])) == (left, [left])


def test_a_truth_value_and_null_are_no_secret():
    assert Hidden(["None", "True"]).value([None, True, "True"]) == [None, True, "…"]


def test_what_is_hidden_is_hidden_before_an_answer_is_cut(downstream):
    downstream.status, downstream.body = 500, b"x" * 194 + VALUE.encode()
    with pytest.raises(Retry) as raised:
        run(to(downstream, secret_headers={"X-Key": "shop"}), shop=VALUE)
    assert str(raised.value).endswith("xx…")


def test_a_line_that_is_no_http_tells_no_secret(downstream):
    downstream.before = f"{VALUE}\r\n\r\n".encode()
    with pytest.raises(HTTPException, match="BadStatusLine: …") as raised:
        run(to(downstream, secret_headers={"X-Key": "shop"}), shop=VALUE)
    assert TOKEN not in "".join(traceback.format_exception(raised.value))


def test_a_json_answer_stays_one_without_the_secrets_in_it(downstream):
    downstream.body = json.dumps(
        {"sent": [VALUE, 7, None, True, 1.5], f"key {VALUE}": {"pin": 12345678}}
    ).encode()
    target = to(downstream, secret_headers={"Authorization": "shop", "X-Pin": "pin"})
    kept = run(target, shop=VALUE, pin="12345678")
    assert kept == {"sent": ["…", 7, None, True, 1.5], "key …": {"pin": "…"}}


def test_a_basic_header_hides_the_user_and_the_password_that_it_stands_for(downstream):
    downstream.headers, downstream.body = {}, b"user=ada password=pi37 (ada:pi37)"
    credentials = f"Basic {base64.b64encode(b'ada:pi37').decode()}"
    target = to(downstream, secret_headers={"Authorization": "shop"})
    assert run(target, shop=credentials) == "user=ada password=… (…)"


@settings(max_examples=200, deadline=None)
@given(
    secret=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=60),
    around=st.tuples(st.text(max_size=20), st.text(max_size=20)),
    cut=st.integers(0, 52),
    layers=st.lists(st.sampled_from([quote, json.dumps, html.escape]), max_size=3),
)
def test_no_part_of_a_secret_is_left_behind_any_escapes(secret, around, cut, layers):
    part = secret[min(cut, len(secret) - 8) :]
    text = around[0] + part + around[1]
    for layer in layers:
        text = layer(text)
    left = Hidden([secret]).text(text)
    undo = {quote: unquote, json.dumps: json.loads, html.escape: html.unescape}
    with suppress(ValueError):  # where a secret begins or ends with what is no JSON then
        for layer in reversed(layers):
            left = undo[layer](left)
    assert not parts(secret) & parts(left)


# Time


@pytest.mark.parametrize(("timeout", "left"), [(0.2, 30), (60, 0.2)])
def test_a_slow_answer_ends_at_the_timeout_or_with_the_attempt(downstream, timeout, left):
    downstream.body, downstream.pauses = b"x" * 1000, 0.05
    with pytest.raises(TimeoutError, match=r"within 0.2 s"):
        run(to(downstream, timeout=timeout), about=context(remaining=left))


def test_an_answer_that_breaks_off_is_no_answer(downstream):
    downstream.headers, downstream.body = {"Content-Length": "10"}, b"half"
    with pytest.raises(Exception, match=r"IncompleteRead|no whole answer"):
        run(to(downstream, timeout=0.5))


# Addresses


TEREDO_OF_LOOPBACK = "2001:0:4136:e378:8000:63bf:80ff:fffe"
NOT_OF_THE_INTERNET = """
    127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1
    255.255.255.255 192.0.0.192 192.88.99.1
    ::1 :: fe80::1 fd00:ec2::254 ff02::1 fec0::1 4000::1 5f00::1 3fff::1 100::1 100:0:0:1::1
    ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:7f00:1 ::127.0.0.1 ::8.8.8.8
    64:ff9b::a00:1 64:ff9b::7f00:1 64:ff9b:1::1 64:ff9b:1:7f00::
    2001:1::1 2001:2::1 2001:10::1 2001:db8::1 2002:7f00:1:: 2002:808:808::
"""


def test_what_is_not_of_the_internet_is_refused_unless_its_network_is_allowed():
    for address in (*NOT_OF_THE_INTERNET.split(), TEREDO_OF_LOOPBACK):
        assert not permitted(ip_address(address), ()), address
        assert not permitted(ip_address(address), (network("10.99.0.0/16"),)), address


def test_an_allowed_network_and_the_internet_are_open_however_they_are_written():
    allowed = (network("10.1.0.0/16"),)
    assert permitted(ip_address("10.1.2.3"), allowed)
    assert permitted(ip_address("::ffff:10.1.2.3"), allowed)
    assert permitted(ip_address("64:ff9b::a01:203"), allowed)
    assert not permitted(ip_address("10.2.2.3"), allowed)
    assert permitted(ip_address("fec0::1"), (network("fec0::/10"),))
    for address in ("8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"):
        assert permitted(ip_address(address), ())
        assert not permitted(ip_address(address), (), internet=False)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "2130706433"]
)
def test_a_private_host_is_refused_before_anything_is_sent(host):
    target = HttpsTarget(url=f"https://{host}:9/")
    with pytest.raises(AddressRefused, match=r"no address of the internet.*allowed_networks"):
        run(target)


def resolving(monkeypatch, *addresses: str) -> list[tuple[str, int]]:
    asked = []

    def getaddrinfo(host, port, **_):
        asked.append((host, port))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def test_a_name_that_leads_to_a_private_address_is_refused(monkeypatch):
    asked = resolving(monkeypatch, "10.0.0.7", "127.0.0.1")
    with pytest.raises(AddressRefused, match=r"shop.example leads to 10.0.0.7, 127.0.0.1"):
        run(HttpsTarget(url="https://shop.example/"))
    assert asked == [("shop.example", 443)]


def test_only_an_allowed_network_is_sent_to_in_the_clear(monkeypatch):
    asked = resolving(monkeypatch, "8.8.8.8")
    target = HttpsTarget(url="http://shop.example/", allowed_networks=LOOPBACK)
    with pytest.raises(AddressRefused, match=r"leads to 8.8.8.8, .* in the clear: use https"):
        run(target)
    assert asked == [("shop.example", 80)]


def test_of_several_addresses_only_those_that_are_permitted_are_tried(downstream, monkeypatch):
    asked = resolving(monkeypatch, "10.0.0.7", "127.0.0.1")
    url = f"http://shop.example:{downstream.server_port}/"
    assert run(HttpsTarget(url=url, allowed_networks=LOOPBACK)) == {}
    # Asked once: the address that is connected to is the one that was checked.
    assert asked == [("shop.example", downstream.server_port)]
    assert downstream.requests[0].headers["Host"] == f"shop.example:{downstream.server_port}"


def test_a_certificate_that_nobody_vouches_for_is_refused(downstream):
    downstream.handle_error = lambda *_: None
    tls = generate_adhoc_ssl_context()
    downstream.socket = tls.wrap_socket(downstream.socket, server_side=True)
    url = f"https://127.0.0.1:{downstream.server_port}/"
    with pytest.raises(ssl.SSLCertVerificationError):
        run(HttpsTarget(url=url, allowed_networks=LOOPBACK))


# Lambda


ARN = "arn:aws:lambda:eu-west-1:123456789012:function:resize"


def invoke(answer: bytes = b"null", error: str | None = None, refusal: str = "", **more):
    """The result, and the call."""
    body = SimpleNamespace(read=lambda size: answer[:size])
    client = Mock(**{"invoke.return_value": {"Payload": body, "FunctionError": error}})
    if refusal:
        client.invoke.side_effect = ClientError({"Error": {"Code": refusal}}, "Invoke")
    target = LambdaTarget(function_arn=ARN, **more)
    about = context("d-17", traceparent=TRACE)
    result = LambdaHandler(target, client=lambda _: client)({"n": 1}, about)
    return result, client.invoke.call_args.kwargs


def test_a_function_gets_the_payload_and_its_answer_is_the_result_as_text_where_it_is_no_json():
    result, call = invoke(b'{"done":true}')
    assert result == {"done": True}
    assert (call["FunctionName"], json.loads(call["Payload"])) == (ARN, {"n": 1})
    about = json.loads(base64.b64decode(call["ClientContext"]))
    assert about == {"custom": {"taskId": "d-17", "attempt": 1, "traceparent": TRACE}}
    assert invoke(b"NaN\xff")[0] == "NaN\ufffd"
    assert invoke(b"1" * 1_000, answer_bytes=1_000)[0] == int("1" * 1_000)


def test_a_client_of_lambda_is_made_once_at_the_first_attempt():
    client = Mock(side_effect=ConnectionError)
    make = Mock(return_value=Mock(invoke=client))
    handler = LambdaHandler(LambdaTarget(function_arn=ARN, timeout=7), client=make)
    make.assert_not_called()
    for _ in range(2):
        with pytest.raises(ConnectionError):
            handler(None, context())
    make.assert_called_once_with(7)


SAID = json.dumps({"errorType": "ValueError", "errorMessage": "boom"}).encode()


@pytest.mark.parametrize(
    ("answered", "error", "says"),
    [
        ({"answer": SAID, "error": "Unhandled"}, Retry, "ValueError: boom"),
        ({"answer": b" " * 1001, "error": "Unhandled"}, Retry, "told more than can be kept"),
        ({"answer": b"null", "error": "Unhandled"}, Retry, "the function failed$"),
        ({"answer": b'"' + b"x" * 1000 + b'"'}, Fail, "more than 1,000 bytes"),
        ({"refusal": "TooManyRequestsException"}, Busy, "no room"),
        ({"refusal": "AccessDeniedException"}, ClientError, "AccessDenied"),
    ],
)
def test_a_function_that_fails_is_an_error_of_its_kind(answered, error, says):
    with pytest.raises(error, match=says) as raised:
        invoke(**answered, answer_bytes=1000)
    assert raised.type is error


# Settings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"url": "shop.example/a"}, "url=.*must begin with https://"),
        ({"url": "ftp://shop.example"}, "must begin with https://"),
        ({"url": "http://shop.example"}, "is sent in the clear: use https"),
        ({"url": "https://me:secret@shop.example"}, "secret_headers"),
        ({"url": "https://me@shop.example"}, "secret_headers"),
        ({"url": "https://shop.example/#top"}, "remove it"),
        ({"url": "https://shop.example/a b"}, "%20"),
        ({"url": "https://shop.example:port/"}, "is no URL"),
        ({"method": "post"}, "must be one of DELETE, GET, PATCH, POST, PUT"),
        ({"headers": {"X Y": "1"}}, "is no name of a header"),
        ({"headers": {"X-A": "1\r\nX-B: 2"}}, "must be text of one line"),
        ({"headers": {"Host": "other"}}, "is set by the request itself"),
        ({"headers": {"X-A": "1"}, "secret_headers": {"x-a": "s"}}, "is given twice"),
        ({"timeout": 0}, "timeout=0: must be a number of seconds above 0"),
        ({"retry_statuses": (200,)}, "must be from 400 to 599"),
        ({"retry_statuses": (429,)}, "is Busy always"),
        ({"answer_bytes": 262_145}, "262,144 at the most"),
        ({"allowed_networks": ("10.0.0.1/8",)}, "is no network such as 10.1.0.0/16"),
        ({"max_attempts": 0}, "max_attempts=0"),
    ],
)
def test_a_target_that_cannot_work_is_refused_with_a_sentence(settings, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        HttpsTarget(**{"url": "https://shop.example", **settings})
    assert HttpsTarget(url="https://shop.example", answer_bytes=262_144)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"timeout": 0}, "timeout=0: must be a number of seconds above 0"),
        ({"answer_bytes": 0}, "answer_bytes=0"),
        ({"answer_bytes": 262_145}, "262,144 at the most"),
        ({"max_attempts": 0}, "max_attempts=0"),
    ],
)
def test_a_function_that_cannot_be_a_target_is_refused_with_a_sentence(settings, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        LambdaTarget(function_arn=ARN, **settings)
    assert LambdaTarget(function_arn=ARN, answer_bytes=262_144)


def test_targets_are_read_as_they_were_written_and_have_the_terms_of_types_in_code():
    terms = {"max_attempts": 2, "in_flight": 3, "rate_limit": 0.5, "per_key": 1}
    targets = {
        "a": HttpsTarget(url="https://shop.example", headers={"X": "1"}, timeout=7.0, **terms),
        "b": LambdaTarget(function_arn=ARN, **terms),
    }
    text, registry = encode(targets), Registry()
    assert decode(text) == targets
    assert "answer_bytes" not in text  # as is every default
    register(registry, targets)
    for kind in (registry.get("a"), registry.get("b")):
        assert {name: getattr(kind, name) for name in terms} == terms
    assert registry.get("a").timeout == 7


def test_a_registered_url_is_sent_the_secret_that_aws_keeps(downstream, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", downstream.url.partition("/work")[0])
    downstream.body, registry = b'{"SecretString": "p-a-s-s-w-o-r-d"}', Registry()
    register(registry, {"a": to(downstream, secret_headers={"Authorization": "shop"})})
    registry.get("a").handler(None, context())
    asked, sent = downstream.requests
    assert json.loads(asked.body) == {"SecretId": "shop"}
    assert sent.headers["Authorization"] == "p-a-s-s-w-o-r-d"


def test_a_function_that_fails_is_asked_once_an_attempt(downstream, monkeypatch):
    """The task's own attempts are what tries again."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", downstream.url.partition("/work")[0])
    downstream.status, registry = 500, Registry()
    register(registry, {"b": LambdaTarget(function_arn=ARN, timeout=300)})
    with pytest.raises(ClientError):
        registry.get("b").handler({"n": 1}, context())
    assert [request.body for request in downstream.requests] == [b'{"n":1}']


def test_a_function_without_its_arn_and_more_targets_than_an_environment_holds_are_refused():
    with pytest.raises(InvalidInput, match="must be the ARN of a Lambda function"):
        LambdaTarget(function_arn="resize")
    many = {f"type {n}": HttpsTarget(url=f"https://shop.example/{n}") for n in range(100)}
    with pytest.raises(InvalidInput, match=f"{MOST_BYTES:,} fit: write code"):
        encode(many)


def test_a_secret_is_kept_for_five_minutes():
    host, answers = ManualHost(), [{"SecretString": f"s{n}"} for n in range(4)]
    client = Mock(**{"get_secret_value.side_effect": answers})
    make = Mock(return_value=client)
    secrets = Secrets(client=make, host=host)
    assert [secrets.text("a"), secrets.text("a"), secrets.text("b")] == ["s0", "s0", "s1"]
    host.advance(301)
    assert secrets.text("a") == "s2"
    host.freeze(301)
    with host.invocation():
        assert secrets.text("a") == "s3"
    assert [call.kwargs["SecretId"] for call in client.get_secret_value.mock_calls] == [*"abaa"]
    make.assert_called_once_with()
