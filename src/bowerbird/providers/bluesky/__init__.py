"""Bluesky: the AppView, and the PDS behind it, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from bowerbird.model import (
    Answer,
    Ask,
    Channel,
    Facet,
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
from bowerbird.providers.bluesky import facets, requests, sessions, streams, targets
from bowerbird.providers.bluesky import keywords as keywords_of
from bowerbird.providers.bluesky.door import DOOR
from bowerbird.providers.bluesky.reading import outcomes
from bowerbird.providers.bluesky.streams import positions
from bowerbird.providers.common.asking.tables import FacetTable, Now, Tables, table_for
from bowerbird.providers.common.reading.amounts import LARGEST_REPO, bounded

_ANYBODY = "bsky.app"


class Bluesky:
    """The AT Protocol's XRPC queries; ids and keys are DIDs and at-uris, handles are never ids."""

    name = "bluesky"
    network: str = "bluesky"
    hints: Mapping[str, frozenset[str]] = facets.HINTS
    door = DOOR
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST
    channels: Mapping[str, Channel] = streams.CHANNELS
    session_limits = facets.SESSION_LIMITS
    """What logging in costs."""

    def __init__(self, tables: Tables = facets.TABLES, *, now: Now = None) -> None:
        """`now`: what the times of streams are held against, so that none leads us ahead of the present."""
        self._now = now
        self.tables = tables
        self.facets = table_for(tables, "user")

    @classmethod
    def made(cls, now: Now = None, base: str = "") -> Self:
        return cls(now=now)

    def facets_for(self, kind: str) -> FacetTable:
        return table_for(self.tables, kind)

    def with_tables(self, tables: Tables) -> Bluesky:
        return Bluesky(tables, now=self._now)

    def request(self, ask: Ask) -> Request:
        built = requests.build(ask, self.facets[ask.facet])
        # A whole repository is one answer.
        most = LARGEST_REPO if ask.facet == "repo" else None
        return bounded(built, ask, self.facets[ask.facet], most)

    def sign(self, request: Request, secret: Secret) -> Request:
        return sessions.signed(request, secret)

    def needs_login(self, secret: Secret) -> bool:
        return sessions.needs_login(secret)

    def has_session(self, secret: Secret) -> bool:
        return sessions.has_session(secret)

    def login(self, secret: Secret) -> Request:
        return sessions.login(secret)

    def refresh(self, secret: Secret) -> Request:
        return sessions.refresh(secret)

    def session(self, secret: Secret, answer: Answer) -> Secret | None:
        return sessions.session(secret, answer)

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        # Loaded with the first answer: most commands read none.
        from bowerbird.providers.bluesky.reading import parse

        return parse.parse(ask, self.facets[ask.facet], answer)

    def trial(self, kind: str) -> Trial:
        """Everybody's profile does: a token that is not taken is refused before anything else is looked at."""
        return Trial(self.facets["profile"], self.request(Ask("profile", (_ANYBODY,))))

    def tried(self, answer: Answer) -> tuple[Outcome, str]:
        return outcomes.outcome(answer)

    def is_paged(self, ask: Ask) -> bool:
        return any(name == "cursor" for name, _ in self.request(ask).query)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        return streams.subscription(channel, options)

    def open(self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
        return streams.opened(wanted, positions.in_time(cursor, wanted.channel, self._now), answers)

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        return streams.refused(answer)

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> Listener:
        return streams.listener(wanted, opening, positions.in_time(cursor, wanted.channel, self._now), self._now)

    def retune(self, before: Subscription, after: Subscription, answers: Sequence[Answer]) -> Request | Retuned | Page | None:
        return streams.retuned(before, after)

    def fill_targets(self, wanted: Subscription) -> tuple[str, ...]:
        """Nothing: these streams go back by themselves, and what lies further back no facet lists."""
        return ()

    def keyword_stream(self, keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream:
        return keywords_of.stream(keywords)

    def keyword_search(self, keyword: str) -> tuple[str, str]:
        return keywords_of.search(keyword)
