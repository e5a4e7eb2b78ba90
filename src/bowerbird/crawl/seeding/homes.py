"""Where accounts live, on networks of many servers: complete lists and timelines are to be had at home only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from bowerbird.model import Service


class Home(NamedTuple):
    """The lane that looks a handle up on the account's own server, and the handle as that server knows it."""

    lane: int
    target: str


class HomeServers:
    """The named servers of a crawl by host; a server that is not named has no home here."""

    def __init__(self, lookups: Mapping[str, int]) -> None:
        """`lookups`: by host, the lane that takes handles."""
        self._lookups = lookups

    def away_from(self, service: Service, handle: str | None) -> Home | None:
        """The home of an account seen on another server; None when it is at home there, or its home is not named."""
        name, _, host = (handle or "").removeprefix("@").partition("@")
        lane = self._lookups.get(host.lower())
        return None if lane is None or host.lower() == host_of(service) else Home(lane, f"@{name}")


def host_of(service: Service) -> str:
    return urlsplit(service.base).netloc.lower()
