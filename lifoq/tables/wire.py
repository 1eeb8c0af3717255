"""DynamoDB's API as bytes: JSON over HTTP, at a quarter of the processor time that a boto3 client
takes for a call.

A ``Wire`` stands on such a client. From it come credentials, endpoint, certificates and timeouts,
which failures are repeated, how often and after which pause, and what an error is. The request, its
signature, the sending and the reading of an answer are done here.

Whoever listens to the client's ``before-call`` or ``before-send`` hears each call, and may answer
it: moto does. Where somebody listens to another of its events, or has put a function of his own in
the place of one of botocore's or urllib3's, as who traces, stubs or records calls does, the client
itself makes the call; so it does, too, with a proxy, or a signature other than the usual one.
"""

import os
import socket
import ssl
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from operator import attrgetter
from types import FunctionType
from typing import Any, Final
from urllib.parse import urlsplit

import boto3
import botocore
from botocore import xform_name
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    SSLError,
)
from botocore.hooks import first_non_none_response
from urllib3 import exceptions as http

from lifoq.tables.aws_http import (
    ATTEMPTS,
    CONNECT_TIMEOUT,
    CONNECTIONS,
    READ_TIMEOUT,
    body_of,
    dynamodb_headers,
    exchange,
    read,
    signed,
)
from lifoq.tables.connections import Connections, Headers

PATIENT: Final = Config(
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
    max_pool_connections=CONNECTIONS,
    parameter_validation=False,  # DynamoDB validates; here it would take a sixth of a call's time
    # Without one, botocore puts its own together for each request: a tenth of the processor time.
    user_agent=f"lifoq boto3/{boto3.__version__} botocore/{botocore.__version__}",
)
"""For calls that may be repeated."""
ONCE: Final = PATIENT.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
"""For calls that must not be: an unconditional batch."""

UNHEARD: Final = (
    "provide-client-params",
    "before-parameter-build",
    "before-endpoint-resolution",
    "request-created",
    "before-sign",
    "choose-signer",
    "before-parse",
    "response-received",
    "needs-retry",
    "after-call",
    "after-call-error",
)
"""botocore's events of a call that are not as they were, or not at all, where it is made here."""
NEEDLESS: Final = frozenset(
    {
        "generate_idempotent_uuid",
        "_handle_request_validation_mode_member",
        "block_endpoint_discovery_required_operations",
        "RequestSigner.handler",
        "MaxAttemptsSeeder.seed_max_attempts",
        "UserAgentString.rebuild_and_replace_user_agent_handler",
        "add_retry_headers",
        "set_operation_specific_signer",
        "_set_auth_scheme_preference_signer",
        "RetryHandler.needs_retry",
        "RetryQuotaChecker.release_retry_quota",
    }
)
"""botocore's own listeners to them: what they do is done here, or has no effect on DynamoDB. One
that a later botocore adds is not among them, and the client makes the calls, as is safe."""
POWERTOOLS_MARK: Final = "aws_lambda_powertools.shared.user_agent"
"""Adds to each client's name for itself, and would be no reason."""


BOTOCORES_OWN: Final = attrgetter(
    "meta.events._emitter._handlers.prefix_search",
    "meta.events._emitter._lookup_cache",
    "_endpoint._add_modeled_error_fields",
    "_endpoint._needs_retry",
    "_endpoint.http_session._manager",
    "_endpoint.http_session._proxy_config",
    "_endpoint.http_session._setup_ssl_cert",
    "_endpoint.http_session._verify",
    "_make_api_call",
    "_request_signer._choose_signer",
    "_request_signer._credentials",
    "_resolve_endpoint_ruleset",
    "_response_parser",
)
"""What is taken from a client and is no part of its documented API. A later botocore may lack some
of it; the client then makes the calls."""


def new_client(config: Config, **arguments: Any) -> Any:
    """A boto3 client of DynamoDB."""
    return boto3.client("dynamodb", config=config, **arguments)


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """How the calls of one operation are made, while ``listeners`` and ``credentials`` are."""

    listeners: object
    credentials: Any
    direct: bool
    """False: the client makes them."""
    url: str = ""
    host: str = ""
    region: str = ""
    service: str = ""
    pool: Any = None
    """urllib3's, of the client, which opens ``connections``."""
    connections: Any = None


class Wire:
    def __init__(self, client: Any, *, now: Callable[[], int]) -> None:
        """``client``: a boto3 client of DynamoDB. ``now``: epoch microseconds, by which requests
        are signed."""
        self.client = client
        self.region: str = client.meta.region_name
        self._now = now
        self._known = _is_known(client)
        self._routes: dict[str, Route] = {}
        self._connections: dict[str, Connections] = {}
        self._process = os.getpid()
        self._lock = threading.Lock()

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, with bytes as bytes or in base64. Raises what the client would."""
        if self._known and _is_untouched(self.client):
            route = self._route(operation, request)
            if route.direct and _opens_as_ever(route.pool):
                return self._by_wire(operation, request, route)
        answer: dict[str, Any] = getattr(self.client, xform_name(operation))(**request)
        return answer

    def _route(self, operation: str, request: Mapping[str, Any]) -> Route:
        if self._process != os.getpid():
            self._leave_the_parents_connections()
        listeners = self.client.meta.events._emitter._lookup_cache  # a new one with each listener
        credentials = self._credentials()
        route = self._routes.get(operation)
        if (
            route is None
            or route.listeners is not listeners
            or route.credentials != credentials  # an endpoint may be an account's
        ):
            found = self._resolved(operation, request)
            route = Route(
                listeners=listeners, credentials=credentials, direct=bool(found), **(found or {})
            )
            self._routes[operation] = route
        return route

    def _resolved(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Where botocore would send it; None where it had better do so itself."""
        client, signer, session = (
            self.client,
            self.client._request_signer,
            self.client._endpoint.http_session,
        )
        model = client.meta.service_model.operation_model(operation)
        context = self._context()
        url, headers, *_ = client._resolve_endpoint_ruleset(model, request, context)
        parts = urlsplit(url)
        if (
            headers
            or parts.path.strip("/")
            or signer._choose_signer(operation, "standard", context) != "v4"
            or session._proxy_config.proxy_url_for(url)
            or not _is_unheard(client.meta.events, operation)
        ):
            return None
        url = f"{parts.scheme}://{parts.netloc}/"
        pool = session._manager.connection_from_url(url)
        session._setup_ssl_cert(pool, url, session._verify)
        signing = context.get("signing", {})
        usual_port = {"http": 80, "https": 443}[parts.scheme]
        host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else str(parts.hostname)
        connections = self._connections.setdefault(
            url,
            Connections(
                partial(_connected, pool, url), kept=client.meta.config.max_pool_connections
            ),
        )
        return {
            "url": url,
            "host": host if parts.port in {None, usual_port} else f"{host}:{parts.port}",
            "region": signing.get("region", signer.region_name),
            "service": signing.get("signing_name", signer.signing_name),
            "pool": pool,
            "connections": connections,
        }

    def _by_wire(self, operation: str, request: Mapping[str, Any], route: Route) -> dict[str, Any]:
        client, events = self.client, self.client.meta.events
        model, context = client.meta.service_model.operation_model(operation), self._context()
        if operation == "TransactWriteItems":  # repeated, it is the same transaction
            request = {**request, "ClientRequestToken": str(uuid.uuid4())}
        call = {
            "method": "POST",
            "url": route.url,
            "url_path": "/",
            "query_string": "",
            "headers": dynamodb_headers(
                operation, host=route.host, user_agent=client.meta.config.user_agent
            ),
            "body": body_of(request),
            "context": context,
        }
        _, instead = events.emit_until_response(
            f"before-call.dynamodb.{operation}",
            model=model,
            params=call,
            request_signer=client._request_signer,
            context=context,
        )
        answer, parsed = instead or self._answered(model, call, route)
        events.emit(
            f"after-call.dynamodb.{operation}",
            http_response=answer,
            parsed=parsed,
            model=model,
            context=context,
        )
        if answer.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            raise client.exceptions.from_code(parsed["Error"].get("Code"))(parsed, operation)
        read: dict[str, Any] = parsed
        return read

    def _answered(
        self, model: Any, call: dict[str, Any], route: Route
    ) -> tuple[Any, dict[str, Any]]:
        """What DynamoDB answers at last: botocore tells whether to try again, and waits before."""
        attempts = 0
        while True:
            attempts += 1
            headers = signed(
                call["headers"],
                call["body"],
                credentials=self._credentials(),
                now=self._now(),
                region=route.region,
                service=route.service,
            )
            answer, parsed, failure = self._attempt(model, headers, call, route)
            if failure is None and answer.status_code == HTTPStatus.OK:
                return answer, parsed
            heard = None if answer is None else (answer, parsed)
            if not self.client._endpoint._needs_retry(attempts, model, call, heard, failure):
                break
        if failure is not None:
            raise failure
        parsed.setdefault("ResponseMetadata", {})["RetryAttempts"] = attempts - 1
        return answer, parsed

    def _attempt(
        self, model: Any, headers: Headers, call: dict[str, Any], route: Route
    ) -> tuple[Any, dict[str, Any], Exception | None]:
        events = self.client.meta.events
        request: Any = AWSPreparedRequest(
            "POST",
            route.url,
            headers,  # type: ignore[arg-type]  # as good as botocore's own
            call["body"],
            stream_output=False,
        )
        parsed: dict[str, Any] = {}
        try:
            answer = first_non_none_response(
                events.emit(f"before-send.dynamodb.{model.name}", request=request)
            )
            if answer is None:
                answer = exchange(route.connections, route.url, request.headers, request.body)
        except Exception as failure:  # noqa: BLE001 - who repeats calls decides, and raises it
            return None, parsed, failure
        response = {
            "headers": answer.headers,
            "status_code": answer.status_code,
            "body": answer.content,
            "context": {"operation_name": model.name},
        }
        failed = None
        if answer.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            parsed = self._error(model, response)
        else:
            try:
                parsed = read(answer)
            except BotoCoreError as failure:
                failed = failure
        events.emit(
            f"response-received.dynamodb.{model.name}",
            response_dict=response,
            parsed_response=parsed,
            context=call["context"],
            exception=failed,
        )
        return answer, parsed, failed

    def _error(self, model: Any, response: dict[str, Any]) -> dict[str, Any]:
        parser, endpoint = self.client._response_parser, self.client._endpoint
        parsed: dict[str, Any] = parser.parse(response, model.output_shape)
        endpoint._add_modeled_error_fields(response, parsed, model, parser)
        return parsed

    def _credentials(self) -> Any:
        """As they are now: botocore refreshes them in time."""
        credentials = self.client._request_signer._credentials
        return None if credentials is None else credentials.get_frozen_credentials()

    def _context(self) -> dict[str, Any]:
        meta = self.client.meta
        return {
            "client_region": meta.region_name,
            "client_config": meta.config,
            "has_streaming_input": False,
        }

    def _leave_the_parents_connections(self) -> None:
        """After a fork: two processes would read each other's answers."""
        with self._lock:
            if self._process != os.getpid():
                self.client._endpoint.http_session._manager.clear()
                self._routes = {}
                self._process = os.getpid()


def _connected(pool: Any, url: str) -> socket.socket:
    """A connection as urllib3 opens it for botocore: its certificates, options and timeouts; and
    its errors."""
    try:
        connection = pool._new_conn()
        connection.connect()
        pool._validate_conn(connection)  # warns where no certificate is asked for
        found: socket.socket = connection.sock
        found.settimeout(pool.timeout.read_timeout)
    except (http.NewConnectionError, socket.gaierror) as error:
        raise EndpointConnectionError(endpoint_url=url, error=error) from error
    except (http.ConnectTimeoutError, TimeoutError) as error:
        raise ConnectTimeoutError(endpoint_url=url, error=error) from error
    except (http.SSLError, ssl.SSLError, ssl.CertificateError) as error:
        raise SSLError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise ConnectionClosedError(endpoint_url=url, error=error) from error
    except Exception as error:
        raise HTTPClientError(error=error) from error
    return found


def _is_known(client: Any) -> bool:
    try:
        BOTOCORES_OWN(client)
    except AttributeError:
        return False
    return True


def _is_untouched(client: Any) -> bool:
    """Whether a call would go through botocore's own functions."""
    endpoint = client._endpoint
    return (
        "_make_api_call" not in vars(client)
        and _is_from("botocore", function=type(client)._make_api_call)
        and _is_from("botocore", function=type(endpoint).make_request)
        and _is_from("botocore", function=type(endpoint.http_session).send)
    )


def _opens_as_ever(pool: Any) -> bool:
    """Whether requests would go through urllib3's own functions, over its own connections."""
    connection = pool.ConnectionCls
    return (
        _is_from("urllib3", function=type(pool).urlopen)
        and _is_from("botocore", function=connection.request)
        and _is_from("urllib3", function=connection.connect)
        and _is_from(
            "urllib3", "http", function=connection.getresponse
        )  # the latter up to urllib3 1
    )


def _is_from(*packages: str, function: object) -> bool:
    """A wrapper may take its function's name, and its class; not where it was written."""
    return (
        type(function) is FunctionType
        and str(function.__globals__["__name__"]).partition(".")[0] in packages
    )


def _is_unheard(events: Any, operation: str) -> bool:
    """Whether nobody would miss what is left out or differs."""
    return all(
        _is_needless(listener)
        for event in UNHEARD
        for listener in events._emitter._handlers.prefix_search(f"{event}.dynamodb.{operation}")
    )


def _is_needless(listener: Any) -> bool:
    module = str(getattr(listener, "__module__", ""))
    if module.startswith("botocore."):
        return getattr(listener, "__qualname__", "") in NEEDLESS
    return module.startswith("lifoq.") or module == POWERTOOLS_MARK
