"""Sina Weibo's open API 2.0, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import (
    Answer,
    Area,
    Ask,
    Facet,
    Geography,
    KeptItem,
    Outcome,
    Page,
    Post,
    Request,
    Secret,
    Service,
    Subject,
    Trial,
    User,
)
from bowerbird.providers.base import Now, Provider, Tables
from bowerbird.providers.page import bounded
from bowerbird.providers.weibo import facets, geography, requests, targets
from bowerbird.providers.weibo import keywords as keywords_of
from bowerbird.providers.weibo.door import DOOR
from bowerbird.providers.weibo.reading import outcomes


class Weibo(Provider):
    """Weibo's REST API; ids are `weibo:` and the number, keys the number itself."""

    name = "weibo"
    positions = requests.POSITIONS
    network = "weibo"
    hints = facets.HINTS
    probe_path = DOOR.path
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST
    place_ways: tuple[str, ...] = geography.WAYS

    def __init__(self, tables: Tables | None = None, *, now: Now = None, base: str = "", era: str = facets.CLASSIC) -> None:
        if era not in facets.ERAS:
            raise UserError(f"weibo had no era {era!r}", f"choose one of {', '.join(facets.ERAS)}", code="unknown_name")
        super().__init__(facets.tables(era) if tables is None else tables, now=now, base=base)

    def request(self, ask: Ask) -> Request:
        return bounded(requests.build(ask, self._facet(ask)), ask, self._facet(ask))

    def sign(self, request: Request, secret: Secret) -> Request:
        """Carries the token as a header: as the documented query parameter it would stand in logs and error messages."""
        token = secret.values.get("access_token")
        if not token:
            raise CredentialError(f"credential {secret.name} has no access_token", "add it again with one")
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": f"OAuth2 {token}"})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        # Loaded with the first answer: most commands read none.
        from bowerbird.providers.weibo.reading import parse

        return parse.parse(ask, self._facet(ask), answer)

    def credential_check(self, kind: str) -> Trial:
        """To ask for the limits is free."""
        facet = self.facets_for(kind)["limits"]
        return Trial(facet, self.request(Ask("limits", ("",))))

    def credential_outcome(self, answer: Answer) -> tuple[Outcome, str]:
        found = outcomes.verdict(answer)
        return found.outcome, found.detail

    def is_own_response(self, body: Mapping[str, Any], base_path: str) -> bool:
        return DOOR.is_own(body, base_path)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def geography(self, areas: Sequence[Area], way: str) -> Geography:
        return geography.geography(areas, way)

    def keyword_search(self, keyword: str) -> tuple[str, str] | None:
        return keywords_of.search(keyword)

    def _facet(self, ask: Ask) -> Facet:
        """The facet as the crawl's era has it."""
        return facets.in_era(self.facets[ask.facet], ask.hints.get("era", ""))

    def remap(self, item: KeptItem) -> User | Post | None:
        from bowerbird.providers.weibo.reading import stored

        return stored.stored_user(item) if item.subject is Subject.USER else stored.stored_post(item)
