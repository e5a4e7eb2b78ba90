"""The pictures of the simulated world, in process: the same bytes for the same address, and a record of who asked how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from urllib.parse import urlsplit

from bowerbird.model import Fetched
from bowerbird.ports import Clock
from bowerbird.simulated.world.hashing import mix, unit

_HOSTS = "simulated.example"
_WAY = timedelta(milliseconds=120)
_START = b"\x89PNG\r\n\x1a\n"


def picture(url: str) -> bytes:
    """What a picture holds: some thousand bytes that follow from its address."""
    seed = sha256(url.encode()).digest()
    return _START + seed * (50 + seed[0])


class Pictures:
    """Implements `ports.MediaTransport` over the world's own hosts; `trouble` is the share of pictures whose first try fails."""

    def __init__(self, clock: Clock, trouble: float = 0.0) -> None:
        self._clock = clock
        self._trouble = trouble
        self.asked: Counter[str] = Counter()
        self.given: Counter[str] = Counter()

    async def fetch(self, url: str, most: int, take: Callable[[bytes], object]) -> Fetched:
        self.asked[url] += 1
        await self._clock.sleep_until(self._clock.now() + _WAY)
        if not (urlsplit(url).hostname or "").endswith(_HOSTS):
            return Fetched(failure="the simulated world has no such host", is_final=True)
        if self.asked[url] == 1 and self._is_troubled(url):
            return Fetched(status=503, failure="HTTP 503")
        body = picture(url)
        if len(body) > most:
            return Fetched(status=200, type="image/png", failure=f"larger than {most} bytes", is_final=True)
        take(body)
        self.given[url] += 1
        return Fetched(status=200, type="image/png")

    async def close(self) -> None:
        """Nothing is held open."""

    def _is_troubled(self, url: str) -> bool:
        return unit(mix(int.from_bytes(sha256(url.encode()).digest()[:6]), 11)) < self._trouble
