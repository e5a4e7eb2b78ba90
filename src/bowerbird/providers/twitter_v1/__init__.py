"""The classic Twitter API v1.1, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bowerbird.model import (
    Answer,
    Area,
    Ask,
    Channel,
    Facet,
    Geography,
    KeywordStream,
    Opening,
    Outcome,
    Page,
    Request,
    Retuned,
    Service,
    Subscription,
    Trial,
)
from bowerbird.ports import Listener
from bowerbird.providers.common.reading.amounts import bounded
from bowerbird.providers.common.x_family import XFamily
from bowerbird.providers.twitter_v1 import channels, facets, geography, requests, targets
from bowerbird.providers.twitter_v1 import keywords as keywords_of
from bowerbird.providers.twitter_v1.door import DOOR
from bowerbird.providers.twitter_v1.reading import outcomes


class TwitterV1(XFamily):
    """Twitter's REST API v1.1 and its streams; ids are `x:` and the number, keys the number itself."""

    name = "twitter_v1"
    hints: Mapping[str, frozenset[str]] = facets.HINTS
    door = DOOR
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST
    channels: Mapping[str, Channel] = channels.CHANNELS
    place_ways: tuple[str, ...] = geography.WAYS
    own_tables = facets.TABLES
    own_order = facets.ORDER
    own_base = "https://api.twitter.com"
    positions = requests.POSITIONS

    def request(self, ask: Ask) -> Request:
        return bounded(requests.build(ask, self.facets[ask.facet]), ask, self.facets[ask.facet])

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        # Loaded with the first answer: most commands read none.
        from bowerbird.providers.twitter_v1.reading import parse

        return parse.parse(ask, self.facets[ask.facet], answer)

    def trial(self, kind: str) -> Trial:
        """To ask for the limits has a limit of its own."""
        return Trial(facets.LIMITS, Request(path="/1.1/application/rate_limit_status.json"))

    def tried(self, answer: Answer) -> tuple[Outcome, str]:
        found = outcomes.verdict(answer)
        return found.outcome, found.detail

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

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> Listener:
        from bowerbird.providers.twitter_v1 import streams

        return streams.ClassicListener(self.channels[wanted.channel].facet)

    def retune(self, before: Subscription, after: Subscription, answers: Sequence[Answer]) -> Request | Retuned | Page | None:
        """Words are part of how a stream is opened: only another connection hears others."""
        return None

    def fill_targets(self, wanted: Subscription) -> tuple[str, ...]:
        return channels.fill_targets(wanted)

    def geography(self, areas: Sequence[Area], way: str) -> Geography:
        return geography.geography(areas, way)

    def keyword_stream(self, keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream:
        return keywords_of.stream(keywords)

    def keyword_search(self, keyword: str) -> tuple[str, str]:
        return keywords_of.search(keyword)
