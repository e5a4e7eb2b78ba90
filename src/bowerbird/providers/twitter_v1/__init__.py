"""The classic Twitter API v1.1, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from bowerbird.model import Answer, Ask, Facet, Network, Page, Request, Secret, Service
from bowerbird.providers.oauth import FIELDS, Signer, fresh_nonce
from bowerbird.providers.tables import FacetTable, Tables, table_for
from bowerbird.providers.twitter_v1 import facets, parse, requests, targets


class TwitterV1:
    """Twitter's REST API v1.1; ids are `x:` and the number, keys the number itself."""

    name = "twitter_v1"
    network: str = Network.X
    hints: Mapping[str, frozenset[str]] = facets.HINTS
    secret_fields: Mapping[str, tuple[str, ...]] = {"user": FIELDS, "app": ("bearer_token",)}
    """What a secret usually holds, by kind of credential; a `bearer_token` will do for either."""

    def __init__(
        self,
        tables: Tables = facets.TABLES,
        *,
        now: Callable[[], datetime] | None = None,
        base: str = "https://api.twitter.com",
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        self.tables = tables
        self.facets = table_for(tables, "user")
        self._now, self._base, self._nonce = now, base, nonce

    def facets_for(self, kind: str) -> FacetTable:
        return table_for(self.tables, kind)

    def with_tables(self, tables: Tables) -> TwitterV1:
        return TwitterV1(tables, now=self._now, base=self._base, nonce=self._nonce)

    def request(self, ask: Ask) -> Request:
        return requests.build(ask, self.facets[ask.facet])

    def sign(self, request: Request, secret: Secret) -> Request:
        """Carries the bearer token where there is one, else signs with OAuth 1.0a."""
        bearer = secret.values.get("bearer_token")
        signer = Signer(self._base, self._now, self._nonce)
        header = f"Bearer {bearer}" if bearer else signer.header(request, secret)
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": header})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        return parse.parse(ask, self.facets[ask.facet], answer)

    def is_paged(self, ask: Ask) -> bool:
        return any(name in requests.POSITIONS for name, _ in self.request(ask).query)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)
