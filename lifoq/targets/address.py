"""The addresses that a request may go to: those of the internet, unless others are allowed."""

import ipaddress
import socket
import ssl
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from typing import Final

from lifoq.errors import Fail, InvalidInput

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
"""A prefix behind which all IPv4 addresses lie, private ones, too (RFC 6052)."""
UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""The network in which all of IPv6's internet lies
(https://www.iana.org/assignments/ipv6-address-space)."""
SPECIAL: Final = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20")
)
"""Networks that are not the internet's, beside those that every Python knows: protocols' own,
documentation, and tunnels, which hide IPv4 addresses
(https://www.iana.org/assignments/iana-ipv6-special-registry)."""


class AddressRefused(Fail):
    """The host has no address that a request may go to; no retry can help."""


def network(text: str) -> Network:
    """Return the network that a text names. Raises InvalidInput where it names none."""
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        problem = f"is no network such as 10.1.0.0/16 ({error})"
        raise InvalidInput("allowed_networks", text, problem) from error


def permitted(address: Address, allowed: Sequence[Network], *, internet: bool = True) -> bool:
    """True if the address is of an allowed network, or of the internet where that is allowed."""
    meant = _meant(address)
    return _is_in(meant, allowed) or (internet and _is_of_internet(meant))


def _meant(address: Address) -> Address:
    """The IPv4 address that a connection to an IPv6 address leads to, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address


def _is_of_internet(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in UNICAST:
        return False
    return address.is_global and not address.is_multicast and not _is_in(address, SPECIAL)


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in one for one in networks)


class FinalResponse(HTTPResponse):
    """Passes over what is said before the answer, such as 103 Early Hints."""

    def begin(self) -> None:
        """Read status and headers of the answer, past interim ones."""
        super().begin()
        while HTTPStatus.SWITCHING_PROTOCOLS < self.status < HTTPStatus.OK:
            self.headers = None  # type: ignore[assignment]  # so that it begins again
            super().begin()


class CheckedConnection(HTTPConnection):
    """Looks the name up once, and connects to the very address that was checked: a name that leads
    elsewhere the next time leads nowhere."""

    response_class = FinalResponse

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout: float,
        allowed: Sequence[Network],
        tls: ssl.SSLContext | None,
    ) -> None:
        """``timeout`` of each step, in seconds."""
        super().__init__(host, port, timeout=timeout)
        self.aborted = False
        self._allowed = allowed
        self._tls = tls
        self._connected: socket.socket | None = None
        """The response takes ``sock`` over where it ends with the connection."""

    def connect(self) -> None:
        """Connect to the first of the checked addresses that answers."""
        failed: OSError | None = None
        for family, place in self._places():
            if self.aborted:
                break
            self.sock = self._connected = socket.socket(family, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            try:
                self.sock.connect(place)
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls:
                    self._secure(self._tls, self.sock)
            except OSError as error:
                self.sock.close()
                failed = error
            else:
                return
        raise failed or OSError(f"{self.host} has no address")

    def _secure(self, tls: ssl.SSLContext, plain: socket.socket) -> None:
        """The socket is known before it shakes hands, so that this can be aborted, too."""
        self.sock = self._connected = secure = tls.wrap_socket(
            plain, server_hostname=self.host, do_handshake_on_connect=False
        )
        secure.do_handshake()

    def abort(self) -> None:
        """End whatever the connection waits for. Called by another thread."""
        self.aborted = True
        if self._connected is not None:
            try:
                # Of a TLS socket, too, whose own method would go on in the clear.
                socket.socket.shutdown(self._connected, socket.SHUT_RDWR)
            except OSError:
                return  # it is not connected yet, or no more

    def _places(self) -> Iterator[tuple[int, tuple[str, int]]]:
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        secure = self._tls is not None
        refused = []
        for family, _, _, _, place in found:
            address = str(place[0])
            plain = ipaddress.ip_address(address.partition("%")[0])
            if permitted(plain, self._allowed, internet=secure):
                yield family, (address, self.port)
            else:
                refused.append(address)
        if len(refused) == len(found):
            why = (
                "is no address of the internet"
                if secure
                else "is in none of allowed_networks, and would be sent to in the clear: use https"
            )
            raise AddressRefused(
                f"{self.host} leads to {', '.join(refused)}, which {why}; allow its network in "
                "allowed_networks of the target, if it is meant"
            )
