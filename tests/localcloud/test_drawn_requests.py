"""Calls as the services' models draw them: broken in one place they are refused, with the service's
code, before anything sees them.

The operations are those that lifoq calls, its deployments, and the tests of its users.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from botocore.model import OperationModel
from botocore.parsers import create_parser
from moto.core.utils import get_service_model

from lifoq_localcloud.moto_adapter import checked_calls
from tests.localcloud import drawn_requests
from tests.localcloud.drawn_requests import Broken

OPERATIONS: Final = Path(__file__).with_name("drawn_operations.txt").read_text().splitlines()
"""For each service a line with its operations."""
SIGNED_AS: Final = {
    "apigatewayv2": "apigateway",
    "cloudwatch": "monitoring",
    "dynamodbstreams": "dynamodb",
    "stepfunctions": "states",
}
PROTOCOLS: Final = {"cloudwatch": "json"}
"""Services with which botocore speaks another protocol than the first of the model."""

CODES: Final = {
    "apigatewayv2": {"BadRequestException"},
    "cloudformation": {"ValidationError"},
    "cloudwatch": {"ValidationError"},
    "iam": {"ValidationError"},
    "lambda": {"ValidationException", "InvalidParameterValueException"},
    "logs": {"InvalidParameterException"},
    "s3": {"InvalidArgument", "MalformedXML", "InvalidDigest"},
    "sns": {"ValidationError"},
    "sqs": {"MissingParameter", "InvalidAttributeName"},
    "sts": {"ValidationError"},
}
"""Codes of a service for a call that does not fit its model, where it is not
``ValidationException``."""

SAMPLE: Final = 20
"""One in so many broken calls is enough to notice a rule that is gone."""


def operations() -> Iterator[tuple[str, str, OperationModel]]:
    """Yield service, protocol and model of each operation."""
    for service, names in (line.split(": ") for line in OPERATIONS):
        model = get_service_model(service)
        protocol = PROTOCOLS.get(service, str(model.protocol))
        for name in names.split():
            yield service, protocol, model.operation_model(name)


def asked(service: str, environ: dict[str, Any], protocol: str) -> str | None:
    """Return the code of a refusal, as a client reads it; None for a call that goes on to moto."""
    answer = checked_calls.refusal(SIGNED_AS.get(service, service), environ)
    if answer is None:
        return None
    status, headers, body = answer
    assert 400 <= status < 500
    lowered = {name.lower(): value for name, value in headers.items()}
    response = {"status_code": status, "headers": lowered, "body": body}
    return str(create_parser(protocol).parse(response, None)["Error"]["Code"])


def complaint(
    service: str, protocol: str, operation: OperationModel, given: Any, one: Broken
) -> str | None:
    """Return what is wrong with the answer to a broken call."""
    code = asked(service, drawn_requests.environ(operation, given, protocol, one), protocol)
    wanted = CODES.get(service, {"ValidationException"})
    if one.kind == "type":
        wanted = {"SerializationException"}
    return None if code in wanted else f"{service} {operation.name} {one}: {code}, not {wanted}"


def complaints(seed: int, *, every: int) -> list[str]:
    """Return what is wrong, of all calls that one seed draws or of every so-many-th."""
    draw = random.Random(seed)
    found = []
    for service, protocol, operation in operations():
        given = drawn_requests.whole(operation, draw, share=1.0)
        found += [
            complaint(service, protocol, operation, given, one)
            for one in drawn_requests.broken(operation, given, protocol=protocol)
            if draw.randrange(every) == 0
        ]
    return [one for one in found if one is not None]


def test_a_call_that_is_broken_in_one_place_is_refused_before_anything_is_written():
    assert complaints(1, every=SAMPLE) == []


@pytest.mark.prove
def test_every_call_that_is_broken_in_one_place_is_refused():
    assert complaints(2, every=1) == []
