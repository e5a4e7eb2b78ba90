"""Texts that both databases take: whatever a server says may end in a reason, a detail or an error. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def storable(values: Sequence[Any]) -> Sequence[Any]:
    """The same values, with NUL characters left out of texts and `?` for lone surrogates: neither can be stored everywhere."""
    return values if all(map(_fits, values)) else [_mended(value) for value in values]


def _fits(value: Any) -> bool:
    if type(value) is not str:
        return type(value) is not list or all(map(_fits, value))
    if "\0" in value:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mended(value: Any) -> Any:
    if isinstance(value, list):
        return [_mended(each) for each in value]
    return value.replace("\0", "").encode(errors="replace").decode() if isinstance(value, str) else value
