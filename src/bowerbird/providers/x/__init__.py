"""The X API v2, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from bowerbird.model import (
    Answer,
    Area,
    Ask,
    Channel,
    Facet,
    Geography,
    KeptItem,
    KeywordStream,
    Opening,
    Outcome,
    Page,
    Post,
    Request,
    Retuned,
    Secret,
    Service,
    Subject,
    Subscription,
    Trial,
    User,
)
from bowerbird.providers.base import StreamReader
from bowerbird.providers.page import bounded
from bowerbird.providers.x import facets, geography, requests, targets
from bowerbird.providers.x import keywords as keywords_of
from bowerbird.providers.x.door import DOOR
from bowerbird.providers.x.reading import outcomes
from bowerbird.providers.x.streams import channels
from bowerbird.providers.x_shared import XFamily

_NOBODYS_POST = "1"
"""Numbers begin at 20."""


def _unbilled(facet: Facet) -> Facet:
    """The facet without what only its results cost."""
    return structs.replace(facet, limits=tuple(limit for limit in facet.limits if limit.per_call and not limit.is_money))


class XV2(XFamily):
    """X's API v2 in both of its spellings (`tweet`, `post`); ids are `x:` and the number, keys the number itself."""

    name = "x"
    hints = facets.HINTS
    probe_path = DOOR.path
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST
    channels: Mapping[str, Channel] = channels.CHANNELS
    place_ways: tuple[str, ...] = geography.WAYS
    default_tables = facets.TABLES
    facet_order = facets.ORDER
    default_base = "https://api.x.com"
    positions = requests.POSITIONS

    def request(self, ask: Ask) -> Request:
        return bounded(requests.build(ask, self.facets[ask.facet], self.now() if self.now else None), ask, self.facets[ask.facet])

    def bearer(self, secret: Secret) -> str | None:
        """The application's token, or a user's of OAuth 2, which comes alone."""
        values = secret.values
        is_plain = not values.get("consumer_key") and not values.get("access_token_secret")
        return values.get("bearer_token") or (values.get("access_token") if is_plain else None)

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        # Loaded with the first answer: most commands read none.
        from bowerbird.providers.x.reading import parse

        return parse.parse(ask, self.facets[ask.facet], answer)

    def credential_check(self, kind: str) -> Trial | None:
        """The application's usage is told for nothing. A user's token looks up a post that never was: X bills what it returns,
        and there is nothing to return."""
        table = self.facets_for(kind)
        if (usage := table.get("usage")) is not None:
            return Trial(usage, self.request(Ask("usage", ("",))))
        facet = table.get("posts")
        return None if facet is None else Trial(_unbilled(facet), self.request(Ask("posts", (_NOBODYS_POST,))))

    def credential_outcome(self, answer: Answer) -> tuple[Outcome, str]:
        return outcomes.trial(answer)

    def is_own_response(self, body: Mapping[str, Any], base_path: str) -> bool:
        return DOOR.is_own(body, base_path)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        return channels.DESK(channel, options)

    def open(self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
        from bowerbird.providers.x.streams import messages as streams

        return streams.next_step(wanted, answers)

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        from bowerbird.providers.x.streams import messages as streams

        return streams.refused(answer)

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> StreamReader:
        from bowerbird.providers.x.streams import messages as streams

        return streams.XListener(self.channels[wanted.channel].facet, opening.rules)

    def retune(self, before: Subscription, after: Subscription, answers: Sequence[Answer]) -> Request | Retuned | Page | None:
        from bowerbird.providers.x.streams import messages as streams

        return streams.retuned(after, answers)

    def fill_targets(self, wanted: Subscription) -> tuple[str, ...]:
        return channels.fill_targets(wanted)

    def geography(self, areas: Sequence[Area], way: str) -> Geography:
        return geography.geography(areas, way)

    def keyword_stream(self, keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream:
        return keywords_of.stream(keywords)

    def keyword_search(self, keyword: str) -> tuple[str, str]:
        return keywords_of.search(keyword)

    def remap(self, item: KeptItem) -> User | Post | None:
        from bowerbird.providers.x.reading import stored

        return stored.stored_user(item) if item.subject is Subject.USER else stored.stored_post(item)
