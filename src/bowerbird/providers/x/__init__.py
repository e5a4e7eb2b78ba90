"""The X API v2, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from bowerbird.model import Answer, Ask, Facet, Network, Page, Request, Secret, Service
from bowerbird.providers.oauth import FIELDS, Signer, fresh_nonce
from bowerbird.providers.tables import FacetTable, Tables, table_for
from bowerbird.providers.x import facets, parse, requests, targets


class XV2:
    """X's API v2 in both of its spellings (`tweet`, `post`); ids are `x:` and the number, keys the number itself."""

    name = "x"
    network: str = Network.X
    hints: Mapping[str, frozenset[str]] = facets.HINTS
    secret_fields: Mapping[str, tuple[str, ...]] = {"user": FIELDS, "app": ("bearer_token",)}
    """What a secret usually holds, by kind of credential; a user's may also be an OAuth 2 `access_token` alone."""

    def __init__(
        self,
        tables: Tables = facets.TABLES,
        *,
        now: Callable[[], datetime] | None = None,
        base: str = "https://api.x.com",
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        self.tables = tables
        either = {**tables["app"], **tables["user"]}
        self.facets: FacetTable = {name: either[name] for name in facets.ORDER}
        self._now, self._base, self._nonce = now, base, nonce

    def facets_for(self, kind: str) -> FacetTable:
        """Some facets are for users only, some for applications only."""
        return table_for(self.tables, kind)

    def with_tables(self, tables: Tables) -> XV2:
        return XV2(tables, now=self._now, base=self._base, nonce=self._nonce)

    def request(self, ask: Ask) -> Request:
        return requests.build(ask, self.facets[ask.facet], self._now() if self._now else None)

    def sign(self, request: Request, secret: Secret) -> Request:
        """Carries a bearer token (the application's, or a user's of OAuth 2) where there is one, else signs with OAuth 1.0a."""
        values = secret.values
        is_plain = not values.get("consumer_key") and not values.get("access_token_secret")
        bearer = values.get("bearer_token") or (values.get("access_token") if is_plain else None)
        header = f"Bearer {bearer}" if bearer else Signer(self._base, self._now, self._nonce).header(request, secret)
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": header})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        return parse.parse(ask, self.facets[ask.facet], answer)

    def is_paged(self, ask: Ask) -> bool:
        return any(name in requests.POSITIONS for name, _ in self.request(ask).query)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)
