"""Texts that both databases take: whatever a server says may end in a reason, a detail or an error. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any


def storable(values: Sequence[Any]) -> Sequence[Any]:
    """The same values, with NUL characters left out of texts and `?` for lone surrogates: neither can be stored everywhere."""
    return values if _fit(values) else [_mended(value) for value in values]


def all_storable(rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """The same for many rows: they are looked at together, because nearly always all of them fit."""
    return rows if _fit(list(chain.from_iterable(rows))) else [storable(row) for row in rows]


def _fit(values: Sequence[Any]) -> bool:
    texts = "".join([value for value in values if type(value) is str])
    return _is_plain(texts) and all(_fit(value) for value in values if type(value) is list)


def _is_plain(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _mended(value: Any) -> Any:
    if isinstance(value, list):
        return [_mended(each) for each in value]
    return value.replace("\0", "").encode(errors="replace").decode() if isinstance(value, str) else value
