"""Hashtags: as they are written, and the form in which two of them are the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence


def tag_form(written: str) -> str:
    """The normal form: small letters, composed. No letter becomes another one: `großbritannien` is not `grossbritannien`."""
    return written.lower() if written.isascii() else unicodedata.normalize("NFC", written.lower())


def tags_by_form(written: Iterable[str]) -> dict[str, str]:
    """Each hashtag once, by its normal form, as it was first written."""
    found: dict[str, str] = {}
    for tag in written:
        found.setdefault(tag_form(tag), tag)
    return found


def tags_once(written: Sequence[str]) -> tuple[str, ...]:
    """Hashtags as they were written, each once."""
    return tuple(tags_by_form(written).values()) if written else ()
