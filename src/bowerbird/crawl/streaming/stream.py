"""One subscription of one crawl on one service, with everything a connection of it needs."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from bowerbird.model import Channel, Charge, Service, Subscription
from bowerbird.ports import Seeder, StreamProvider


class Stream(Struct, frozen=True, kw_only=True):
    """What a streamer listens to; `stream` is its number in the database, `lane` that of the channel's calls."""

    stream: int
    crawl: int
    me: Callable[[], int]
    """The number of this worker, as it is now."""
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

    def kept_cursor(self, cursor: str | None) -> str | None:
        """The cursor as it is saved: with its host, where it means nothing to any other."""
        return f"{cursor} {self.host.base}" if cursor is not None and self.channel.is_bound else cursor

    def own_cursor(self, kept: str | None) -> str | None:
        """The saved cursor as this host gave it; None where another did."""
        cursor, _, host = (kept or "").partition(" ")
        return cursor if cursor and host in ("", self.host.base) else None

    def other_host(self, kept: str | None) -> str:
        """The host whose cursor was saved, if it is not this one."""
        return "" if kept is None or self.own_cursor(kept) is not None else kept.partition(" ")[2]
