"""Downloads over real HTTP: bounded, without credentials, and never to where only this machine may go."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import ResolveResult
from aiohttp.test_utils import TestServer

from bowerbird.crawl.http.bounds import Bounds
from bowerbird.crawl.http.media import HttpMedia
from bowerbird.crawl.http.public import PrivateAddressError, PublicResolver
from bowerbird.model import Fetched

BODY = bytes(range(256)) * 400
QUICK = Bounds(total=timedelta(seconds=5), connect=timedelta(seconds=1), read=timedelta(seconds=1))
asked: list[web.Request] = []


async def _picture(request: web.Request) -> web.Response:
    asked.append(request)
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
    app = web.Application()
    routes: dict[str, Any] = {
        "/picture.png": _picture,
        "/endless": _endless,
        "/silent": _silent,
        "/moved": _to("/picture.png"),
        "/round": _to("/round"),
        "/inside": _to("http://127.0.0.1:PORT/picture.png"),
        "/inside-by-name": _to("http://inside.example:PORT/picture.png"),
        "/file": _to("file:///etc/passwd"),
        "/gone": _status(404),
        "/busy": _status(429, retry_after="90"),
        "/packed": _status(200, content_encoding="gzip"),
    }
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    async with TestServer(app, skip_url_asserts=True) as started:
        yield started


class OneHost(PublicResolver):
    """Stands in for the internet: `outside.example` is the test's own server, everything else is judged as always."""

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        if host == "outside.example":
            return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]
        if host == "inside.example":
            raise PrivateAddressError(f"{host} leads to no public address")
        return await super().resolve(host, port, family)


async def fetch(url: str, *, most: int = 10**6, allows_private: bool = False) -> tuple[Fetched, bytes]:
    media, taken = HttpMedia("test", allows_private=allows_private, bounds=QUICK, resolver=OneHost), bytearray()
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
        assert "larger than 70000 bytes" in fetched.failure
        assert len(body) <= 70_000


async def test_redirects_are_followed_a_few_times(server: TestServer) -> None:
    fetched, body = await fetch(f"http://outside.example:{server.port}/moved")
    assert (fetched.failure, body) == ("", BODY)
    fetched, _ = await fetch(f"http://outside.example:{server.port}/round")
    assert "redirects" in fetched.failure


@pytest.mark.parametrize("path", ["inside", "inside-by-name", "file"])
async def test_no_redirect_leads_inside(server: TestServer, path: str) -> None:
    fetched, body = await fetch(f"http://outside.example:{server.port}/{path}")
    assert fetched.is_final
    assert fetched.failure
    assert body == b""
    assert asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "inside.example"])
async def test_private_addresses_are_never_asked(server: TestServer, host: str) -> None:
    fetched, _ = await fetch(f"http://{host}:{server.port}/picture.png")
    assert fetched.is_final
    assert "public address" in fetched.failure
    assert asked == []


async def test_a_crawl_file_may_allow_them_for_tests(server: TestServer) -> None:
    fetched, body = await fetch(f"http://127.0.0.1:{server.port}/picture.png", allows_private=True)
    assert (fetched.failure, body) == ("", BODY)


async def test_refusals_and_silence_may_be_tried_again(server: TestServer) -> None:
    gone, _ = await fetch(f"http://outside.example:{server.port}/gone")
    busy, _ = await fetch(f"http://outside.example:{server.port}/busy")
    silent, _ = await fetch(f"http://outside.example:{server.port}/silent")
    packed, _ = await fetch(f"http://outside.example:{server.port}/packed")
    nobody, _ = await fetch("http://outside.example:1/a.png")
    assert (gone.failure, gone.is_final) == ("HTTP 404", False)
    assert (busy.status, busy.retry_after) == (429, timedelta(seconds=90))
    for each in (silent, packed, nobody):
        assert each.failure
        assert not each.is_final
