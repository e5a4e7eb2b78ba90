"""Mastodon and compatible servers, as pure functions and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bowerbird.errors import CredentialError
from bowerbird.model import Answer, Ask, Channel, Facet, Network, Opening, Page, Request, Secret, Service, Subscription
from bowerbird.ports import Listener
from bowerbird.providers.amounts import bounded
from bowerbird.providers.mastodon import channels, facets, parse, requests, streams, targets
from bowerbird.providers.tables import FacetTable, Tables, table_for


class Mastodon:
    """Mastodon's REST API and its streams; user and post ids are ActivityPub addresses, keys the server's own ids."""

    name = "mastodon"
    network: str = Network.MASTODON
    has_local_keys = True
    """A key means something on its own server alone."""
    hints: Mapping[str, frozenset[str]] = facets.HINTS
    channels: Mapping[str, Channel] = channels.CHANNELS
    secret_fields: Mapping[str, tuple[str, ...]] = {"user": ("access_token",), "app": ("access_token",)}
    """What a secret must hold, by kind of credential."""

    def __init__(self, tables: Tables = facets.TABLES) -> None:
        self.tables = tables
        self.facets = table_for(tables, "user")

    def facets_for(self, kind: str) -> FacetTable:
        return table_for(self.tables, kind)

    def with_tables(self, tables: Tables) -> Mastodon:
        return Mastodon(tables)

    def request(self, ask: Ask) -> Request:
        return bounded(requests.build(ask, self.facets[ask.facet]), ask, self.facets[ask.facet])

    def sign(self, request: Request, secret: Secret) -> Request:
        token = secret.values.get("access_token")
        if not token:
            raise CredentialError(f"credential {secret.name} has no access_token: add it again with one")
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": f"Bearer {token}"})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        return parse.parse(ask, self.facets[ask.facet], answer, service)

    def is_paged(self, ask: Ask) -> bool:
        return any(name in requests.POSITIONS for name, _ in self.request(ask).query)

    def target(self, text: str, facet: Facet) -> str:
        return targets.target(text, facet)

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        return channels.DESK.subscription(channel, options)

    def open(self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
        return streams.opening(wanted)

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        return streams.refused(answer)

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> Listener:
        return streams.MastodonListener(wanted, self.channels[wanted.channel].facet, service)

    def fill_target(self, wanted: Subscription) -> str:
        return channels.fill_target(wanted)
