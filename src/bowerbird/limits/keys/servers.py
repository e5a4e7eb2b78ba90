"""The servers that a person says a credential belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from bowerbird.errors import CredentialError
from bowerbird.model import TRAITS, origin

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def servers_named(provider: str, written: Sequence[str]) -> tuple[str, ...]:
    """The servers as the vault keeps them; none where the network has one API for everybody."""
    traits = TRAITS[provider]
    if not written and not traits.servers:
        raise CredentialError(
            f"say which server the credential belongs to, for it is sent to no other: --server {traits.login or traits.base}, "
            "or whichever gave it out"
        )
    servers = tuple(dict.fromkeys(server_address(each, "--server") for each in written))
    if traits.has_one_home and len(servers) > 1:
        raise CredentialError(
            f"a credential of {provider} belongs to one server, the one that its sessions are opened at: name that"
        )
    return servers


def server_address(written: str, option: str) -> str:
    """The server's base address; secrets travel there, so only this machine may do without TLS."""
    text = written if "://" in written else f"https://{written}"
    place = origin(text)
    try:
        parts = urlsplit(text)
        is_safe = place.startswith("https://") or urlsplit(place).hostname in _HERE
    except ValueError:
        is_safe = False
    if not place or not is_safe or parts.path.strip("/") or parts.query or parts.fragment:
        raise CredentialError(f"{option} is {written!r}: write the server's address, such as https://mastodon.social")
    return place
