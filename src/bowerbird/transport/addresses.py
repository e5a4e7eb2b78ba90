"""Where a request goes, and headers as we keep them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from yarl import URL

from bowerbird.model import Request, Service

_SAFE = "-._~"
_ASCII = {code: quote(chr(code), safe=_SAFE) for code in range(128)}


def address(service: Service, request: Request) -> str:
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in request.query)
    return service.base + request.path + (f"?{query}" if query else "")


def encoded(url: str) -> URL:
    """The address as it stands: what is quoted in it must not be quoted again."""
    return URL(url, encoded=True)


def _quoted(text: str) -> str:
    # Hundreds of ids may be in one address, and the library takes them apart letter by letter.
    return text.translate(_ASCII) if text.isascii() else quote(text, safe=_SAFE, errors="replace")


def lowered(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers by lower-case name, each value fit for any database."""
    kept: dict[str, str] = {}
    for name, value in headers.items():
        # Undecodable bytes arrive as lone surrogates, which no database stores.
        text = value if value.isascii() else value.encode(errors="surrogateescape").decode(errors="replace")
        key = name.lower()
        kept[key] = f"{kept[key]}, {text}" if key in kept else text
    return kept
