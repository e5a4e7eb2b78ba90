"""Bluesky: the AppView, and the PDS behind it, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bowerbird.model import (
    Answer,
    Ask,
    Channel,
    Facet,
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
from bowerbird.providers.base import Provider, StreamReader
from bowerbird.providers.bluesky import facets, requests, sessions, streams, targets
from bowerbird.providers.bluesky import keywords as keywords_of
from bowerbird.providers.bluesky.door import DOOR
from bowerbird.providers.bluesky.reading import outcomes
from bowerbird.providers.bluesky.requests import LARGEST_REPO
from bowerbird.providers.bluesky.streams import positions
from bowerbird.providers.page import bounded

_ANYBODY = "bsky.app"


class Bluesky(Provider):
    """The AT Protocol's XRPC queries; ids and keys are DIDs and at-uris, handles are never ids."""

    name = "bluesky"
    network = "bluesky"
    hints = facets.HINTS
    probe_path = DOOR.path
    keyword_ways: tuple[str, ...] = keywords_of.WAYS
    most_keywords = keywords_of.MOST
    channels: Mapping[str, Channel] = streams.CHANNELS
    default_tables = facets.TABLES
    session_limits = facets.SESSION_LIMITS
    """What logging in costs."""

    def request(self, ask: Ask) -> Request:
        built = requests.build(ask, self.facets[ask.facet])
        # A whole repository is one answer.
        most = LARGEST_REPO if ask.facet == "repo" else 0
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

    def credential_check(self, kind: str) -> Trial:
        """Everybody's profile does: a token that is not taken is refused before anything else is looked at."""
        return Trial(self.facets["profile"], self.request(Ask("profile", (_ANYBODY,))))

    def credential_outcome(self, answer: Answer) -> tuple[Outcome, str]:
        return outcomes.outcome(answer)

    def is_own_response(self, body: Mapping[str, Any], base_path: str) -> bool:
        return DOOR.is_own(body, base_path)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        return streams.subscription(channel, options)

    def open(self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
        return streams.opened(wanted, positions.in_time(cursor, wanted.channel, self.now), answers)

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        return streams.refused(answer)

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> StreamReader:
        return streams.listener(wanted, opening, positions.in_time(cursor, wanted.channel, self.now), self.now)

    def retune(self, before: Subscription, after: Subscription, answers: Sequence[Answer]) -> Request | Retuned | Page | None:
        return streams.retuned(before, after)

    def keyword_stream(self, keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream:
        return keywords_of.stream(keywords)

    def keyword_search(self, keyword: str) -> tuple[str, str]:
        return keywords_of.search(keyword)

    def remap(self, item: KeptItem) -> User | Post | None:
        from bowerbird.providers.bluesky.reading import stored

        return stored.stored_user(item) if item.subject is Subject.USER else stored.stored_post(item)
