"""Serves the console on this machine alone."""

import json
import secrets
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import uvicorn

from lifoq.errors import InvalidInput
from lifoq_console.app import Settings, application
from lifoq_console.guard import ENTRANCE
from lifoq_console.several import Queues, application_of_several
from lifoq_console.subject import Subject

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Door:
    """The way in: a page that is open stays valid while both are the same."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @classmethod
    def read(cls, file: Path) -> "Door":
        """Return the door that the file keeps; a new one, at a free port, if it keeps none."""
        try:
            found = json.loads(file.read_text())
            return cls(port=int(found["port"]), token=str(found["token"]))
        except (OSError, ValueError, LookupError, TypeError):
            return cls(port=0)

    def write(self, file: Path) -> None:
        """Nobody but the owner can read it, at no moment."""
        file.unlink(missing_ok=True)
        file.touch(mode=0o600, exist_ok=False)
        file.write_text(json.dumps(asdict(self)))


def serve(
    shown: Subject | Queues,
    *,
    port: int,
    write: bool,
    metrics_token: str | None = None,
    kept: Path | None = None,
    tell: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; ``tell`` is given the address to open. Port 0 takes a free
    one. ``kept``: a file that keeps port and token from one start to the next.

    Raises InvalidInput where the port is in use.
    """
    door = Door(port=port) if kept is None else Door.read(kept)
    with _listener(door, may_move=kept is not None) as listener:
        door = replace(door, port=listener.getsockname()[1])
        if kept is not None:
            door.write(kept)
        settings = Settings(
            port=door.port, token=door.token, write=write, metrics_token=metrics_token
        )
        app = (
            application_of_several(shown, settings)
            if isinstance(shown, Queues)
            else application(shown, settings)
        )
        config = uvicorn.Config(app, log_level="warning", server_header=False, lifespan="off")
        tell(f"http://{HOST}:{settings.port}{ENTRANCE}?token={settings.token}")
        uvicorn.Server(config).run(sockets=[listener])


def _listener(door: Door, *, may_move: bool) -> socket.socket:
    """``may_move``: another port will do, if somebody else has this one by now."""
    try:
        return _bound(door.port)
    except InvalidInput:
        if not may_move:
            raise
        return _bound(0)


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise InvalidInput("port", port, f"cannot be listened on: {error.strerror}") from error
