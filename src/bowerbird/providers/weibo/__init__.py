"""Sina Weibo's open API 2.0, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import (
    Answer,
    Area,
    Ask,
    Facet,
    Geography,
    KeywordStream,
    Outcome,
    Page,
    Request,
    Secret,
    Service,
    Subscription,
    Trial,
)
from bowerbird.providers.common.asking.tables import FacetTable, Now, Tables, table_for
from bowerbird.providers.common.reading.amounts import bounded
from bowerbird.providers.weibo import facets, geography, requests, targets
from bowerbird.providers.weibo import keywords as keywords_of
from bowerbird.providers.weibo.door import DOOR
from bowerbird.providers.weibo.reading import outcomes


class Weibo:
    """Weibo's REST API; ids are `weibo:` and the number, keys the number itself."""

    name = "weibo"
    network: str = "weibo"
    hints: Mapping[str, frozenset[str]] = facets.HINTS
    door = DOOR
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST
    place_ways: tuple[str, ...] = geography.WAYS

    def __init__(self, tables: Tables | None = None, *, era: str = facets.CLASSIC) -> None:
        if era not in facets.ERAS:
            raise UserError(f"weibo had no era {era!r}; choose one of {', '.join(facets.ERAS)}")
        self.tables = facets.tables(era) if tables is None else tables
        self.facets = table_for(self.tables, "user")

    @classmethod
    def made(cls, now: Now = None, base: str = "") -> Self:
        return cls()

    def facets_for(self, kind: str) -> FacetTable:
        return table_for(self.tables, kind)

    def with_tables(self, tables: Tables) -> Weibo:
        return Weibo(tables)

    def request(self, ask: Ask) -> Request:
        return bounded(requests.build(ask, self._facet(ask)), ask, self._facet(ask))

    def sign(self, request: Request, secret: Secret) -> Request:
        """Carries the token as a header: as the documented query parameter it would stand in logs and error messages."""
        token = secret.values.get("access_token")
        if not token:
            raise CredentialError(f"credential {secret.name} has no access_token: add it again with one")
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": f"OAuth2 {token}"})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        # Loaded with the first answer: most commands read none.
        from bowerbird.providers.weibo.reading import parse

        return parse.parse(ask, self._facet(ask), answer)

    def trial(self, kind: str) -> Trial:
        """To ask for the limits is free."""
        facet = self.facets_for(kind)["limits"]
        return Trial(facet, self.request(Ask("limits", ("",))))

    def tried(self, answer: Answer) -> tuple[Outcome, str]:
        found = outcomes.verdict(answer)
        return found.outcome, found.detail

    def is_paged(self, ask: Ask) -> bool:
        return any(name in requests.POSITIONS for name, _ in self.request(ask).query)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def geography(self, areas: Sequence[Area], way: str) -> Geography:
        return geography.geography(areas, way)

    def keyword_stream(self, keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream | None:
        return None

    def keyword_search(self, keyword: str) -> tuple[str, str] | None:
        return keywords_of.search(keyword)

    def _facet(self, ask: Ask) -> Facet:
        """The facet as the crawl's era has it."""
        return facets.in_era(self.facets[ask.facet], ask.hints.get("era", ""))
