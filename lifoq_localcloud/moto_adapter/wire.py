"""A request as it arrives, read by its service's model, and a refusal in its service's protocol."""

import io
import json
import re
import warnings
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import UnknownServiceError
from botocore.model import Shape, StructureShape
from moto.core.exceptions import ServiceException
from moto.core.model import OperationModel
from moto.core.parse import PROTOCOL_PARSERS, RequestParserError
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model
from werkzeug.exceptions import NotFound

from lifoq_localcloud.basics.json_types import JsonTypes

_MODELS: Final = {"states": "stepfunctions", "monitoring": "cloudwatch"}
"""The models of services that sign by another name than boto3 calls them."""
_TYPES: Final = JsonTypes()
_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a refusal may repeat from a request, and that no answer in XML can have."""

# moto says so of codes that are common to all services, and in no service's model.
warnings.filterwarnings("ignore", r"Exception\(_Refusal\) with code")

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""


class MalformedError(Exception):
    """A request that cannot be read: no JSON, no XML, or a value of another type."""


class _Refusal(ServiceException):
    """A refusal of whatever service: of moto's own errors, moto asks which service has them."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request, by what it asks for."""

    operation: OperationModel
    protocol: str
    request: Request
    path_parameters: dict[str, Any]

    @property
    def service(self) -> str:
        """boto3's name of the service."""
        return str(self.operation.service_model.service_name)

    def asked(self) -> dict[str, Any]:
        """Return the parameters by the names of the model. MalformedError."""
        shape = self.operation.input_shape
        if not isinstance(shape, StructureShape):
            return {}
        body: bytes = self.request.data
        if "json" in self.protocol:
            _check_types(shape, body)
        try:
            asked: dict[str, Any] = PROTOCOL_PARSERS[self.protocol](self.operation).parse(
                {
                    "method": self.request.method,
                    "values": self.request.values,
                    "headers": self.request.headers,
                    "body": body,
                    "url_path": self.request.path,
                    "url_params": self.path_parameters,
                }
            )
        except (ValueError, RequestParserError) as error:
            # A number, a date or base64 that is none, or XML that cannot be read.
            raise MalformedError(str(error)) from error
        return asked

    def refusal(self, code: str, message: str) -> Answer:
        """Return what the service answers to a call that it refuses."""
        serializer = get_serializer_class(self.service, self.protocol)(self.operation)
        told = serializer.serialize(_Refusal(code, _NOT_IN_XML.sub("?", message)))
        body = told["body"]
        return (
            told["status_code"],
            {name: str(value) for name, value in told["headers"].items()},
            body.encode() if isinstance(body, str) else body,
        )


def read(service: str, environ: dict[str, Any]) -> Call | None:
    """Tell what a request to a service (by its name in signatures) asks for.

    None if there is no model of the service, or no such operation. The body can be read again.
    """
    try:
        model = get_service_model(_model_name(service, environ))
    except UnknownServiceError:
        return None
    body = io.BytesIO(environ["wsgi.input"].getvalue())
    request = Request({**environ, "wsgi.input": body})
    try:
        protocol = determine_request_protocol(model, request.content_type)
        operation, path_parameters = get_service_router(str(model.service_name)).match(request)
    except (NotFound, NotImplementedError):
        return None
    return Call(
        operation=operation, protocol=protocol, request=request, path_parameters=path_parameters
    )


def _model_name(service: str, environ: dict[str, Any]) -> str:
    if service == "dynamodb" and "Streams_" in environ.get("HTTP_X_AMZ_TARGET", ""):
        return "dynamodbstreams"
    if service == "apigateway" and environ["PATH_INFO"].startswith("/v2/"):
        return "apigatewayv2"
    return _MODELS.get(service, service)


def _check_types(shape: StructureShape, body: bytes) -> None:
    """Raise MalformedError for a body that is no JSON, or is of other types than the model's."""
    payload = shape.serialization.get("payload")
    whole: Shape = shape.members[payload] if payload else shape
    if not body or whole.type_name in {"blob", "string"}:
        return
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"Could not parse request body into json: {error}") from error
    if (told := _TYPES.wrong(whole, document)) is not None:
        raise MalformedError(told)
