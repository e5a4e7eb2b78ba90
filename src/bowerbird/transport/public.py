"""Which addresses are the public's: what a post names may lead to this machine or its network, and must not be followed there.

The decision is made where a socket is opened, on the address it is connected to: whatever way the host was written (full-width
dots, octal, hexadecimal or decimal numbers, names that are looked up twice and answered differently), this is what it came to.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

from yarl import URL

if TYPE_CHECKING:
    from aiohappyeyeballs import AddrInfoType

_TRANSLATED = IPv6Network("64:ff9b::/96")
_SITE_LOCAL = IPv6Network("fec0::/10")
_OF_THE_MACHINE = frozenset(map(ip_address, ("fd00:ec2::254", "100.100.100.200", "192.0.0.192")))
"""Where rented machines are told their secrets, beside the addresses that are link-local."""


class PrivateAddressError(OSError):
    """The host leads to an address that is not the public's."""

    # One text for all addresses of a host: failures that read alike are told as one, others as an error of no kind.
    def __init__(self) -> None:
        super().__init__("the host leads to no public address")


class OwnAddressError(OSError):
    """The host leads to where a machine is told about itself."""

    def __init__(self) -> None:
        super().__init__("the host leads to an address at which machines are told about themselves, and no network is")


def is_of_the_machine(address: str) -> bool:
    """Whether an IP address is one at which a machine is told about itself, its secrets among it."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return any(each.is_link_local or each in _OF_THE_MACHINE for each in _meant(found))


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet: not loopback, private, link-local, multicast or reserved."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(each.is_global and not each.is_multicast and not each.is_reserved for each in _meant(found)) and not (
        isinstance(found, IPv6Address) and found in _SITE_LOCAL
    )


def _meant(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The address, or the IPv4 addresses that are wrapped in it."""
    if isinstance(address, IPv4Address):
        return [address]
    if address in _TRANSLATED:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address, address.sixtofour]
    return [address, *address.teredo] if address.teredo is not None else [address]


def web_address(url: str) -> URL:
    """The address as the client reads it; raises `ValueError` for what is no address of the web."""
    read = URL(url)
    if read.scheme not in ("http", "https") or not read.host:
        raise ValueError("not an http(s) address")
    if read.user is not None or read.password is not None:
        raise ValueError("an address with a password")
    return read


class PublicSockets:
    """Opens sockets to public addresses only, or to others that are allowed; a `socket_factory` of aiohttp's connector."""

    def __init__(self, is_allowed: Callable[[str], bool] = is_public, error: Callable[[], OSError] = PrivateAddressError) -> None:
        self._is_allowed = is_allowed
        self._error = error

    def __call__(self, found: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = found
        if not self._is_allowed(str(address[0])):
            raise self._error()
        return socket.socket(family, kind, protocol)


def network_sockets() -> PublicSockets:
    """Sockets to servers that a crawl file names: they may be anywhere but where a machine is told its secrets, whatever a name
    in that file, or of another server that one leads to, is made to mean."""
    return PublicSockets(lambda address: not is_of_the_machine(address), OwnAddressError)
