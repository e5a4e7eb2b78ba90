"""Addresses as far as a secret may know them: scheme, host and port."""

from __future__ import annotations

import re

# Stricter than any client's own parser, so that none of them can read another host in what passes.
_ORIGIN = re.compile(
    r"(?:(https|wss)|http|ws)://([a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?(?=[/?#]|\Z)",
    re.ASCII | re.IGNORECASE,
)


def origin(address: str) -> str:
    """Scheme, host and port of a web address or a stream's, in one spelling; empty for what names no host beyond doubt."""
    found = _ORIGIN.match(address)
    if found is None:
        return ""
    scheme, usual = ("https", 443) if found[1] else ("http", 80)
    port = int(found[3] or usual)
    return f"{scheme}://{found[2].lower()}" + ("" if port == usual else f":{port}")
