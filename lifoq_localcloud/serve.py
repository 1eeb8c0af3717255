"""One local cloud, from its start to its end."""

import os
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lifoq_localcloud.api.calls import CallLog
from lifoq_localcloud.api.gateway import Gateway
from lifoq_localcloud.basics.clients import Clients
from lifoq_localcloud.basics.credentials import Credentials, without_proxy
from lifoq_localcloud.cloud import LocalCloud
from lifoq_localcloud.deployments import stacks
from lifoq_localcloud.deployments.resources import types
from lifoq_localcloud.deployments.runtime import Runtime
from lifoq_localcloud.http_server import server
from lifoq_localcloud.http_server.gate import Callers
from lifoq_localcloud.moto_adapter import access_keys, deployed
from lifoq_localcloud.moto_adapter.install import install, moto


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings with which ``serve`` was asked to run."""

    listeners: tuple[socket.socket, ...]
    directory: Path
    ttl_delay_seconds: float
    first_retry_seconds: float
    stream_pause_seconds: float


def run(
    settings: Settings, *, started: Callable[[LocalCloud], None], until: threading.Event
) -> None:
    """Serve until the event is set; then end every process."""
    gateways: list[Gateway] = []

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return gateways[0](environ, start_response)

    def most_bytes(environ: dict[str, Any]) -> int:
        return gateways[0].most_bytes(environ)

    http = server.create(settings.listeners, application, most_bytes)
    credentials = Credentials(endpoint=f"http://localhost:{http.port}")
    os.environ["MOTO_PORT"] = str(http.port)
    os.environ.update(without_proxy(os.environ))
    callers = Callers(credentials, issued=access_keys.issued_secret)
    calls = CallLog(settings.directory / "calls.jsonl", callers)
    clients = Clients(credentials)
    runtime = Runtime(
        directory=settings.directory,
        credentials=credentials,
        callers=callers,
        clients=clients,
        ttl_delay_seconds=settings.ttl_delay_seconds,
        first_retry_seconds=settings.first_retry_seconds,
        stream_pause_seconds=settings.stream_pause_seconds,
    )
    install(
        credentials=credentials,
        invoke=runtime.invoke,
        deliver=runtime.deliver,
        hand=runtime.hand,
    )
    types.install(clients)
    stacks.install(check=deployed.check)
    gateways.append(Gateway(runtime=runtime, moto=moto(), calls=calls, callers=callers))
    http.serve(until)
    try:
        credentials.write(settings.directory)
        started(LocalCloud.at(settings.directory))
        until.wait()
    finally:
        runtime.close()
        http.close()
