"""Who makes the calls: boto3 in a user's process; in lifoq's own, its own client, unless somebody
has a hand in boto3's, or boto3 alone knows what is asked for."""

import ast
import functools
import http.client
import itertools
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import boto3
import botocore.handlers
import pytest
import wrapt
from botocore.config import Config
from botocore.credentials import Credentials

from lifoq import Queue, QueueMisconfigured
from lifoq.aws import client_choice as own
from lifoq.aws.boto3_clients import Boto3Calls
from lifoq.aws.dynamo_calls import DynamoCalls
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.aws.patched import patched_part
from lifoq.errors import BadEnvironment
from lifoq_cli.work import _by_own_client
from tests.aws.server import GET

ROOT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:1"


# A user's process


def test_a_users_process_calls_by_boto3_in_lambda_too(in_a_function):
    in_a_function(AWS_ENDPOINT_URL=NOWHERE)
    assert own.in_function("dynamodb")
    table = Queue.connect(table="queue").store.table
    assert isinstance(table._calls, Boto3Calls)
    assert isinstance(DynamoTable.in_function("queue")._calls, DynamoCalls)


PRODUCT = ("lifoq", "lifoq_cli", "lifoq_console", "lifoq_cdk", "lifoq_project", "functions")
PRODUCT += ("lifoq_localcloud", "analytics", "stacks", "benchmarks", "lab")
PACKAGES = ("botocore", "boto3", "urllib3")
PRIVATE = re.compile(r"""(?<!\bself)(?<!\bcls)["'.]_[A-Za-z]|\bimport\s*(\([^)]*|.*)\b_[A-Za-z]""")
"""Where a module may use a private name of another. Others need not be parsed."""


def names_of(tree):
    """Names that are read of something, or imported from these packages; and those in text by which
    a patch or an attrgetter finds them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.ImportFrom):
            if str(node.module).partition(".")[0] in PACKAGES:
                yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.split(".")
            if all(word.isidentifier() for word in words):
                yield from ((word, node.lineno) for word in words)


def private_names(tree):
    """The private names of other libraries that a module may use: those that it reads of something
    that is not itself, and does not define."""
    mine = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in {"self", "cls"}
    } | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for name, line in names_of(tree):
        if name.startswith("_") and not name.endswith("_") and name not in mine:
            yield name, line


def defined(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def test_no_private_name_of_botocore_boto3_or_urllib3_is_used_anywhere():
    """No private name is used: botocore, boto3 and urllib3 may give it another meaning tomorrow."""
    suspects = {}
    for package in PRODUCT:
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            if re.search(r"boto|urllib3|client", text) and PRIVATE.search(text):
                for name, line in private_names(ast.parse(text)):
                    suspects.setdefault(name, []).append(f"{path.relative_to(ROOT)}:{line} {name}")
    for name in vars(http.client):  # the standard library's own
        suspects.pop(name, None)
    word = re.compile(rf"\b({'|'.join(suspects)})\b")
    found = []
    for package in PACKAGES:
        for path in Path(sys.modules[package].__file__).parent.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "vendored" not in path.parts and word.search(text):
                found += [
                    where for name in defined(ast.parse(text)) for where in suspects.get(name, ())
                ]
    assert found == []


# In a function of lifoq's


@pytest.mark.parametrize(
    ("different", "suffices"),
    [
        ({}, True),
        ({"AWS_ENDPOINT_URL": NOWHERE}, True),
        ({"AWS_ENDPOINT_URL": f"{NOWHERE}/path"}, False),
        ({"AWS_ENDPOINT_URL": "ftp://127.0.0.1"}, False),
        ({"AWS_ENDPOINT_URL": "127.0.0.1:1"}, False),
        ({"AWS_ENDPOINT_URL": "http://user:password@127.0.0.1"}, False),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:port"}, False),
        ({"AWS_DEFAULT_REGION": "us-gov-west-1"}, False),
        ({"AWS_DEFAULT_REGION": "cn-north-1"}, False),
        ({"AWS_DEFAULT_REGION": ""}, False),
        ({"AWS_LAMBDA_FUNCTION_NAME": ""}, False),
        ({"AWS_ACCESS_KEY_ID": ""}, False),
        *(({name: "something"}, False) for name in own.ONLY_BOTO3S),
        ({"HTTPS_PROXY": "http://proxy"}, False),
        ({"https_proxy": "http://proxy"}, False),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": ".amazonaws.com"}, True),
        ({"HTTPS_PROXY": "http://proxy", "AWS_ENDPOINT_URL": NOWHERE}, True),
        ({"LIFOQ_AWS_CLIENT": "boto3"}, False),
        ({"LIFOQ_AWS_CLIENT": ""}, True),
    ],
    ids=str,
)
def test_what_only_boto3_knows_is_left_to_it(in_a_function, different, suffices):
    """The task code may have imported it, as it has here."""
    in_a_function(**different)
    assert (own.in_function("dynamodb") is not None) is suffices


@pytest.mark.parametrize("file", ["config", "credentials"])
def test_a_configuration_file_is_read_by_boto3(in_a_function, tmp_path, file):
    in_a_function()
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / file).write_text("[default]\nendpoint_url = http://127.0.0.1:1\n")
    assert own.in_function("dynamodb") is None


def test_a_choice_that_nobody_knows_is_named(monkeypatch, in_a_function):
    in_a_function(LIFOQ_AWS_CLIENT="urllib3")
    with pytest.raises(BadEnvironment, match=r"LIFOQ_AWS_CLIENT.*must be 'boto3', or not be set"):
        own.in_function("dynamodb")


def renamed(function):
    """Wrap a function like a tracer that takes the name of the function."""

    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)

    return wrapper


PATCHES = {
    "botocore.client.BaseClient._make_api_call": renamed,
    "botocore.endpoint.Endpoint.make_request": lambda one: wrapt.FunctionWrapper(one, renamed),
    "botocore.httpsession.URLLib3Session.send": lambda _: MagicMock(),
    "urllib3.connectionpool.HTTPConnectionPool.urlopen": renamed,
    "urllib3.connection.HTTPConnection.connect": renamed,
    "http.client.HTTPConnection.endheaders": renamed,
    "botocore.awsrequest.AWSHTTPSConnectionPool.ConnectionCls": lambda one: type("V", (one,), {}),
    "botocore.client.BaseClient": lambda _: MagicMock(),
    "botocore.session.Session.create_client": renamed,
    "boto3.session.Session.client": renamed,
    "boto3.client": lambda _: MagicMock(),
}


@pytest.mark.parametrize("target", PATCHES)
def test_where_somebody_has_a_hand_in_boto3s_calls_it_makes_lifoqs(
    monkeypatch, in_a_function, target
):
    in_a_function()
    place, _, name = target.rpartition(".")
    owner = functools.reduce(getattr, place.split(".")[1:], sys.modules[place.split(".")[0]])
    monkeypatch.setattr(owner, name, PATCHES[target](getattr(owner, name)))
    assert patched_part() in {target, place}
    assert own.in_function("dynamodb") is None


def test_under_moto_boto3_makes_the_calls(monkeypatch, unpatched):
    listeners = [*botocore.handlers.BUILTIN_HANDLERS, ("before-send", lambda **_: None)]
    monkeypatch.setattr(botocore.handlers, "BUILTIN_HANDLERS", listeners)
    assert patched_part() == "botocore.handlers.BUILTIN_HANDLERS"


WAITING = """
import importlib.abc, importlib.util, sys

class Tracer(importlib.abc.MetaPathFinder):
    '''Waits for botocore, as New Relic's layer and Datadog's do.'''

    def find_spec(self, name, path, target=None):
        if name != "botocore.client":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            known = module.BaseClient._make_api_call
            module.BaseClient._make_api_call = lambda *given: known(*given)

        spec.loader.exec_module = exec_module
        return spec

Tracer.__module__ = "newrelic.api.import_hook"
sys.meta_path.insert(0, Tracer())
"""
XRAY = "import aws_xray_sdk.core; aws_xray_sdk.core.patch(['botocore'])"


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("", "False False"),
        (WAITING, "True True"),
        pytest.param(XRAY, "True True", marks=pytest.mark.prove),
    ],
    ids=["nothing", "a tracer that waits", "X-Ray"],
)
def test_tracers_are_found_and_botocore_is_imported_for_them_alone(before, found):
    code = (
        f"import sys\n{before}\nfrom lifoq.aws.patched import patched_part\n"
        "print(patched_part() is not None, 'botocore.client' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == found.split()


# In `lifoq work`


def test_a_worker_calls_where_boto3_would_with_credentials_read_for_each_call(
    monkeypatch, worker, server
):
    worker.write_text(f"[default]\nendpoint_url = {server.url}\n")
    table, _ = DynamoTable.connect("queue").in_worker()
    assert isinstance(table._calls, DynamoCalls)
    for token in "ab":
        refreshed = Credentials("key", "secret", token)
        monkeypatch.setattr(boto3.DEFAULT_SESSION, "get_credentials", lambda found=refreshed: found)
        table._calls.call("GetItem", GET)
    assert [request.headers["x-amz-security-token"] for request in server.heard()] == ["a", "b"]


def test_lifoq_work_calls_so_says_so_and_leaves_a_queue_in_memory_as_it_is(monkeypatch, worker):
    told: list[str] = []
    store, memory = Queue.connect(table="queue").store, Queue.in_memory().store
    assert isinstance(_by_own_client(store, told.append).table._calls, DynamoCalls)
    assert _by_own_client(memory, told.append).table is memory.table
    monkeypatch.setenv("LIFOQ_AWS_CLIENT", "boto3")
    assert _by_own_client(store, told.append).table is store.table
    assert told == [
        "lifoq's own client calls DynamoDB.",
        "boto3 calls DynamoDB, not lifoq's own client: LIFOQ_AWS_CLIENT=boto3 says so.",
    ]


def test_a_worker_without_credentials_says_so(monkeypatch, worker, server):
    table, _ = DynamoTable.connect("queue", endpoint_url=server.url).in_worker()
    monkeypatch.setattr(boto3.DEFAULT_SESSION, "get_credentials", lambda: None)
    with pytest.raises(QueueMisconfigured, match="there are no credentials"):
        table.get("t")


@pytest.mark.parametrize(
    ("variables", "config", "arguments", "reason"),
    [
        ({"LIFOQ_AWS_CLIENT": "boto3"}, "", {}, "LIFOQ_AWS_CLIENT=boto3 says so"),
        ({"HTTPS_PROXY": "http://proxy"}, "", {}, "HTTPS_PROXY names a proxy, and NO_PROXY does"),
        ({}, "auth_scheme_preference = sigv4a", {}, "auth_scheme_preference is set"),
        ({}, "", {"region_name": "cn-north-1"}, "region cn-north-1 is outside of the partition"),
        ({}, "", {"endpoint_url": f"{NOWHERE}/path"}, "URL has more than a scheme, a host and a"),
        ({}, "", {"config": Config(proxies={"https": "proxy"})}, "names a proxy for https"),
        (
            {},
            "",
            {"config": Config(account_id_endpoint_mode="required")},
            "account_id_endpoint_mode=required",
        ),
        ({}, "", {"config": Config(signature_version="v4a")}, "signature_version=v4a"),
    ],
    # Not from the arguments: a Config's text has its address, which differs between processes.
    ids=itertools.count(),
)
def test_a_worker_leaves_to_boto3_what_only_that_knows_and_says_why(
    monkeypatch, worker, variables, config, arguments, reason
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    worker.write_text(f"[default]\n{config}\n")
    table = DynamoTable.connect("queue", **arguments)
    same, told = table.in_worker()
    assert same is table
    assert reason in told
