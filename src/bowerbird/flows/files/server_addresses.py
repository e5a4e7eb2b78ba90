"""Addresses of servers, as against those of their pages, which people copy instead."""

from __future__ import annotations

from urllib.parse import urlsplit

_PAGES = frozenset({"about", "explore", "home", "n", "profile", "public", "search", "settings", "tags", "u", "users", "web"})
"""What the addresses of pages begin with, on one network or another."""
_ROUTES = frozenset({"1.1", "2", "api", "api/v1", "api/v2", "xrpc"})
"""What comes after a server's own address in every question: bowerbird writes it."""


def meant_root(base: str) -> str:
    """The server's own address, where a base is that of a page or a part of its API; empty where it may be right."""
    parts = urlsplit(base)
    path = parts.path.strip("/")
    first = path.partition("/")[0]
    is_page = first.startswith("@") or first in _PAGES or path in _ROUTES or bool(parts.query or parts.fragment)
    return f"{parts.scheme}://{parts.netloc}" if is_page else ""
