"""Tables to test against: in memory, on moto, on DynamoDB Local."""

import contextlib
import functools
import gc
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import boto3
import botocore.session
import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

from lab import dynamodb_local
from lifoq.aws import boto3_clients
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.items.schema import table_definition
from lifoq.store.memory_table import MemoryTable
from lifoq.store.table_protocol import Table
from lifoq.testing import create_table
from tests import home
from tests.browser import browser, running_chromium
from tests.fixtures import PastDynamo, PastMemory, PastTheLibrary, host, store
from tests.virtual.bench import Bench

__all__ = ["browser", "host", "running_chromium", "store"]
"""Fixtures of the contract, and a browser, for all tests."""
pytest_plugins = ["lifoq.testing.plugin"]
HOME = home.enter()
"""Before anything is started that has a home."""
BACKENDS = ("memory", pytest.param("moto", marks=pytest.mark.prove), "dynamodb-local")
every_table = pytest.mark.parametrize("table", BACKENDS, indirect=True)
"""For what a table itself does. Moto is below the local cloud alone, which has tests of its own."""
on_dynamodb_too = pytest.mark.parametrize("table", ["memory", "dynamodb-local"], indirect=True)
"""For tests whose requests, or answers, no other has. What the library makes of them is shown in
memory alone; that both tables keep the conditions, by ``test_table.py``."""
TOGETHER: Final = (
    ("tests/infrastructure/test_walks_of_examples.py",),
    ("tests/infrastructure/test_walks.py",),
    ("tests/races/test_races.py",),
    ("tests/infrastructure/test_switched_settings.py",),
    (
        *("tests/contract/", "tests/functions/", "tests/faults/test_damage.py"),
        *("tests/faults/test_fuzzed_items.py", "tests/faults/test_matrix.py"),
        "tests/localcloud/test_drawn_expressions.py",
    ),
    ("tests/infrastructure/test_acceptance.py",),
    ("tests/localcloud/",),
    ("tests/infrastructure/", "tests/constructs/", "tests/releases/"),
    ("tests/analytics/",),
    ("tests/simulation/",),
)
"""Files that share what takes seconds to make: a server of moto, the local cloud, the templates of
the application, Spark. One process runs them, and so makes it once. A row begins before those below
it."""
IN_ANY_ORDER: Final = tuple(
    f"tests/{room}/" for room in ("unit", "contract", "functions", "aws", "faults")
)
"""Tests of one deployment build on each other: a permission counts as used once a test has used it.
Here none does."""
DATABASE = pytest.StashKey[tuple[str, str]]()
"""Endpoint and log of a DynamoDB Local that all processes share."""
CASES = "cases of the fault matrix"
"""A property of a test: how many of them it ran."""


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "Draw the order of the tests where none rests on another; the same seed draws the same."
    parser.addoption("--shuffle", type=int, metavar="SEED", help=told)


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("shuffle")
    return None if seed is None else f"order of tests: drawn with --shuffle {seed}"


@pytest.hookimpl(tryfirst=True)  # pytest then brings those together that share a costly fixture
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let those begin that take longest, and draw the order where that is asked for."""
    if (seed := config.getoption("shuffle")) is not None:
        draw = random.Random(seed)
        files = {item.path: draw.random() for item in items}
        drawn = [item for item in items if item.nodeid.startswith(IN_ANY_ORDER)]
        others = [item for item in items if not item.nodeid.startswith(IN_ANY_ORDER)]
        items[:] = others + sorted(drawn, key=lambda item: (files[item.path], draw.random()))
    items.sort(key=lambda item: _place(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile``, one process runs a file, and all files of one row of TOGETHER."""
    return InOneProcess(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than there are cores: many tests wait for a program that they started."""
    return 2 + (os.cpu_count() or 1)


class InOneProcess(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        place = _place(nodeid)
        return str(place) if place < len(TOGETHER) else nodeid.partition("::")[0]


def _place(nodeid: str) -> int:
    """The place in TOGETHER of a test's file; or the number beyond it."""
    found = (place for place, files in enumerate(TOGETHER) if nodeid.startswith(files))
    return next(found, len(TOGETHER))


def pytest_configure() -> None:
    """Nobody looks for garbage in what is imported, which stays: that took a sixth of the
    processor time of all tests."""
    gc.disable()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Start DynamoDB Local once for all processes, while they collect, and tell each where it is:
    a start costs four seconds of processor time."""
    config = node.config
    if DATABASE not in config.stash and config.getoption("dist") == "loadfile":
        stack = contextlib.ExitStack()
        config.add_cleanup(stack.close)
        log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "log"
        long = config.getoption("markexpr") == "prove"
        options = {"java_options": dynamodb_local.LONG if long else dynamodb_local.BRIEF}
        endpoint = stack.enter_context(dynamodb_local.starting(log, **options))
        config.stash[DATABASE] = endpoint, str(log)
    node.workerinput["database"] = config.stash.get(DATABASE, None)


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    ran = [
        number
        for report in terminalreporter.stats.get("passed", ())
        for name, number in report.user_properties
        if name == CASES
    ]
    if ran:
        terminalreporter.write_line(f"{sum(ran):,} {CASES} ran, none skipped")


@pytest.fixture(autouse=True)
def _home_stays_as_it_is() -> Iterator[None]:
    """Fails the test that left something in HOME, be it by a program that it started."""
    yield
    left = sorted(one.name for one in HOME.iterdir())
    for name in left:
        shutil.rmtree(HOME / name, ignore_errors=True)
        (HOME / name).unlink(missing_ok=True)
    assert left == [], "a test leaves its person's home folder alone"


@pytest.fixture(autouse=True, scope="session")
def _environment() -> Iterator[None]:
    """No test may find credentials of a real account, or a network beyond this machine."""
    told = {
        "AWS_ACCESS_KEY_ID": dynamodb_local.CREDENTIALS["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": dynamodb_local.CREDENTIALS["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def _descriptions_of_aws_are_read_once() -> Iterator[None]:
    """Each session of boto3 would parse them anew, for a tenth of a second; most tests make one."""
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(botocore.session.create_loader)
        patch.setattr(botocore.session, "create_loader", once)
        yield


@pytest.fixture(autouse=True)
def _nothing_of_another_test(_environment: None) -> Iterator[None]:
    """boto3 keeps the credentials that it found first. And a test that changes the environment
    inside of moto's mock leaves moto's credentials there: moto restores before pytest does. A
    module's own, of a local cloud, stay."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, os.environ[name])  # and again when the test is over
        patch.setattr(boto3, "DEFAULT_SESSION", None)
        yield
    assert logging.getLogger("lifoq").handlers == []  # all that is logged later would go there


@pytest.fixture(scope="session")
def dynamodb_local_endpoint(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if started := getattr(pytestconfig, "workerinput", {}).get("database"):
        endpoint, log = started
        dynamodb_local.wait_until_ready(endpoint, Path(log))
        yield endpoint
        return
    log = tmp_path_factory.mktemp("dynamodb-local") / "log"
    with dynamodb_local.running(log, java_options=dynamodb_local.BRIEF) as endpoint:
        yield endpoint


_MOTO = """
import sys
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="session")
def moto_endpoint() -> Iterator[str]:
    """A process of its own, until its input closes: whoever enters ``mock_aws`` in this one begins
    with the state of all of its moto forgotten."""
    with subprocess.Popen(
        [sys.executable, "-c", _MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield f"http://localhost:{server.stdout.readline().strip()}"


@pytest.fixture
def endpoint_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The endpoint of a backend that has one; starts it on first use."""

    def endpoint(backend: str) -> str:
        fixture = {"moto": "moto_endpoint", "dynamodb-local": "dynamodb_local_endpoint"}[backend]
        found: str = request.getfixturevalue(fixture)
        return found

    return endpoint


@pytest.fixture
def new_dynamo_table() -> Callable[[str], DynamoTable]:
    """Creates a queue's table on an endpoint, under a name of its own. It has no stream: the
    more streams DynamoDB Local has had, the more slowly it writes to a table with a new one."""
    return functools.partial(_new_table, create=_create_without_stream)


@pytest.fixture
def new_streamed_table() -> Callable[[str], DynamoTable]:
    """Makes tables with a stream, for a test that reads it."""
    return functools.partial(_new_table, create=create_table)


def _new_table(endpoint: str, *, create: Callable[[Any, str], None]) -> DynamoTable:
    name = f"queue-{uuid.uuid4().hex[:12]}"
    create(_maker_of_tables(endpoint), name)
    return DynamoTable.connect(name, endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)


@functools.cache
def _shared_clients(endpoint: str) -> tuple[Any, Any]:
    """Return two clients for all tests that only call them, the second without retries. To make a
    client takes longer than to call it."""
    arguments: Any = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
    return boto3_clients.dynamodb_clients(**arguments)


@functools.cache
def _maker_of_tables(endpoint: str) -> Any:
    """Return a client with boto3's own long timeouts. After a short one the call would be sent
    again, and fail, since the table is there already."""
    return boto3.client("dynamodb", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)


def _create_without_stream(client: Any, name: str) -> None:
    definition = table_definition(name)
    del definition["StreamSpecification"]
    client.create_table(**definition)


@pytest.fixture
def table(
    request: pytest.FixtureRequest,
    endpoint_of: Callable[[str], str],
) -> Table:
    """An empty queue's table: in memory, or where a mark says."""
    backend = getattr(request, "param", "memory")
    return MemoryTable() if backend == "memory" else table_of_all(endpoint_of(backend))


def table_of_all(endpoint: str) -> DynamoTable:
    """An empty table, called by the clients that all tests share."""
    client, once = _shared_clients(endpoint)
    name = f"queue-{uuid.uuid4().hex[:12]}"
    _create_without_stream(_maker_of_tables(endpoint), name)
    return DynamoTable.of_clients(name, client=client, once=once)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A queue in virtual time."""
    bench = Bench()
    yield bench
    bench.scheduler.close()


@pytest.fixture
def past(table: Table) -> PastTheLibrary:
    return PastDynamo(table) if isinstance(table, DynamoTable) else PastMemory(table)
