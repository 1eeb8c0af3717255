"""The HTTP server under the API."""

import threading

import pytest
from botocore.exceptions import ClientError

from lifoq_localcloud.basics.clients import Clients
from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.http_server import server
from lifoq_localcloud.http_server.listener import listen
from tests.localcloud.harness import eventually

SERVER = "the HTTP server"


@pytest.mark.parametrize(
    ("service", "call"), [("cloudformation", "describe_stacks"), ("dynamodb", "list_tables")]
)
def test_a_fault_of_the_cloud_is_told_as_the_services_clients_read_it(service, call):
    def broken(*_: object) -> list[bytes]:
        raise KeyError

    http = server.create(listen(0), broken)
    credentials = Credentials(endpoint=f"http://localhost:{http.port}")
    ended = threading.Event()
    http.serve(ended)
    try:
        with pytest.raises(ClientError) as told:
            getattr(Clients(credentials)(service), call)()
    finally:
        ended.set()
        http.close()
    # A thread that outlived its socket would look at it again and again, and take a whole core.
    eventually(lambda: not [one for one in threading.enumerate() if one.name == SERVER])
    assert told.value.response["Error"] == {
        "Code": "InternalFailure",
        "Message": "The local cloud failed (KeyError); see its log.",
    }
