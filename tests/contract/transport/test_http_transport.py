"""The HTTP transport against a real server on loopback: whatever the server does, an answer comes back."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bowerbird.clock import RealClock
from bowerbird.model import Answer, Outcome, Request, Service, Wire
from bowerbird.transport import Bounds, HttpTransport
from bowerbird.transport.public import OwnAddressError

AGENT = "bowerbird/1.2 (+https://contact.example; research; provider={provider})"
SMALL = Bounds(body=10_000, total=timedelta(seconds=2), connect=timedelta(seconds=1), read=timedelta(milliseconds=200))
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def service(port: int, scheme: str = "http") -> Service:
    return Service(name="s", provider="mastodon", base=f"{scheme}://127.0.0.1:{port}")


@asynccontextmanager
async def transport() -> AsyncIterator[HttpTransport]:
    made = HttpTransport(RealClock(), AGENT, bounds=SMALL)
    try:
        yield made
    finally:
        await made.close()


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's side of TLS with a certificate of its own making."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    today = RealClock().now()
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, today - timedelta(days=1), today + timedelta(days=1))
    file = folder / "server.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


async def ask(handler: Handler, request: Request | None = None) -> Answer:
    """One request to a server that answers everything with `handler`."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(app) as server, transport() as carrier:
        assert server.port is not None
        return await carrier.send(service(server.port), request or Request(path="/x"))


async def ask_socket(reply: bytes, *, is_held: bool = False) -> Answer:
    """One request to a server that writes these bytes and closes, or holds the line."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        if is_held:
            await ended.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        async with transport() as carrier:
            return await carrier.send(service(server.sockets[0].getsockname()[1]), Request(path="/x"))
    finally:
        ended.set()
        server.close()


async def test_status_headers_and_body_come_back_as_they_came() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"query": str(request.rel_url)}, status=404, headers={"X-RateLimit-Limit": "300"})

    answer = await ask(handler, Request(path="/a%2Fb", query=(("id[]", "1"), ("q", "ä &b"))))
    assert (answer.status, answer.failure) == (404, "")
    assert answer.headers["x-ratelimit-limit"] == "300"
    assert answer.body == b'{"query": "/a%2Fb?id%5B%5D=1&q=%C3%A4%20%26b"}'
    assert answer.sent_at <= answer.received_at


async def test_we_say_who_we_are_and_pass_on_the_requests_own_headers() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(
            [request.headers["User-Agent"], request.headers["Authorization"], (await request.read()).decode()]
        )

    answer = await ask(handler, Request(path="/", method="POST", headers={"authorization": "Bearer t"}, body=b"a=1"))
    agent = "bowerbird/1.2 (+https://contact.example; research; provider=mastodon)"
    assert answer.body == f'["{agent}", "Bearer t", "a=1"]'.encode()


async def test_a_compressed_body_is_unfolded() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(b"[1]"), headers={"Content-Encoding": "gzip"})

    assert (await ask(handler)).body == b"[1]"


@pytest.mark.parametrize("length", [10_001, 5_000_000])
async def test_an_oversized_body_is_a_failure(length: int) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * length)

    answer = await ask(handler)
    assert (answer.status, answer.body, "10000" in answer.failure) == (0, b"", True)
    assert answer.silence is Outcome.UNREADABLE, "the same question would be answered the same"


async def test_a_body_that_unfolds_beyond_the_bound_is_a_failure() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(b"x" * 1_000_000), headers={"Content-Encoding": "gzip"})

    answer = await ask(handler)
    assert (answer.status, answer.body, "10000" in answer.failure) == (0, b"", True)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"garbage", "gzip"), (gzip.compress(b"x" * 99)[:-12], "gzip"), (zlib.compress(b"x"), "br")],
    ids=["garbage", "cut short", "another encoding"],
)
async def test_a_body_that_cannot_be_unfolded_is_a_failure(body: bytes, encoding: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Encoding": encoding})

    answer = await ask(handler)
    assert (answer.status, answer.silence) == (0, Outcome.UNREADABLE)
    assert answer.failure


async def test_a_silent_server_is_given_up_after_the_read_bound() -> None:
    for sent in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1,"):
        answer = await ask_socket(sent, is_held=True)
        assert (answer.status, "0.2 s" in answer.failure) == (0, True)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\x00\xff garbage\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[1,2",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_a_reset_or_garbled_answer_is_a_failure(reply: bytes) -> None:
    answer = await ask_socket(reply)
    assert (answer.status, answer.silence) == (0, Outcome.UNANSWERED)
    assert answer.failure


async def test_undecodable_header_bytes_can_still_be_stored() -> None:
    answer = await ask_socket(b"HTTP/1.1 200 OK\r\nX-Odd: a\xffb\r\nX-Odd: c\r\nContent-Length: 2\r\n\r\n[]")
    assert answer.headers["x-odd"].encode() == "a\ufffdb, c".encode()


async def test_a_redirect_on_the_same_host_is_one_request_and_the_answer_itself() -> None:
    asked: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(str(request.rel_url))
        raise web.HTTPMovedPermanently("/y?z=1")

    answer = await ask(handler)
    assert (answer.status, answer.headers["location"]) == (301, "/y?z=1")
    assert len(asked) == 1


async def test_a_redirect_to_another_host_is_the_answer_itself() -> None:
    async def handler(_: web.Request) -> web.Response:
        raise web.HTTPFound("http://elsewhere.example/secret")

    answer = await ask(handler)
    assert (answer.status, answer.headers["location"]) == (302, "http://elsewhere.example/secret")


async def test_a_redirect_to_another_port_is_not_followed_either() -> None:
    async def handler(_: web.Request) -> web.Response:
        raise web.HTTPFound("http://127.0.0.1:1/")

    assert (await ask(handler)).status == 302


async def test_a_server_that_hangs_up_is_asked_once_and_not_again_by_the_library() -> None:
    visits: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with transport() as carrier:
        answer = await carrier.send(service(server.sockets[0].getsockname()[1]), Request(path="/x"))
    server.close()
    assert (answer.status, len(visits)) == (0, 1)


async def test_connections_are_reused_and_cookies_are_not_kept() -> None:
    seen: set[object] = set()
    cookies: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        seen.add(request.transport.get_extra_info("peername"))
        cookies.append(request.headers.get("Cookie"))
        response = web.json_response([])
        response.set_cookie("tracked", "yes")
        return response

    app = web.Application()
    app.router.add_get("/x", handler)
    async with TestServer(app) as server, transport() as carrier:
        assert server.port is not None
        for _ in range(3):
            await carrier.send(service(server.port), Request(path="/x"))
    assert len(seen) == 1
    assert cookies == [None, None, None]


async def test_nobody_there_and_no_such_host_say_so() -> None:
    async with transport() as carrier:
        nobody = await carrier.send(service(1), Request(path="/x"))
        nowhere = await carrier.send(Service(name="s", provider="m", base="http://no.such.host.invalid"), Request(path="/"))
        wrong = await carrier.send(Service(name="s", provider="m", base="no address at all"), Request(path="/"))
    assert (nobody.status, "127.0.0.1:1" in nobody.failure) == (0, True)
    assert (nowhere.status, "no.such.host.invalid" in nowhere.failure) == (0, True)
    assert (wrong.status, bool(wrong.failure)) == (0, True)


async def test_speaking_tls_to_a_plain_server_is_a_failure() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        async with transport() as carrier:
            answer = await carrier.send(service(server.sockets[0].getsockname()[1], "https"), Request(path="/"))
    finally:
        server.close()
    assert answer.status == 0
    assert answer.failure


async def test_a_certificate_nobody_vouches_for_is_named_as_the_cause(tmp_path: Path) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=self_signed(tmp_path))
    try:
        async with transport() as carrier:
            answer = await carrier.send(service(server.sockets[0].getsockname()[1], "https"), Request(path="/"))
    finally:
        server.close()
    assert answer.status == 0
    assert all(value in answer.failure for value in ("certificate", "127.0.0.1", "self-signed"))


async def test_a_header_that_would_break_the_request_is_a_failure_not_an_exception() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response()

    answer = await ask(handler, Request(path="/", headers={"authorization": "Bearer a\r\nX-Evil: 1"}))
    assert answer.status == 0


async def test_cancelling_a_call_cancels_it() -> None:
    started = asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        started.set()
        await asyncio.Event().wait()
        return web.Response()

    call = asyncio.create_task(ask(handler))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_what_is_asked_for_bounds_the_answer() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(b"[" + b"0," * 4_000 + b"0]"), headers={"Content-Encoding": "gzip"})

    assert (await ask(handler, Request(path="/", most=8_003))).failure == ""
    assert "8002" in (await ask(handler, Request(path="/", most=8_002))).failure


async def test_of_an_error_only_the_beginning_is_read_and_what_it_says_of_limits_counts() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=429, headers={"Retry-After": "7"})
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"x" * 65_536)
        return response

    answer = await ask(handler)
    assert (answer.status, answer.headers["retry-after"], answer.failure) == (429, "7", "")
    assert len(answer.body) == SMALL.refusal


async def test_a_large_answer_waits_until_an_earlier_one_is_let_go() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 9_000)

    bounds = Bounds(body=10_000, large=1_000, together=15_000)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(app) as server:
        carrier = HttpTransport(RealClock(), AGENT, bounds=bounds)
        assert server.port is not None
        first = await carrier.send(service(server.port), Request(path="/"))
        second = asyncio.create_task(carrier.send(service(server.port), Request(path="/")))
        done, _ = await asyncio.wait([second], timeout=0.2)
        assert (len(first.body), done) == (9_000, set())
        del first
        assert len((await second).body) == 9_000
        await carrier.close()


async def test_who_waits_too_long_for_room_gives_up() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 9_000)

    bounds = Bounds(body=10_000, large=1_000, together=10_000, total=timedelta(milliseconds=300))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(app) as server:
        carrier = HttpTransport(RealClock(), AGENT, bounds=bounds)
        assert server.port is not None
        held = await carrier.send(service(server.port), Request(path="/"))
        second = await carrier.send(service(server.port), Request(path="/"))
        assert (len(held.body), second.status) == (9_000, 0)
        await carrier.close()


class Misled(AbstractResolver):
    """Says of every name that it leads to where machines are told their secrets."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        own = socket.AF_INET6 if ":" in self._address else socket.AF_INET
        return [ResolveResult(hostname=host, host=self._address, port=port, family=own, proto=0, flags=0)]

    async def close(self) -> None:
        """Nothing is held open."""


@pytest.mark.parametrize("address", ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "fe80::1", "::ffff:169.254.1.1"])
async def test_no_name_leads_to_where_a_machine_is_told_its_secrets(address: str) -> None:
    made = HttpTransport(RealClock(), AGENT, bounds=SMALL, resolver=lambda: Misled(address))
    literal = f"[{address}]" if ":" in address else address
    for host in ("network.example", literal):
        asked = Service(name="s", provider="mastodon", base=f"http://{host}")
        answer = await made.send(asked, Request(path="/"))
        assert str(OwnAddressError()) in answer.failure
        opened = await made.connect(asked, Request(path="/"), Wire.WEBSOCKET)
        assert isinstance(opened, Answer)
        assert str(OwnAddressError()) in opened.failure
    await made.close()
