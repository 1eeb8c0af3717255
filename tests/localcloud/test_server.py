"""The HTTP server under the API."""

import pytest
from botocore.exceptions import ClientError

from localcloud import server
from localcloud.clients import Clients
from localcloud.credentials import Credentials
from localcloud.listener import listen


@pytest.mark.parametrize(
    ("service", "call"), [("cloudformation", "describe_stacks"), ("dynamodb", "list_tables")]
)
def test_a_fault_of_the_cloud_is_told_as_the_services_clients_read_it(service, call):
    def broken(*_: object) -> list[bytes]:
        raise KeyError

    http = server.create(listen(0), broken)
    credentials = Credentials(endpoint=f"http://localhost:{http.port}")
    server.threads.start("the server", http.serve_forever)
    try:
        with pytest.raises(ClientError) as told:
            getattr(Clients(credentials)(service), call)()
    finally:
        http.shutdown()
        http.server_close()
    assert told.value.response["Error"] == {
        "Code": "InternalFailure",
        "Message": "The local cloud failed (KeyError); see its log.",
    }
