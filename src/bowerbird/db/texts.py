"""Texts that both databases take: whatever a server says may end in a reason, a detail or an error. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any


class Checked(list[tuple[Any, ...]]):
    """Rows in which every text is known to be storable: they are made of a page that was looked at as a whole."""


def storable(values: Sequence[Any]) -> Sequence[Any]:
    """The same values, with NUL characters left out of texts and `?` for lone surrogates: neither can be stored everywhere."""
    for value in values:
        kind = type(value)
        # Most texts are ASCII, which Python knows without looking.
        if (kind is str and ("\0" in value or not value.isascii())) or kind is list:
            return values if _fit(values) else [_mended(value) for value in values]
    return values


def all_storable(rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """The same for many rows: they are looked at together, because nearly always all of them fit."""
    if isinstance(rows, Checked) or _fit(list(chain.from_iterable(rows))):
        return rows
    return [storable(row) for row in rows]


def _fit(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    if str in kinds and not _is_plain([value for value in values if type(value) is str]):
        return False
    return list not in kinds or all(_fit(value) for value in values if type(value) is list)


def _is_plain(texts: Sequence[str]) -> bool:
    try:
        # One by one and not as one text: a single emoji would make four bytes of every letter.
        return b"\0" not in b"".join(map(str.encode, texts))
    except UnicodeEncodeError:
        return False


def _mended(value: Any) -> Any:
    if isinstance(value, list):
        return [_mended(each) for each in value]
    return value.replace("\0", "").encode(errors="replace").decode() if isinstance(value, str) else value
