"""The port, taken before anything else: that it is taken already must not be told seconds later."""

import errno
import socket


class PortError(Exception):
    """The port cannot be listened on."""


def listen(port: int) -> socket.socket:
    """Listen on loopback, on a free port if it is 0. Raises PortError."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortError(
                f"Port {port} is taken: end what listens there, or choose another with --port."
            ) from error
        raise PortError(
            f"Port {port} cannot be listened on ({error.strerror}): choose another with --port."
        ) from error
    return listener
