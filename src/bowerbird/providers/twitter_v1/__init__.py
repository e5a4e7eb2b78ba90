"""The classic Twitter API v1.1, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    Service,
    Subject,
    Subscription,
    Trial,
    User,
)
from bowerbird.providers.base import StreamReader
from bowerbird.providers.page import bounded
from bowerbird.providers.twitter_v1 import channels, facets, geography, requests, targets
from bowerbird.providers.twitter_v1 import keywords as keywords_of
from bowerbird.providers.twitter_v1.door import DOOR
from bowerbird.providers.twitter_v1.reading import outcomes
from bowerbird.providers.x_shared import XFamily


class TwitterV1(XFamily):
    """Twitter's REST API v1.1 and its streams; ids are `x:` and the number, keys the number itself."""

    name = "twitter_v1"
    hints = facets.HINTS
    probe_path = DOOR.path
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST
    channels: Mapping[str, Channel] = channels.CHANNELS
    place_ways: tuple[str, ...] = geography.WAYS
    default_tables = facets.TABLES
    facet_order = facets.ORDER
    default_base = "https://api.twitter.com"
    positions = requests.POSITIONS

    def request(self, ask: Ask) -> Request:
        return bounded(requests.build(ask, self.facets[ask.facet]), ask, self.facets[ask.facet])

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        # Loaded with the first answer: most commands read none.
        from bowerbird.providers.twitter_v1.reading import parse

        return parse.parse(ask, self.facets[ask.facet], answer)

    def credential_check(self, kind: str) -> Trial:
        """To ask for the limits has a limit of its own."""
        return Trial(facets.LIMITS, Request(path="/1.1/application/rate_limit_status.json"))

    def credential_outcome(self, answer: Answer) -> tuple[Outcome, str]:
        found = outcomes.verdict(answer)
        return found.outcome, found.detail

    def is_own_response(self, body: Mapping[str, Any], base_path: str) -> bool:
        return DOOR.is_own(body, base_path)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        return channels.subscription(channel, options)

    def open(self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
        from bowerbird.providers.twitter_v1 import streams

        return streams.opening(wanted)

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        from bowerbird.providers.twitter_v1 import streams

        return streams.refused(answer)

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> StreamReader:
        from bowerbird.providers.twitter_v1 import streams

        return streams.ClassicListener(self.channels[wanted.channel].facet)

    def fill_targets(self, wanted: Subscription) -> tuple[str, ...]:
        return channels.fill_targets(wanted)

    def geography(self, areas: Sequence[Area], way: str) -> Geography:
        return geography.geography(areas, way)

    def keyword_stream(self, keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream:
        return keywords_of.stream(keywords)

    def keyword_search(self, keyword: str) -> tuple[str, str]:
        return keywords_of.search(keyword)

    def remap(self, item: KeptItem) -> User | Post | None:
        from bowerbird.providers.twitter_v1.reading import stored

        return stored.stored_user(item) if item.subject is Subject.USER else stored.stored_post(item)
