"""XRPC's list answers: one named array of items, each with its own bytes, and an opaque cursor."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from bowerbird.providers.headers import MAX_CURSOR
from bowerbird.providers.items import decoded
from bowerbird.providers.page import REPEATED

STALE = "::"
"""The mark of cursors that the AppView no longer understands: it answers them with an empty list."""


class Listing(Struct, frozen=True):
    items: list[bytes]
    cursor: str | None = None
    subject: bytes = b""
    """The account or list that the answer says it is about."""


def listing(body: bytes, name: str) -> Listing:
    """The items under a name; raises ValueError when the page as a whole cannot be used."""
    page = decoded(_shape(name), body)
    return Listing([bytes(item) for item in page.items], _usable(page.cursor), bytes(page.subject))


def onward(before: str | None, page: Listing) -> tuple[str | None, str]:
    """Where the list goes on: only a missing cursor ends it, a short or empty page does not."""
    if before is not None and STALE in before and not page.items and page.cursor is None:
        raise ValueError("an empty answer to a cursor of the old kind, which says nothing about the list")
    if page.cursor is not None and page.cursor == before:
        return None, REPEATED
    return page.cursor, ""


@cache
def _shape(name: str) -> msgspec.json.Decoder[Any]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        ("items", list[Raw]),
        ("cursor", str | int | None, None),
        ("subject", Raw, Raw(b"")),
    ]
    return msgspec.json.Decoder(msgspec.defstruct("XrpcPage", fields, rename={"items": name}))


def _usable(cursor: str | int | None) -> str | None:
    """The cursor to go on with; one that cannot be sent back must not pass for the end of the list."""
    if cursor is None or cursor == "":
        return None
    text = str(cursor)
    if len(text) > MAX_CURSOR or not text.isprintable():
        raise ValueError("a cursor that cannot be used")
    return text
