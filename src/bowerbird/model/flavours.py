"""What a server that speaks a network's dialect is, and what it can really do."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class NotOffered(Struct, frozen=True):
    """A kind of question that a server turned out not to answer: in its own words, and when."""

    words: str
    at: datetime


class ServerInfo(Struct, frozen=True, kw_only=True):
    """What is known of one server: what it said of itself, and what it refused."""

    software: str = ""
    """Its name in lower case (`mastodon`, `gotosocial`); empty: it did not say, and is taken for the network's own software."""
    version: str = ""
    streaming: str = ""
    """Where it streams from, as scheme and host; empty: it did not say."""
    access: dict[str, str] = {}
    """Timelines that are not open to everybody: by name (`hashtag_feeds.remote`) `authenticated` or `disabled`."""
    refused: dict[str, NotOffered] = {}
    """By facet: what calls found out."""

    @property
    def title(self) -> str:
        """Software and version, for sentences; empty when unknown."""
        return f"{self.software} {self.version}".strip() if self.software else ""
