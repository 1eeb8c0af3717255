"""One local cloud for all tests that need a running one, with the small stack deployed."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from lifoq_localcloud import LocalCloud
from tests.localcloud.harness import Deployed, deploy


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Iterator[Deployed]:
    with LocalCloud(tmp_path_factory.mktemp("localcloud")) as cloud:
        address = urlsplit(cloud.endpoint)
        yield Deployed(cloud=cloud, ids=deploy(cloud))
    with pytest.raises(ConnectionRefusedError):  # it has ended with its block
        socket.create_connection((address.hostname, address.port)).close()


@pytest.fixture
def deployed(shared) -> Iterator[Deployed]:
    """The shared cloud, with nothing left over in its queues."""
    shared.received()
    shared.received("Failures")
    yield shared
    shared.cloud.set_faults()
