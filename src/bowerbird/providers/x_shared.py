"""What the two APIs of the X network share: how they are set up and signed for, and when a lost stream is tried again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import ClassVar

import msgspec

from bowerbird.model import Backoff, Channel, Facet, Request, Secret, Wire
from bowerbird.providers.base import Now, Provider, Tables
from bowerbird.providers.oauth import Signer, fresh_nonce
from bowerbird.providers.page import SNOWFLAKES

LOST = Backoff(first=timedelta(milliseconds=250), most=timedelta(seconds=16), is_linear=True)
REFUSED = Backoff(first=timedelta(seconds=5), most=timedelta(seconds=320))
LIMITED = Backoff(first=timedelta(minutes=1), most=timedelta(minutes=15))
"""The network says no more than "doubling"; longer than a window of its limits is of no use."""

_CLASSIC = frozenset({"id_str", "user", "screen_name"})
_names = msgspec.json.Decoder(dict[str, msgspec.Raw])


def is_classic(raw: bytes) -> bool:
    """Whether a payload is of the classic API: both APIs tell of the same users and posts."""
    return not _CLASSIC.isdisjoint(_names.decode(raw))


class XFamily(Provider):
    """An API of the X network: bearer tokens or OAuth 1.0a signatures."""

    network = "x"
    facet_order: ClassVar[tuple[str, ...]]
    """The facets of both tables in the order of the documentation."""

    def __init__(
        self,
        tables: Tables | None = None,
        *,
        now: Now = None,
        base: str = "",
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        self._nonce = nonce
        super().__init__(tables, now=now, base=base)

    def _set_tables(self, tables: Tables) -> None:
        # Some facets are for users only, some for applications only.
        either = {**tables["app"], **tables["user"]}
        self.tables, self.facets = tables, {name: either[name] for name in self.facet_order}

    def sign(self, request: Request, secret: Secret) -> Request:
        """Carries a bearer token where there is one, else signs with OAuth 1.0a."""
        bearer = self.bearer(secret)
        header = (
            f"Bearer {bearer}"
            if bearer
            else Signer(self.base, self.now, self._nonce).header(request, secret)
        )
        return msgspec.structs.replace(
            request, headers={**request.headers, "authorization": header}
        )

    def bearer(self, secret: Secret) -> str | None:
        return secret.values.get("bearer_token")


def line_channel(
    facet: Facet, options: Mapping[str, str], silence: timedelta, fills: str = ""
) -> Channel:
    """A stream of posts, one a line, that does not know where the last connection ended."""
    return Channel(
        facet=facet,
        wire=Wire.LINES,
        options=options,
        silence=silence,
        fills=fills,
        key_time=SNOWFLAKES,
        lost=LOST,
        refused=REFUSED,
        limited=LIMITED,
    )


def any_of(queries: Sequence[str], longest: int) -> tuple[str, ...]:
    """The searches that find what any of the queries finds, as few as may hold them; none when one alone is too long."""
    found: list[list[str]] = []
    for query in queries:
        if found and len(_joined([*found[-1], query])) <= longest:
            found[-1].append(query)
        else:
            found.append([query])
    searches = tuple(map(_joined, found))
    return searches if all(len(search) <= longest for search in searches) else ()


def _joined(queries: Sequence[str]) -> str:
    return queries[0] if len(queries) == 1 else " OR ".join(f"({query})" for query in queries)


_HOST = r"https?://(?:www\.|mobile\.)?(?:twitter|x)\.com"


class Names:
    """Reads what was written for an account or a post; each reader answers None for what it does not understand."""

    def __init__(self, *, digits: int, letters: int) -> None:
        key, handle = rf"\d{{1,{digits}}}", rf"\w{{1,{letters}}}"
        self._key = re.compile(rf"(?:x:)?({key})", re.ASCII)
        self._handle = re.compile(rf"@?({handle})", re.ASCII)
        self._profile = re.compile(rf"{_HOST}/@?({handle})/?(?:\?.*)?", re.ASCII)
        self._post = re.compile(
            rf"{_HOST}/(?:{handle}|i/web)/status(?:es)?/({key})/?(?:[?/].*)?", re.ASCII
        )
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
