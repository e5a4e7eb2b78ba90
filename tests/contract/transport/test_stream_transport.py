"""Live connections against a real server on loopback: messages come as they were sent, and every end says why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer

from bowerbird.clock import RealClock
from bowerbird.model import Answer, Ended, Request, Service, Wire
from bowerbird.ports import Connection
from bowerbird.transport import Bounds, HttpTransport
from bowerbird.transport.streams.cutting import Events, Lines, OverlongError

CLOCK = RealClock()
SMALL = Bounds(body=10_000, message=20_000, total=timedelta(seconds=10), connect=timedelta(seconds=5))
SOON = timedelta(seconds=5)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Speech = Callable[[web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def opened(handler: Handler, wire: Wire, request: Request | None = None) -> AsyncIterator[Connection | Answer]:
    """What comes of connecting to a server that answers everything with `handler`."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    transport = HttpTransport(CLOCK, "bowerbird/1 ({provider})", bounds=SMALL)
    async with TestServer(app) as server:
        service = Service(name="s", provider="mastodon", base=f"http://127.0.0.1:{server.port}")
        got = await transport.connect(service, request or Request(path="/stream"), wire)
        try:
            yield got
        finally:
            if not isinstance(got, Answer):
                await got.close()
            await transport.close()


def connection(got: Connection | Answer) -> Connection:
    assert not isinstance(got, Answer), got
    return got


async def everything(got: Connection | Answer) -> tuple[list[bytes], Ended]:
    """All messages up to the end of the connection."""
    messages: list[bytes] = []
    while True:
        received = await connection(got).receive(CLOCK.now() + SOON)
        if isinstance(received, Ended):
            return messages, received
        messages += received


def socket(speech: Speech) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.WebSocketResponse(autoping=False)
        await response.prepare(request)
        await speech(response)
        return response

    return handler


def written(*pieces: bytes, content_type: str = "text/event-stream", is_cut: bool = False) -> Handler:
    """A server that writes these pieces one by one and ends in order, or breaks the connection."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0)
        if is_cut:
            assert request.transport is not None
            request.transport.abort()
        return response

    return handler


# -- WebSocket --------------------------------------------------------------------------------------------------------


async def test_text_and_binary_messages_come_as_bytes_in_order() -> None:
    async def speech(server: web.WebSocketResponse) -> None:
        await server.send_str("ä")
        await server.send_bytes(b"\x00\xff")
        await server.close(code=1001, message=b"shutdown")

    async with opened(socket(speech), Wire.WEBSOCKET) as got:
        assert await everything(got) == (["ä".encode(), b"\x00\xff"], Ended("shutdown", 1001))


async def test_a_burst_is_received_in_few_pieces() -> None:
    async def speech(server: web.WebSocketResponse) -> None:
        for number in range(5_000):
            await server.send_str(f"message {number}")
        await server.close()

    async with opened(socket(speech), Wire.WEBSOCKET) as got:
        pieces, messages = 0, list[bytes]()
        while not isinstance(received := await connection(got).receive(CLOCK.now() + SOON), Ended):
            pieces += 1
            messages += received
    assert messages == [b"message %d" % number for number in range(5_000)]
    assert pieces < 1_000


async def test_the_server_sees_our_headers_and_the_greetings() -> None:
    async def speech(server: web.WebSocketResponse) -> None:
        greeting = await server.receive()
        await server.send_str(f"{greeting.type.name} {greeting.data}")
        await server.close()

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == "Bearer t"
        assert "Sec-WebSocket-Extensions" not in request.headers
        assert str(request.rel_url) == "/stream?tag=caf%C3%A9"
        return await socket(speech)(request)

    request = Request(path="/stream", query=(("tag", "café"),), headers={"authorization": "Bearer t"})
    async with opened(handler, Wire.WEBSOCKET, request) as got:
        await connection(got).send(b'{"type":"subscribe"}')
        assert (await everything(got))[0] == [b'TEXT {"type":"subscribe"}']


async def test_a_ping_is_answered_and_is_a_sign_of_life() -> None:
    async def speech(server: web.WebSocketResponse) -> None:
        await server.ping(b"you?")
        answer = await server.receive()
        await server.send_str(f"{answer.type.name} {answer.data.decode()}")
        await server.close()

    async with opened(socket(speech), Wire.WEBSOCKET) as got:
        assert (await everything(got))[0] == [b"", b"PONG you?"]


async def test_a_silent_server_that_lives_answers_our_ping() -> None:
    async def speech(server: web.WebSocketResponse) -> None:
        while (message := await server.receive()).type is WSMsgType.PING:
            await server.pong(message.data)

    async with opened(socket(speech), Wire.WEBSOCKET) as got:
        assert await connection(got).receive(CLOCK.now() + timedelta(seconds=2)) == [b""]


@pytest.mark.parametrize("wire", [Wire.WEBSOCKET, Wire.EVENTS, Wire.LINES])
async def test_a_dead_server_is_noticed_when_the_time_is_over(wire: Wire) -> None:
    dead = asyncio.Event()

    async def speech(_: web.WebSocketResponse) -> None:
        await dead.wait()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await dead.wait()
        return response

    async with opened(socket(speech) if wire is Wire.WEBSOCKET else handler, wire) as got:
        assert not await connection(got).receive(CLOCK.now() + timedelta(milliseconds=50))
        dead.set()


async def test_a_message_larger_than_the_bound_ends_the_connection() -> None:
    async def speech(server: web.WebSocketResponse) -> None:
        await server.send_bytes(b"x" * 20_001)
        await server.receive()

    async with opened(socket(speech), Wire.WEBSOCKET) as got:
        messages, ended = await everything(got)
    assert (messages, ended.status) == ([], 1009)


async def test_a_connection_that_breaks_says_so() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.WebSocketResponse()
        await response.prepare(request)
        await response.send_str("last words")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with opened(handler, Wire.WEBSOCKET) as got:
        messages, ended = await everything(got)
    assert messages == [b"last words"]
    assert ended.reason


async def test_who_does_not_receive_makes_the_server_wait() -> None:
    sent = 0

    async def speech(server: web.WebSocketResponse) -> None:
        nonlocal sent
        for _ in range(2_000):
            await server.send_bytes(b"x" * 19_000)
            sent += 1
        await server.close()

    async with opened(socket(speech), Wire.WEBSOCKET) as got:
        before = -1
        while sent != before:
            before = sent
            for _ in range(500):
                await asyncio.sleep(0)
        messages, _ = await everything(got)
    assert before < 2_000
    assert len(messages) == 2_000


# -- answers instead of a stream --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", [Wire.WEBSOCKET, Wire.EVENTS, Wire.LINES])
async def test_a_refusal_comes_back_whole(wire: Wire) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.json_response({"error": "CursorTooOld"}, status=400, headers={"Retry-After": "7"})

    async with opened(handler, wire) as got:
        assert isinstance(got, Answer)
        assert (got.status, got.headers["retry-after"], got.body) == (400, "7", b'{"error": "CursorTooOld"}')


@pytest.mark.parametrize("wire", [Wire.WEBSOCKET, Wire.EVENTS, Wire.LINES])
async def test_a_page_with_status_200_is_no_stream(wire: Wire) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>maintenance</html>", content_type="text/html")

    async with opened(handler, wire) as got:
        assert isinstance(got, Answer)
        assert (got.status, got.body) == (200, b"<html>maintenance</html>")


@pytest.mark.parametrize("wire", [Wire.WEBSOCKET, Wire.EVENTS, Wire.LINES])
async def test_a_redirect_is_not_followed(wire: Wire) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        raise web.HTTPMovedPermanently("http://elsewhere.example/stream")

    async with opened(handler, wire) as got:
        assert isinstance(got, Answer)
        assert (got.status, got.headers["location"]) == (301, "http://elsewhere.example/stream")


@pytest.mark.parametrize("wire", [Wire.WEBSOCKET, Wire.EVENTS, Wire.LINES])
async def test_of_an_oversized_refusal_only_the_beginning_is_read(wire: Wire) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503, body=b"x" * (SMALL.refusal + 1))

    async with opened(handler, wire) as got:
        assert isinstance(got, Answer)
        assert (got.status, len(got.body), got.failure) == (503, SMALL.refusal, "")


@pytest.mark.parametrize("wire", [Wire.WEBSOCKET, Wire.EVENTS, Wire.LINES])
async def test_no_server_at_all_is_an_answer_that_says_so(wire: Wire) -> None:
    transport = HttpTransport(CLOCK, "bowerbird", bounds=SMALL)
    got = await transport.connect(Service(name="s", provider="x", base="http://127.0.0.1:1"), Request(path="/"), wire)
    await transport.close()
    assert isinstance(got, Answer)
    assert got.status == 0
    assert "127.0.0.1:1" in got.failure


# -- server-sent events and lines -------------------------------------------------------------------------------------


async def test_events_are_cut_at_blank_lines_and_comments_only_show_life() -> None:
    handler = written(b":)\n", b"event: update\nda", b'ta: {"id":1}\n\n:thump\n', b"\nevent: delete\r\ndata: 1\r\n\r\n")
    async with opened(handler, Wire.EVENTS) as got:
        messages, ended = await everything(got)
    assert [message for message in messages if message] == [b'event: update\ndata: {"id":1}', b"event: delete\ndata: 1"]
    assert messages.count(b"") >= 2
    assert (ended.status, bool(ended.reason)) == (0, True)


async def test_lines_are_messages_and_keep_alives_only_show_life() -> None:
    async with opened(written(b'{"a":1}\r\n{"b"', b":2}\r\n\r\n", content_type="application/json"), Wire.LINES) as got:
        messages, _ = await everything(got)
    assert [message for message in messages if message] == [b'{"a":1}', b'{"b":2}']
    assert b"" in messages


async def test_what_a_post_request_says_arrives() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return await written(await request.read() + b"\n", content_type="application/json")(request)

    async with opened(handler, Wire.LINES, Request(path="/filter", method="POST", body=b"track=cats")) as got:
        assert (await everything(got))[0] == [b"track=cats"]


async def test_a_broken_answer_ends_with_its_reason() -> None:
    async with opened(written(b"one\n", b"half", content_type="text/plain", is_cut=True), Wire.LINES) as got:
        messages, ended = await everything(got)
    async with opened(written(b"one\n", content_type="text/plain"), Wire.LINES) as got:
        _, whole = await everything(got)
    assert messages[0] == b"one"
    assert ended.reason
    assert ended.reason != whole.reason


async def test_a_line_without_end_is_cut_off_at_the_bound() -> None:
    async with opened(written(*[b"x" * 1_000] * 30, content_type="text/plain"), Wire.LINES) as got:
        messages, ended = await everything(got)
    assert not any(messages)
    assert "20000" in ended.reason


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_it_does_not_matter_how_the_bytes_are_cut(size: int) -> None:
    text = b":)\nevent: update\ndata: 1\ndata: 2\n\n:thump\n\nevent: delete\r\ndata: 3\r\n\r\nevent: half"
    cutter = Events(1_000)
    messages = [message for n in range(0, len(text), size) for message in cutter.cut(text[n : n + size])]
    assert messages == [b"event: update\ndata: 1\ndata: 2", b"", b"event: delete\ndata: 3"]


def test_an_event_of_many_lines_is_bounded_too() -> None:
    with pytest.raises(OverlongError):
        Events(100).cut(b"data: 123456\n" * 20)
    with pytest.raises(OverlongError):
        Lines(100).cut(b"x" * 101)
