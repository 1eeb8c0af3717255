"""The port, taken before anything else: that it is taken already must not be told seconds later."""

import socket


class PortTakenError(Exception):
    """Another program listens on the port."""


def listen(port: int) -> socket.socket:
    """Listen on loopback, on a free port if it is 0. Raises PortTakenError."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise PortTakenError(
            f"Port {port} is taken: end what listens there, or choose another with --port."
        ) from error
    return listener
