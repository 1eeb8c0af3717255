"""The port, taken before anything else: that it is taken already must not be told seconds later.

``localhost`` has two addresses. Both are held: on the one that were left, another user of the
machine could listen, and be sent what was meant for us.
"""

import errno
import socket
from typing import Final

ADDRESSES: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_ABSENT: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)
"""The machine has no such address: nobody can listen there."""
_TRIES: Final = 50
"""Attempts to draw a free port: it has to be free at each address."""


class PortError(Exception):
    """The port cannot be listened on."""


def listen(port: int) -> tuple[socket.socket, ...]:
    """Listen on loopback, at each address that the machine has; on a free port if it is 0.

    Raises PortError.
    """
    for left in reversed(range(_TRIES)):
        try:
            return _listen(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise PortError(
                    f"Port {port} cannot be listened on ({error.strerror}): choose another with "
                    "--port."
                ) from error
            if port or not left:
                raise PortError(
                    f"Port {port} is taken: end what listens there, or choose another with --port."
                ) from error
    raise AssertionError


def _listen(port: int) -> tuple[socket.socket, ...]:
    listeners: list[socket.socket] = []
    try:
        for family, address in ADDRESSES:
            try:
                listeners.append(_listener(family, address, port))
            except OSError as error:
                if family == socket.AF_INET or error.errno not in _ABSENT:
                    raise
            else:
                port = listeners[0].getsockname()[1]
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return tuple(listeners)


def _listener(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener
