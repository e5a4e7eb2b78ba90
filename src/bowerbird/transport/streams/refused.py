"""An answer where a live connection was wanted."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from bowerbird.transport.bodies import Body, Room
from bowerbird.transport.bounds import Bounds


class Refused(Exception):
    """The server answered instead of opening a stream; carries that answer."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body


async def refusal(response: aiohttp.ClientResponse, bounds: Bounds) -> Refused:
    """The whole answer as an error to raise; its connection is given up."""
    try:
        return Refused(response.status, response.headers, await Body(Room(bounds.refusal), bounds).read(response, bounds.refusal))
    finally:
        response.close()
