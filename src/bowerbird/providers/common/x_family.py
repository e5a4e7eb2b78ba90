"""What the two APIs of the X network share: how they are set up and signed for, and when a lost stream is tried again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import ClassVar, Self

import msgspec

from bowerbird.model import Ask, Backoff, Channel, Facet, Request, Secret, Wire
from bowerbird.providers.common.asking.oauth import Signer, fresh_nonce
from bowerbird.providers.common.asking.tables import FacetTable, Now, Tables, table_for
from bowerbird.providers.common.snowflakes import FLAKES

LOST = Backoff(first=timedelta(milliseconds=250), most=timedelta(seconds=16), is_linear=True)
REFUSED = Backoff(first=timedelta(seconds=5), most=timedelta(seconds=320))
LIMITED = Backoff(first=timedelta(minutes=1), most=timedelta(minutes=15))
"""The network says no more than "doubling"; longer than a window of its limits is of no use."""

_CLASSIC = frozenset({"id_str", "user", "screen_name"})
_names = msgspec.json.Decoder(dict[str, msgspec.Raw])


def is_classic(raw: bytes) -> bool:
    """Whether a payload is of the classic API: both APIs tell of the same users and posts."""
    return not _CLASSIC.isdisjoint(_names.decode(raw))


class XFamily(ABC):
    """An API of the X network: tables by kind of credential, and bearer tokens or OAuth 1.0a signatures."""

    network: str = "x"
    own_tables: ClassVar[Tables]
    own_order: ClassVar[tuple[str, ...]]
    """Every facet of either table, in the order they are shown in."""
    own_base: ClassVar[str]
    positions: ClassVar[frozenset[str]]
    """Parameters that say where to go on."""

    def __init__(
        self,
        tables: Tables | None = None,
        *,
        now: Now = None,
        base: str = "",
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        self.tables = tables or self.own_tables
        either = {**self.tables["app"], **self.tables["user"]}
        self.facets: FacetTable = {name: either[name] for name in self.own_order}
        self._now, self._base, self._nonce = now, base or self.own_base, nonce

    @classmethod
    def made(cls, now: Now = None, base: str = "") -> Self:
        return cls(now=now, base=base)

    def facets_for(self, kind: str) -> FacetTable:
        """Some facets are for users only, some for applications only."""
        return table_for(self.tables, kind)

    def with_tables(self, tables: Tables) -> Self:
        return type(self)(tables, now=self._now, base=self._base, nonce=self._nonce)

    def sign(self, request: Request, secret: Secret) -> Request:
        """Carries a bearer token where there is one, else signs with OAuth 1.0a."""
        bearer = self.bearer(secret)
        header = f"Bearer {bearer}" if bearer else Signer(self._base, self._now, self._nonce).header(request, secret)
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": header})

    def bearer(self, secret: Secret) -> str | None:
        return secret.values.get("bearer_token")

    @abstractmethod
    def request(self, ask: Ask) -> Request: ...

    def is_paged(self, ask: Ask) -> bool:
        return any(name in self.positions for name, _ in self.request(ask).query)


def line_channel(facet: Facet, options: Mapping[str, str], silence: timedelta, fills: str = "") -> Channel:
    """A stream of posts, one a line, that does not know where the last connection ended."""
    return Channel(
        facet=facet,
        wire=Wire.LINES,
        options=options,
        silence=silence,
        fills=fills,
        key_time=FLAKES,
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
