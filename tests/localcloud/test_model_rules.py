"""A call that does not fit its service's model is refused with the service's code, before anything
sees it.

A row of ``refused_by_model.txt`` is a call that is broken in one place: the code, two parts of the
sentence, and the call. There is a row of each service for each rule that its model has.
"""

import io
import json
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

import pytest
from botocore.model import OperationModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from moto.core.utils import get_service_model

from lifoq_localcloud.moto_adapter import checked_calls
from tests.localcloud.rows import rows

SIGNED_AS: Final = {
    "apigatewayv2": "apigateway",
    "cloudwatch": "monitoring",
    "dynamodbstreams": "dynamodb",
    "stepfunctions": "states",
}


def environ(operation: OperationModel, call: dict[str, Any], protocol: str) -> dict[str, Any]:
    """Return the request as it arrives. RAW is what botocore would not put into a body."""
    serializer = create_serializer(protocol, include_validation=False)
    given = {name: value for name, value in call.items() if name != "RAW"}
    sent = serializer.serialize_to_request(given, operation)
    headers, body, query = sent["headers"], sent["body"], sent["query_string"]
    if "RAW" in call:
        body = json.dumps(json.loads(body) | call["RAW"])
    if isinstance(body, dict):
        body = urlencode(body)
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
    content = body.encode() if isinstance(body, str) else bytes(body or b"")
    address = urlencode(query, doseq=True, quote_via=quote) if isinstance(query, dict) else query
    path, _, more = sent["url_path"].partition("?")
    address = "&".join(filter(None, (more, address)))
    names = {name: name.upper().replace("-", "_") for name in headers}
    heads = {
        (key if key == "CONTENT_TYPE" else f"HTTP_{key}"): str(headers[name])
        for name, key in names.items()
    }
    return {
        "REQUEST_METHOD": sent["method"],
        "PATH_INFO": unquote(path),
        "RAW_URI": f"{path}?{address}" if address else path,
        "QUERY_STRING": address,
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


def refused(name: str, call: dict[str, Any]) -> tuple[str, str]:
    """Return the code and the sentence of a refusal, as a client reads them."""
    service, _, operation = name.partition(".")
    model = get_service_model(service)
    # botocore speaks another protocol with it than the first of the model.
    protocol = "json" if service == "cloudwatch" else str(model.protocol)
    asked = environ(model.operation_model(operation), call, protocol)
    answer = checked_calls.refusal(SIGNED_AS.get(service, service), asked)
    assert answer is not None, "it would go on to moto"
    status, headers, body = answer
    assert 400 <= status < 500
    lowered = {name.lower(): value for name, value in headers.items()}
    response = {"status_code": status, "headers": lowered, "body": body}
    error = create_parser(protocol).parse(response, None)["Error"]
    return str(error["Code"]), str(error["Message"])


@pytest.mark.filterwarnings("ignore:.*does not match an error shape")  # AWS answers so, too
def test_a_call_that_does_not_fit_its_model_is_refused(subtests):
    for operation, (code, told), call in rows("refused_by_model.txt"):
        with subtests.test(f"{operation}: {code} {told}"):
            found, sentence = refused(operation, call)
            assert found == code
            assert all(part in sentence for part in told.split(" … "))
