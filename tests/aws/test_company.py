"""A company's network: authorities of its own, and proxies. lifoq's own client goes by boto3's
rules for both."""

import itertools
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import SSLError
from botocore.utils import get_environ_proxies
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from lab import dynamodb_local
from lifoq import QueueMisconfigured
from lifoq.aws import client_choice as own
from lifoq.aws.dynamo_calls import DynamoCalls
from lifoq.aws.dynamo_table import Calls, DynamoTable
from lifoq.aws.own_client import Endpoint
from lifoq.aws.proxies import has_proxy
from lifoq.basics.clock import ServerClock
from tests.aws.server import GET, Server, reply


def signed(name: str, key: Any, by: str, with_key: Any, *, authority: bool) -> bytes:
    """A certificate in PEM. It has none of the key identifiers and usages that RFC 5280 wants of
    one, as those of companies often do not."""
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (name, by)]
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(*reversed(names), key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )
    return builder.sign(with_key, SHA256()).public_bytes(Encoding.PEM)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Files: the ``bundle`` of its authority, and a ``server``'s certificate with its key."""
    folder = tmp_path_factory.mktemp("company")
    root, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    bundle, server = folder / "bundle.pem", folder / "server.pem"
    bundle.write_bytes(signed("company", root, "company", root, authority=True))
    server.write_bytes(secret + signed("localhost", key, "company", root, authority=False))
    return SimpleNamespace(bundle=str(bundle), server=str(server))


@pytest.fixture
def tls_server(company: Any) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(company.server)
    server = Server(tls=context)
    yield server
    server.close()


@pytest.fixture(params=["a function", "a worker", "boto3"])
def connected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls of DynamoDB by lifoq's own client, as each of lifoq's processes makes it, and by boto3,
    in an environment."""
    if request.param == "a function":
        in_a_function = request.getfixturevalue("in_a_function")

        def of_function(url: str, **variables: str) -> Calls:
            in_a_function(AWS_ENDPOINT_URL=url, **variables)
            return DynamoCalls(*(own.in_function("dynamodb") or ()), attempts=1)

        return of_function
    request.getfixturevalue("worker")

    def of_process(url: str, **variables: str) -> Calls:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        told = {"endpoint_url": url, **dynamodb_local.CREDENTIALS}
        table = DynamoTable.connect("queue", repeats=False, **told)
        if request.param == "boto3":
            return table._calls
        table, reason = table.in_worker()
        assert reason is None
        return table._once

    return of_process


NONE = "/no/such/bundle.pem"


@pytest.mark.parametrize(
    "variables",
    [("AWS_CA_BUNDLE",), ("REQUESTS_CA_BUNDLE",), ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")],
    ids=len,
)
def test_a_bundle_says_who_is_trusted(company, tls_server, connected, variables):
    """The first of the two, where both are set. One connection is enough for five calls."""
    told = dict(zip(variables, (company.bundle, NONE), strict=False))
    calls = connected(tls_server.url, **told)
    items = [{"n": {"N": str(n)}, "long": {"S": "x" * 100_000}} for n in range(5)]
    tls_server.answers = [reply({"Item": item}) for item in items]
    assert [calls.call("GetItem", GET)["Item"] for _ in range(5)] == items
    assert len({request.peer for request in tls_server.heard()}) == 1


def test_without_a_bundle_a_companys_authority_is_not_trusted(tls_server, connected):
    with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        connected(tls_server.url).call("GetItem", GET)


def test_a_bundle_does_not_vouch_for_another_host(company, tls_server, connected):
    url = tls_server.url.replace("localhost", "127.0.0.1")
    with pytest.raises(SSLError, match=r"CERTIFICATE_VERIFY_FAILED|doesn't match"):
        connected(url, AWS_CA_BUNDLE=company.bundle).call("GetItem", GET)


def test_a_profiles_bundle_comes_between_the_two_variables(
    monkeypatch, company, worker, tls_server
):
    worker.write_text(f"[default]\nca_bundle = {company.bundle}\n")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", NONE)
    table = DynamoTable.connect("queue", endpoint_url=tls_server.url)
    assert table.in_worker()[0]._calls.call("GetItem", GET) == {}
    monkeypatch.setenv("AWS_CA_BUNDLE", NONE)
    with pytest.raises(QueueMisconfigured, match=f"^AWS_CA_BUNDLE='{NONE}'"):
        table.in_worker()
    worker.write_text("[default]\nca_bundle = here.pem\n")
    monkeypatch.delenv("AWS_CA_BUNDLE")
    with pytest.raises(QueueMisconfigured, match=r"^ca_bundle='here\.pem'"):
        table.in_worker()


@pytest.mark.parametrize(
    ("variable", "content", "problem"),
    [
        ("REQUESTS_CA_BUNDLE", None, "No such file or directory"),
        ("AWS_CA_BUNDLE", "", "no certificate or crl found"),
        (
            "AWS_CA_BUNDLE",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "PEM lib",
        ),
    ],
    ids=["none", "empty", "damaged"],
)
def test_a_bundle_that_cannot_be_read_is_told_by_its_variable(
    tmp_path, tls_server, connected, variable, content, problem
):
    """By lifoq's own client before the first call, and by a table that boto3 calls."""
    bundle = tmp_path / "broken.pem"
    if content is not None:
        bundle.write_text(content)
    sentence = f"{variable}='{bundle}': no certificate can be read from it \\(.*{problem}"

    def get() -> None:
        calls = connected(tls_server.url, **{variable: str(bundle)})
        DynamoTable(name="queue", calls=calls, once=calls, clock=ServerClock()).get("t")

    with pytest.raises(QueueMisconfigured, match=f"^{sentence}.*: name a file of certificates"):
        get()
    assert tls_server.heard() == []


def test_an_endpoint_without_tls_has_no_use_for_a_bundle(server, connected):
    connected(server.url, AWS_CA_BUNDLE=NONE).call("GetItem", GET)
    assert server.heard()


PROXY = "http://proxy.invalid:80"


DYNAMODB = "https://dynamodb.eu-west-1.amazonaws.com"


URLS = (DYNAMODB, "http://localhost:8000", "http://[::1]:8000")
PROXIES: tuple[dict[str, str], ...] = (
    {},
    {"ALL_PROXY": PROXY},
    {"HTTPS_PROXY": PROXY},
    {"https_proxy": PROXY, "HTTP_PROXY": PROXY},
    {"HTTP_PROXY": PROXY, "http_proxy": ""},
)
NO_PROXY = (
    *("", "*", "amazonaws.com", ".amazonaws.com", "eu-west-1.amazonaws.com,localhost"),
    *("localhost:8000", "localhost:8001", "::1", "[::1]:8000", "127.0.0.0/8", "aws.com"),
)


def test_an_endpoint_has_a_proxy_where_boto3_thinks_so(in_a_function):
    in_a_function()
    for url, variables, no_proxy in itertools.product(URLS, PROXIES, NO_PROXY):
        told = {"NO_PROXY": no_proxy, **variables}
        endpoint = Endpoint.at(url, service="dynamodb", region="eu-west-1")
        scheme = url.partition(":")[0]
        with pytest.MonkeyPatch.context() as patch:
            for name, value in told.items():
                patch.setenv(name, value)
            thinks = bool(get_environ_proxies(url).get(scheme))
            assert has_proxy(endpoint) is thinks, (url, told)
