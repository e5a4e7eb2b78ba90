"""Which addresses are the public's: what a post names may lead to this machine or its network, and must not be followed there."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

_TRANSLATED = IPv6Network("64:ff9b::/96")


class PrivateAddressError(OSError):
    """The name leads to an address that is not the public's."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet: not loopback, private, link-local, multicast or reserved."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(each.is_global and not each.is_multicast and not each.is_reserved for each in _meant(found))


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


def check_url(url: str, *, allows_private: bool) -> None:
    """Raises `ValueError` for what is no address of the web, and `PrivateAddressError` for one written as a private number."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http(s) address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address with a password")
    is_number = ":" in parts.hostname or parts.hostname.replace(".", "").isdigit()
    # Numbers are not looked up, so that the resolver below never sees them.
    if is_number and not allows_private and not is_public(parts.hostname):
        raise PrivateAddressError(f"{parts.hostname} is not a public address")


class PublicResolver(AbstractResolver):
    """Looks names up and answers public addresses only: the connection goes to what was checked, not to a second answer."""

    def __init__(self, resolver: AbstractResolver | None = None) -> None:
        self._resolver = resolver or DefaultResolver()

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        public = [each for each in found if is_public(each["host"])]
        if not public:
            raise PrivateAddressError(f"{host} leads to no public address")
        return public

    async def close(self) -> None:
        await self._resolver.close()
