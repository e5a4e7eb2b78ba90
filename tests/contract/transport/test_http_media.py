"""Downloads over real HTTP: bounded, without credentials, and never to where only this machine may go."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from aiohttp.test_utils import TestServer

from bowerbird.model import Fetched
from bowerbird.transport.bounds import Bounds
from bowerbird.transport.media import HttpMedia
from bowerbird.transport.public import PrivateAddressError, PublicSockets, is_public

BODY = bytes(range(256)) * 400
PATIENT = Bounds(total=timedelta(minutes=2), connect=timedelta(minutes=1), read=timedelta(minutes=1))
QUICK = Bounds(total=timedelta(minutes=2), connect=timedelta(minutes=1), read=timedelta(milliseconds=200))
"""For a server that is known to say nothing."""
asked: list[web.Request] = []
reached: list[str] = []
"""At which of the server's own addresses."""


async def _picture(request: web.Request) -> web.Response:
    asked.append(request)
    reached.append(request.get_extra_info("sockname")[0])
    return web.Response(body=BODY, content_type="image/png")


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "video/mp4"})
    await response.prepare(request)
    while True:
        await response.write(BODY)


async def _silent(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(BODY)
    await asyncio.Event().wait()
    return response


def _to(place: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def moved(request: web.Request) -> web.Response:
        port = request.url.port
        return web.Response(status=302, headers={"location": place.replace("PORT", str(port))})

    return moved


def _status(status: int, **headers: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={name.replace("_", "-"): text for name, text in headers.items()})

    return answer


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    asked.clear()
    reached.clear()
    app = web.Application()
    routes: dict[str, Any] = {
        "/picture.png": _picture,
        "/endless": _endless,
        "/silent": _silent,
        "/moved": _to("/picture.png"),
        "/round": _to("/round"),
        "/inside": _to("http://127.0.0.1:PORT/picture.png"),
        "/inside-by-name": _to("http://inside.example:PORT/picture.png"),
        "/inside-in-disguise": _to("http://127\u30020\u30020\u30021:PORT/picture.png"),
        "/file": _to("file:///etc/passwd"),
        "/gone": _status(404),
        "/busy": _status(429, retry_after="90"),
        "/packed": _status(200, content_encoding="gzip"),
    }
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    async with TestServer(app, host="0.0.0.0", skip_url_asserts=True) as started:
        yield started


OUTSIDE = "127.0.0.2"
"""Stands in for the internet: the test's own server, by an address that only here counts as public."""
NAMES = {
    "outside.example": [OUTSIDE],
    "inside.example": ["127.0.0.1"],
    "inside-twice.example": ["127.0.0.1", "10.0.0.1"],
    "both.example": ["127.0.0.1", OUTSIDE],
}


class Phonebook(AbstractResolver):
    """Knows a few names, and looks others up as this machine does."""

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        if host not in NAMES:
            return await ThreadedResolver().resolve(host, port, family)
        return [
            ResolveResult(hostname=host, host=each, port=port, family=socket.AF_INET, proto=0, flags=0) for each in NAMES[host]
        ]

    async def close(self) -> None:
        """Nothing is held open."""


class Rebinding(Phonebook):
    """Answers the first look-up with an address of the internet, and every later one with one of this machine."""

    def __init__(self) -> None:
        self._asked = 0

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        self._asked += 1
        return await super().resolve("outside.example" if self._asked == 1 else "inside.example", port, family)


async def fetch(url: str, *, most: int = 10**6, allows_private: bool = False, bounds: Bounds = PATIENT) -> tuple[Fetched, bytes]:
    sockets = PublicSockets(lambda address: address == OUTSIDE or is_public(address))
    media = HttpMedia("test", allows_private=allows_private, bounds=bounds, resolver=Phonebook, sockets=sockets)
    taken = bytearray()
    try:
        return await media.fetch(url, most, taken.extend), bytes(taken)
    finally:
        await media.close()


async def test_a_picture_comes_whole_with_its_type_and_nothing_secret_is_sent(server: TestServer) -> None:
    fetched, body = await fetch(f"http://outside.example:{server.port}/picture.png")
    assert (fetched, body) == (Fetched(status=200, type="image/png"), BODY)
    assert not {"cookie", "authorization"} & {name.lower() for name in asked[0].headers}


async def test_what_is_too_large_is_given_up_whether_it_says_so_or_not(server: TestServer) -> None:
    for path in ("picture.png", "endless"):
        fetched, body = await fetch(f"http://outside.example:{server.port}/{path}", most=70_000)
        assert fetched.is_final
        assert "70000" in fetched.failure
        assert len(body) <= 70_000


async def test_redirects_are_followed_a_few_times(server: TestServer) -> None:
    fetched, body = await fetch(f"http://outside.example:{server.port}/moved")
    assert (fetched.failure, body) == ("", BODY)
    fetched, _ = await fetch(f"http://outside.example:{server.port}/round")
    assert "3" in fetched.failure, "how many are followed"


@pytest.mark.parametrize("path", ["inside", "inside-by-name", "inside-in-disguise", "file"])
async def test_no_redirect_leads_inside(server: TestServer, path: str) -> None:
    fetched, body = await fetch(f"http://outside.example:{server.port}/{path}")
    assert fetched.is_final
    assert fetched.failure
    assert body == b""
    assert asked == []


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "LocalHost.", "[::1]", "0.0.0.0", "inside.example", "inside-twice.example"),
        # However the same address is written: dots of other scripts, full-width and circled digits, other bases, fewer parts.
        *("127\u30020\u30020\u30021", "127\uff0e0\uff0e0\uff0e1", "127\uff610\uff610\uff611", "\uff11\uff12\uff17.0.0.1"),
        *("\u2460\u2461\u2466.0.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "017700000001", "0177.0.0.1", "127.1", "0"),
        *("127.0.0.1.", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[::1%25lo]", "[64:ff9b::7f00:1]"),
    ],
)
async def test_private_addresses_are_never_asked_however_they_are_written(server: TestServer, host: str) -> None:
    fetched, body = await fetch(f"http://{host}:{server.port}/picture.png")
    assert fetched.failure
    assert (asked, body) == ([], b"")


async def test_what_leads_inside_is_not_tried_again(server: TestServer) -> None:
    for host in ("127.0.0.1", "127\u30020\u30020\u30021", "localhost", "[::1]", "inside-twice.example"):
        fetched, _ = await fetch(f"http://{host}:{server.port}/picture.png")
        assert fetched.is_final
        assert fetched.failure == str(PrivateAddressError())


async def test_of_several_addresses_only_the_public_ones_are_asked(server: TestServer) -> None:
    fetched, body = await fetch(f"http://both.example:{server.port}/picture.png")
    assert (fetched.failure, body) == ("", BODY)
    assert reached == [OUTSIDE]


async def test_a_name_that_is_looked_up_again_and_then_leads_inside_is_refused(server: TestServer) -> None:
    sockets = PublicSockets(lambda address: address == OUTSIDE)
    media = HttpMedia("test", bounds=PATIENT, resolver=Rebinding, sockets=sockets)
    first = await media.fetch(f"http://first.example:{server.port}/picture.png", 10**6, len)
    second = await media.fetch(f"http://second.example:{server.port}/picture.png", 10**6, len)
    await media.close()
    assert (first.failure, len(asked)) == ("", 1)
    assert second.failure == str(PrivateAddressError())


async def test_a_crawl_file_may_allow_them_for_tests(server: TestServer) -> None:
    fetched, body = await fetch(f"http://127.0.0.1:{server.port}/picture.png", allows_private=True)
    assert (fetched.failure, body) == ("", BODY)


async def test_refusals_and_silence_may_be_tried_again(server: TestServer) -> None:
    gone, _ = await fetch(f"http://outside.example:{server.port}/gone")
    busy, _ = await fetch(f"http://outside.example:{server.port}/busy")
    silent, _ = await fetch(f"http://outside.example:{server.port}/silent", bounds=QUICK)
    packed, _ = await fetch(f"http://outside.example:{server.port}/packed")
    nobody, _ = await fetch("http://outside.example:1/a.png")
    assert (gone.failure, gone.is_final) == ("HTTP 404", False)
    assert (busy.status, busy.retry_after) == (429, timedelta(seconds=90))
    for each in (silent, packed, nobody):
        assert each.failure
        assert not each.is_final
