"""Serves the console on this machine alone."""

import secrets
import socket
from collections.abc import Callable
from typing import Final

import uvicorn

from lifoq.errors import InvalidInput
from lifoq_console.app import Settings, application
from lifoq_console.guard import ENTRANCE
from lifoq_console.subject import Subject

HOST: Final = "127.0.0.1"


def serve(
    subject: Subject,
    *,
    port: int,
    write: bool,
    metrics_token: str | None = None,
    tell: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; ``tell`` is given the address to open. Port 0 takes a free
    one.

    Raises InvalidInput where the port is in use.
    """
    with _bound(port) as listener:
        settings = Settings(
            port=listener.getsockname()[1],
            token=secrets.token_urlsafe(24),
            write=write,
            metrics_token=metrics_token,
        )
        app = application(subject, settings)
        config = uvicorn.Config(app, log_level="warning", server_header=False, lifespan="off")
        tell(f"http://{HOST}:{settings.port}{ENTRANCE}?token={settings.token}")
        uvicorn.Server(config).run(sockets=[listener])


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise InvalidInput("port", port, f"cannot be listened on: {error.strerror}") from error
