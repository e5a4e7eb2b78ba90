"""Streams of simulated services on their way out: in process and over sockets, whole and disturbed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import aiohttp
import pytest

from bowerbird.clock import RealClock, VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.model import Answer, Ended, Request, Service, Wire
from bowerbird.ports import Connection, StreamTransport
from bowerbird.simulated.faults import Faults, Outage
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world import World, WorldSettings
from failures import raises_code

NOW = datetime(2026, 1, 9, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
WIRES = {"bluesky": Wire.WEBSOCKET, "mastodon": Wire.EVENTS, "twitter_v1": Wire.LINES}
WORDS = (
    "time,people,rain,music,morning,city,work,hoje,chuva,amor,tempo,jour,temps,heute,the,and,we,you,that,"
    "que,com,uma,con,une,avec,eine,mit,che,per"
)


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


def service(dialect: str, **faults: Any) -> SimulatedService:
    return simulate(Setup(dialect=dialect, faults=Faults(**faults)), world())


def asking(simulated: SimulatedService) -> Request:
    """A request for a busy stream of the dialect."""
    token = next(iter(simulated.tokens))
    if simulated.dialect.name == "bluesky":
        return Request(path="/subscribe", query=(("wantedCollections", "app.bsky.feed.post"),))
    if simulated.dialect.name == "mastodon":
        return Request(path="/api/v1/streaming/public", headers={"Authorization": f"Bearer {token.value}"})
    oauth = f'OAuth oauth_consumer_key="{token.consumer_key}", oauth_token="{token.value}"'
    headers = {"Authorization": oauth, "Content-Type": "application/x-www-form-urlencoded"}
    return Request(path="/1.1/statuses/filter.json", method="POST", headers=headers, body=f"track={WORDS}".encode())


async def open_stream(transport: StreamTransport, simulated: SimulatedService) -> Connection:
    dialect = simulated.dialect.name
    there = Service(name="here", provider=dialect, base="http://here")
    opened = await transport.connect(there, asking(simulated), WIRES[dialect])
    assert not isinstance(opened, Answer), opened
    return opened


async def hear(connection: Connection, until: datetime) -> tuple[list[bytes], Ended | None]:
    heard: list[bytes] = []
    while True:
        came = await connection.receive(until)
        if isinstance(came, Ended):
            return heard, came
        if not came:
            return heard, None
        heard += came


def listen(simulated: SimulatedService, time: timedelta = HOUR) -> tuple[list[bytes], Ended | None]:
    """Everything heard in a virtual hour from noon on, and how it ended."""

    async def main(clock: VirtualClock) -> tuple[list[bytes], Ended | None]:
        connection = await open_stream(InProcessTransport({"here": simulated}, clock), simulated)
        return await hear(connection, NOW + time)

    result: tuple[list[bytes], Ended | None] = run_virtual(main, start=NOW)
    return result


@cache
def undisturbed(dialect: str) -> list[bytes]:
    heard, ended = listen(service(dialect))
    assert ended is None
    return [message for message in heard if message]


@pytest.mark.parametrize("dialect", WIRES)
def test_messages_are_cut_out_of_each_wire(dialect: str) -> None:
    beginnings = {"bluesky": b'{"did":', "mastodon": b"event: ", "twitter_v1": b"{"}
    assert len(undisturbed(dialect)) > 5
    assert all(message.startswith(beginnings[dialect]) and b"\n\n" not in message for message in undisturbed(dialect))


@pytest.mark.parametrize("dialect", WIRES)
def test_the_same_hour_sounds_the_same_every_time(dialect: str) -> None:
    assert [message for message in listen(service(dialect))[0] if message] == undisturbed(dialect)


@pytest.mark.parametrize("dialect", WIRES)
def test_a_connection_on_which_nothing_happens_still_shows_that_it_lives(dialect: str) -> None:
    async def main(clock: VirtualClock) -> timedelta:
        connection = await open_stream(InProcessTransport({"here": simulated}, clock), simulated)
        longest, before = timedelta(0), clock.now()
        while clock.now() < NOW + HOUR:
            assert await connection.receive(NOW + 2 * HOUR)
            longest, before = max(longest, clock.now() - before), clock.now()
        return longest

    simulated = service(dialect)
    assert run_virtual(main, start=NOW) <= timedelta(seconds=31)


def test_nothing_in_time_is_an_empty_answer() -> None:
    heard, ended = listen(service("bluesky"), timedelta(milliseconds=100))
    assert (heard, ended) == ([], None)


def test_a_client_can_speak_and_be_shown_the_door() -> None:
    async def main(clock: VirtualClock) -> tuple[list[bytes], Ended | None]:
        connection = await open_stream(InProcessTransport({"here": service("bluesky")}, clock), service("bluesky"))
        await connection.send(b"{")
        return await hear(connection, NOW + HOUR)

    assert run_virtual(main, start=NOW) == ([], Ended("invalid message", 1007))


def test_closing_wakes_the_one_who_waits() -> None:
    async def main(clock: VirtualClock) -> Any:
        connection = await open_stream(InProcessTransport({"here": service("bluesky")}, clock), service("bluesky"))
        waiting = asyncio.ensure_future(hear(connection, NOW + HOUR))
        await clock.sleep_until(clock.now() + timedelta(seconds=1))
        await connection.close()
        return (await waiting)[1], clock.now()

    ended, at = run_virtual(main, start=NOW)
    assert ended == Ended("closed by us")
    assert at < NOW + timedelta(seconds=3)


@pytest.mark.parametrize("kind", ["error_500", "bad_gateway", "reset", "lost_after", "limited"])
def test_a_stream_that_cannot_be_opened_is_an_answer(kind: str) -> None:
    async def main(clock: VirtualClock) -> Any:
        there = Service(name="here", provider="mastodon", base="http://here")
        return await InProcessTransport({"here": simulated}, clock).connect(there, asking(simulated), Wire.EVENTS)

    simulated = service("mastodon", rates={kind: 1.0})
    answer = run_virtual(main, start=NOW)
    assert isinstance(answer, Answer)
    assert answer.status == {"error_500": 500, "bad_gateway": 502, "limited": 429}.get(kind, 0)
    assert simulated.audit()["faults"] == {kind: 1}


@pytest.mark.parametrize("dialect", WIRES)
def test_a_cut_ends_the_connection_and_a_torn_message_never_arrives(dialect: str) -> None:
    heard, ended = listen(service(dialect, messages={"stream_cut": 0.05}, seed=3))
    assert (ended.status, bool(ended.reason)) == (0, True)
    told = [message for message in heard if message]
    assert told == undisturbed(dialect)[: len(told)]
    assert len(told) < len(undisturbed(dialect))


@pytest.mark.parametrize("dialect", WIRES)
def test_a_silent_connection_stays_open_and_tells_nothing_at_all(dialect: str) -> None:
    heard, ended = listen(service(dialect, messages={"stream_silence": 0.2}))
    assert ended is None
    assert len(heard) < 60, "not even signs of life"


@pytest.mark.parametrize("dialect", WIRES)
def test_duplicates_garbage_and_disorder_lose_nothing(dialect: str) -> None:
    messages = {"stream_duplicate": 0.3, "stream_garbage": 0.3, "stream_disorder": 0.6}
    heard, _ = listen(service(dialect, messages=messages))
    told = [message for message in heard if message and b"not a message" not in message]
    assert len(told) > len(set(undisturbed(dialect)))
    # One that comes late may still be held back when the hour ends.
    assert len(set(undisturbed(dialect)) - set(told)) <= (dialect == "twitter_v1")
    assert any(b"not a message" in message for message in heard)
    firsts = list(dict.fromkeys(told))
    assert (firsts == undisturbed(dialect)) is (dialect != "twitter_v1")


def test_the_same_seed_disturbs_the_same_messages() -> None:
    messages = {"stream_duplicate": 0.2, "stream_garbage": 0.2}
    one, same, other = (listen(service("bluesky", messages=messages, seed=seed))[0] for seed in (4, 4, 5))
    assert one == same
    assert one != other


def test_an_outage_breaks_open_streams_and_lets_nobody_in() -> None:
    async def main(clock: VirtualClock) -> Any:
        transport = InProcessTransport({"here": simulated}, clock)
        _, ended = await hear(await open_stream(transport, simulated), NOW + HOUR)
        there = Service(name="here", provider="bluesky", base="http://here")
        refused = await transport.connect(there, asking(simulated), Wire.WEBSOCKET)
        cut_at = clock.now()
        await clock.sleep_until(outage.until)
        return ended, cut_at, refused, await hear(await open_stream(transport, simulated), NOW + HOUR)

    outage = Outage(NOW + timedelta(minutes=10), NOW + timedelta(minutes=20))
    simulated = service("bluesky", outages=(outage,))
    ended, cut_at, refused, (heard, _) = run_virtual(main, start=NOW)
    assert (ended.status, bool(ended.reason)) == (0, True)
    assert timedelta(0) <= cut_at - outage.since < timedelta(seconds=1)
    assert refused.status == 502
    assert heard


def test_unknown_stream_faults_and_rates_are_refused() -> None:
    with raises_code(UserError, "unknown_name") as caught:
        Faults(messages={"gremlins": 0.1})
    assert "gremlins" in caught.value.problem
    assert "stream_cut" in caught.value.advice
    with raises_code(UserError, "invalid") as caught:
        Faults(messages={"stream_cut": 2.0})
    assert "2.0" in caught.value.problem


def living(dialect: str, **faults: Any) -> SimulatedService:
    """A service whose world runs fast from now on: much happens within a second."""
    now = RealClock().now()
    settings = WorldSettings(accounts=400, seed=3, start=now, since=now, pace=2_000)
    return simulate(Setup(dialect=dialect, faults=Faults(**faults), world=settings))


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as opened:
        yield opened


async def test_a_websocket_brings_what_the_service_tells(session: aiohttp.ClientSession) -> None:
    simulated = living("bluesky")
    async with serve(simulated, RealClock()) as base, session.ws_connect(f"{base}/subscribe") as socket:
        heard = [await socket.receive_json() for _ in range(20)]
        assert len({each["time_us"] for each in heard}) == 20
        await socket.send_str("{")
        while not socket.closed:
            await socket.receive()
        assert socket.close_code == 1007
    assert simulated.audit()["statuses"] == {"101": 1}


async def test_binary_frames_and_the_subprotocol_arrive(session: aiohttp.ClientSession) -> None:
    async with serve(living("bluesky"), RealClock()) as base:
        async with session.ws_connect(f"{base}/xrpc/com.atproto.sync.subscribeRepos") as socket:
            assert (await socket.receive_bytes())[:1] == b"\xa2"
        path = "/xrpc/network.bsky.jetstream.subscribeEvents"
        async with session.ws_connect(base + path, protocols=("xrpc.v1.json",)) as socket:
            assert socket.protocol == "xrpc.v1.json"
            assert (await socket.receive_json())["$type"] == "message"


@pytest.mark.parametrize("dialect", ["mastodon", "twitter_v1"])
async def test_long_answers_bring_events_and_lines(dialect: str, session: aiohttp.ClientSession) -> None:
    simulated = living(dialect)
    request = asking(simulated)
    async with (
        serve(simulated, RealClock()) as base,
        session.request(request.method, base + request.path, headers=request.headers, data=request.body or None) as response,
    ):
        assert response.status == 200
        text = await response.content.readuntil(b"\n\n" if dialect == "mastodon" else b"}\r\n")
        # The first event may be a deletion, of which a number tells.
        assert (b"\ndata: " if dialect == "mastodon" else b'"id_str"') in text


async def test_a_cut_really_cuts(session: aiohttp.ClientSession) -> None:
    simulated = living("mastodon", messages={"stream_cut": 1.0})
    request = asking(simulated)
    async with serve(simulated, RealClock()) as base, session.get(base + request.path, headers=request.headers) as response:
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_a_refused_stream_is_an_ordinary_answer(session: aiohttp.ClientSession) -> None:
    async with serve(living("bluesky"), RealClock()) as base:
        async with session.get(f"{base}/xrpc/com.atproto.sync.subscribeRepos") as response:
            assert response.status == 426
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{base}/subscribe?wantedDids=nobody")
        assert refused.value.status == 400


async def test_a_reader_who_leaves_makes_room(session: aiohttp.ClientSession) -> None:
    now = RealClock().now()
    simulated = simulate(Setup(dialect="x", app_tokens=1, world=WorldSettings(accounts=60, start=now)))
    headers = {"Authorization": f"Bearer {list(simulated.tokens)[-1].value}"}

    async def status() -> int:
        async with session.get(f"{base}/2/tweets/sample/stream", headers=headers) as response:
            return response.status

    async with serve(simulated, RealClock()) as base:
        async with session.get(f"{base}/2/tweets/sample/stream", headers=headers) as first:
            assert (first.status, await status()) == (200, 429)
        # The server learns of it a moment later; a ping or a heartbeat would be far too late.
        assert 200 in [await status() for _ in range(20)]


async def test_what_happened_is_told_over_http(session: aiohttp.ClientSession) -> None:
    async with (
        serve(living("bluesky"), RealClock()) as base,
        session.get(f"{base}/_simulated/happenings", params={"since": "2020-01-01T00:00:00+00:00"}) as response,
    ):
        told = await response.json()
    assert {"written", "liked", "followed"} <= {each["kind"] for each in told}
    assert all(each["account"].startswith("did:plc:") for each in told)
