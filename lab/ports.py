"""Ports for servers that cannot choose one themselves."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """Yield a port of the loopback address that nobody else is given during the block.

    It stays bound, without listening: a port that was closed goes to the next who asks for any. A
    server that is told its number may listen there, as it sets SO_REUSEADDR, and until one does,
    connections are refused. BSD's kernels, macOS's among them, would not let a server listen beside
    the holder: there it is free from the beginning on.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        if sys.platform != "linux":
            holder.close()
        yield port
