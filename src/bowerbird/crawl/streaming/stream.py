"""One subscription of one crawl on one service, with everything a connection of it needs."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model import Channel, Charge, Service, Subscription
from bowerbird.ports import Seeder, StreamProvider


class Stream(Struct, frozen=True, kw_only=True):
    """What a streamer listens to; `stream` is its number in the database, `lane` that of the channel's calls."""

    stream: int
    crawl: int
    worker: int
    lane: int
    wanted: Subscription
    service: Service
    """Whose items it brings."""
    host: Service
    """The same service as the connection reaches it: many networks stream from another host than they answer from."""
    provider: StreamProvider
    seeder: Seeder
    credential: str | None = None
    charges: tuple[Charge, ...] = ()
    """What opening a connection takes from each bucket."""

    @property
    def channel(self) -> Channel:
        return self.provider.channels[self.wanted.channel]

    @property
    def name(self) -> str:
        return self.wanted.name or self.wanted.channel
