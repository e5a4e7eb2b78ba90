"""Mastodon and compatible servers, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Self

import msgspec

from bowerbird.errors import CredentialError
from bowerbird.model import (
    Answer,
    Ask,
    Channel,
    Facet,
    Flavour,
    KeywordStream,
    Opening,
    Outcome,
    Page,
    Request,
    Retuned,
    Secret,
    Service,
    Subscription,
    Trial,
)
from bowerbird.ports import Listener
from bowerbird.providers.common.asking.tables import FacetTable, Now, Tables, table_for
from bowerbird.providers.common.reading.amounts import bounded
from bowerbird.providers.mastodon import channels, facets, flavours, registration, requests, survey, targets, trials
from bowerbird.providers.mastodon import keywords as keywords_of
from bowerbird.providers.mastodon.door import DOOR

UNKNOWN = Flavour()
"""A server that was not asked what it is: taken for a Mastodon of today."""


class Mastodon:
    """Mastodon's REST API and its streams; user and post ids are ActivityPub addresses, keys the server's own ids."""

    name = "mastodon"
    network: str = "mastodon"
    hints: Mapping[str, frozenset[str]] = facets.HINTS
    door = DOOR
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST

    def __init__(self, tables: Tables = facets.TABLES, flavour: Flavour = UNKNOWN) -> None:
        self.tables = tables
        self.facets = table_for(tables, "user")
        self.flavour = flavour
        self.channels: Mapping[str, Channel] = flavours.channels(flavour)

    @classmethod
    def made(cls, now: Now = None, base: str = "") -> Self:
        return cls()

    def facets_for(self, kind: str) -> FacetTable:
        return table_for(self.tables, kind)

    def with_tables(self, tables: Tables) -> Mastodon:
        return Mastodon(tables, self.flavour)

    def survey(self, answers: Sequence[Answer]) -> Request | Flavour:
        return survey.survey(answers)

    def flavoured(self, flavour: Flavour) -> Mastodon:
        return Mastodon(flavours.flavoured(self.tables, flavour), flavour)

    def lacks(self, flavour: Flavour) -> Mapping[str, str]:
        return flavours.lacks(flavour)

    def mutes(self, flavour: Flavour) -> Mapping[str, str]:
        return flavours.mutes(flavour)

    def cautions(self, flavour: Flavour, facets: Collection[str]) -> Sequence[str]:
        return tuple(flavours.cautions(flavour, facets))

    def trial(self, kind: str) -> Trial:
        return trials.trial(kind, self.facets_for(kind).get("profile", self.facets["profile"]))

    def tried(self, answer: Answer) -> tuple[Outcome, str]:
        return trials.tried(answer)

    def owner(self, answer: Answer) -> str | None:
        return registration.account(answer)

    def request(self, ask: Ask) -> Request:
        return bounded(requests.build(ask, self.facets[ask.facet]), ask, self.facets[ask.facet])

    def sign(self, request: Request, secret: Secret) -> Request:
        token = secret.values.get("access_token")
        if not token:
            raise CredentialError(f"credential {secret.name} has no access_token: add it again with one")
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": f"Bearer {token}"})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        # Loaded with the first answer: most commands read none.
        from bowerbird.providers.mastodon.reading import parse

        return parse.parse(ask, self.facets[ask.facet], answer, service, self.flavour)

    def is_paged(self, ask: Ask) -> bool:
        return requests.is_paged(ask, self.facets[ask.facet])

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        return channels.DESK.subscription(channel, options)

    def open(self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
        from bowerbird.providers.mastodon import streams

        return streams.opening(wanted)

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        from bowerbird.providers.mastodon import streams

        return streams.refused(answer)

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> Listener:
        from bowerbird.providers.mastodon import streams

        return streams.MastodonListener(wanted, self.channels[wanted.channel].facet, service, self.flavour)

    def retune(self, before: Subscription, after: Subscription, answers: Sequence[Answer]) -> Request | Retuned | Page | None:
        from bowerbird.providers.mastodon import streams

        return streams.retuned(before, after)

    def fill_targets(self, wanted: Subscription) -> tuple[str, ...]:
        return channels.fill_targets(wanted)

    def keyword_stream(self, keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream:
        return keywords_of.stream(keywords, heard)

    def keyword_search(self, keyword: str) -> tuple[str, str]:
        return keywords_of.search(keyword)
