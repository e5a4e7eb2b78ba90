"""By which names the dashboard may be reached, from where forms may come, and how it knows who comes: all that a request says of
its way here is judged in this file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model.command_lines import command_line
from bowerbird.ports import Database
from bowerbird.transport.serving import Listening, is_loopback
from bowerbird.web.security.people import is_anybody_there

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS = {"http": 80, "https": 443}
_OURS = frozenset({"same-origin", "none"})
_FRAMES = frozenset({"iframe", "frame", "object", "embed"})
_MOST_LENGTH = 255
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")

Headers = Mapping[str, str]


class Door(Struct, frozen=True, kw_only=True):
    """Where the dashboard listens, and the names by which people reach it."""

    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    is_tls: bool = False
    is_behind_proxy: bool = False
    """Something in front of it passes requests on, and says for whom."""

    @classmethod
    def of(cls, where: Listening, names: tuple[str, ...] = ()) -> Door:
        plain = tuple(each.strip().strip("[]").casefold().rstrip(".") for each in names)
        for each in plain:
            if not _NAME.fullmatch(each) and not _is_address(each):
                raise UserError(
                    f"--name {each!r} is no name of a host", "write it alone, such as crawl.example.org", code="invalid_address"
                )
        return cls(host=where.host, names=plain, is_tls=where.certificate is not None, is_behind_proxy=where.may_be_plain)

    @property
    def is_private(self) -> bool:
        """Whether only this machine can come in: then the key that the terminal shows is enough, while nobody has a password."""
        return is_loopback(self.host) and not self.names

    def knows(self, host: str, own: str) -> bool:
        """Whether a Host header names us: a page of a stranger whose name was made to lead here does not. `own` is the address on
        this machine that the connection came to: nobody can make a number lead elsewhere."""
        name = _name(host)
        if name is None:
            return False
        known = {self.host.strip("[]").casefold(), *self.names}
        return name in known or (name in _HERE and is_loopback(own)) or (_is_address(name) and name == own.strip("[]"))

    def is_secure(self, headers: Headers) -> bool:
        """Whether the browser came by TLS."""
        return self.is_tls or (self.is_behind_proxy and headers.get("x-forwarded-proto", "").strip().lower() == "https")

    def is_foreign(self, headers: Headers, *, is_safe: bool) -> bool:
        """Whether a request was sent by a page of somebody else. Browsers say so; what is no browser has no cookie to misuse."""
        site = headers.get("sec-fetch-site", "").lower()
        if not is_safe:
            origin = headers.get("origin")
            return (origin is not None and not self._is_own(origin, headers)) or (site != "" and site not in _OURS)
        if not site or site in _OURS:
            return False
        # A link that leads here is followed; a picture, script, frame or fetch of another page gets nothing.
        return headers.get("sec-fetch-mode", "").lower() != "navigate" or headers.get("sec-fetch-dest", "").lower() in _FRAMES

    def _is_own(self, origin: str, headers: Headers) -> bool:
        try:
            theirs, ours = urlsplit(origin), urlsplit(f"//{headers.get('host', '')}")
            ports = theirs.port, ours.port
        except ValueError:
            return False
        scheme = "https" if self.is_secure(headers) else "http"
        is_same_port = len({each or _PORTS[scheme] for each in ports}) == 1
        return theirs.scheme == scheme and theirs.hostname == ours.hostname and is_same_port

    def address(self, headers: Headers, peer: str) -> str:
        """Who asks. A proxy adds the address it was asked from as the last; what stands before that anybody may have written."""
        told = headers.get("x-forwarded-for", "").rpartition(",")[2].strip() if self.is_behind_proxy else ""
        return told if _is_address(told) else peer

    def cookie(self, headers: Headers) -> str:
        """The name of the cookie. Browsers give a cookie of one port to all ports of a host: so it names its own."""
        port = urlsplit(f"//{headers.get('host', '')}").port or ""
        return "__Host-bowerbird" if self.is_secure(headers) else f"bowerbird{port}"


async def check_door(door: Door, database: Database, store: str) -> None:
    """Raises `UserError` where others could come in and nobody has a password."""
    if door.is_private:
        return
    async with database.reading() as tx:
        if await is_anybody_there(tx):
            return
    reached = (
        f"{door.host} can be reached from other machines" if not is_loopback(door.host) else "with --name others can reach it"
    )
    raise UserError(
        f"{reached}, and nobody has a password yet",
        f"add yourself with `{command_line('people', 'add', 'NAME', '--store', store)}`",
        code="needs_password",
    )


def inside(path: str) -> str:
    """Where to go after logging in: a path of ours as it was given, and the first page instead of anything else."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if is_ours and len(path) < 2_000 else "/"


def _name(host: str) -> str | None:
    """The name in a Host header, without its port; None where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        has_more = (
            parts.path or parts.query or parts.fragment or "@" in parts.netloc or (parts.port is not None and parts.port < 1)
        )
        return None if has_more or len(host) > _MOST_LENGTH else (parts.hostname or "").rstrip(".") or None
    except ValueError:
        return None


def _is_address(text: str) -> bool:
    try:
        ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True
