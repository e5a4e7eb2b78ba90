"""Ids, handles and addresses of the X network, as people write them."""

from __future__ import annotations

import re

_HOST = r"https?://(?:www\.|mobile\.)?(?:twitter|x)\.com"


class Names:
    """Reads what was written for an account or a post; each reader answers None for what it does not understand."""

    def __init__(self, *, digits: int, letters: int) -> None:
        key, handle = rf"\d{{1,{digits}}}", rf"\w{{1,{letters}}}"
        self._key = re.compile(rf"(?:x:)?({key})", re.ASCII)
        self._handle = re.compile(rf"@?({handle})", re.ASCII)
        self._profile = re.compile(rf"{_HOST}/@?({handle})/?(?:\?.*)?", re.ASCII)
        self._post = re.compile(rf"{_HOST}/(?:{handle}|i/web)/status(?:es)?/({key})/?(?:[?/].*)?", re.ASCII)
        self._list = re.compile(rf"{_HOST}/i/lists/({key})/?(?:\?.*)?", re.ASCII)

    def key(self, written: str) -> str | None:
        return _first(written, self._key)

    def handle(self, written: str) -> str | None:
        """Without the @, also out of a profile's address."""
        return _first(written, self._profile, self._handle)

    def post(self, written: str) -> str | None:
        return _first(written, self._key, self._post)

    def list(self, written: str) -> str | None:
        return _first(written, self._key, self._list)


def _first(written: str, *patterns: re.Pattern[str]) -> str | None:
    return next((found[1] for pattern in patterns if (found := pattern.fullmatch(written))), None)
