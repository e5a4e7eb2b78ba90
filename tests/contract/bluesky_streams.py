"""A simulated Bluesky service and readers of its streams, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any

import libipld
import msgspec

from bowerbird.model import Request
from bowerbird.simulated.service import Delivery, Setup, SimulatedService, simulate
from bowerbird.simulated.streaming.live import Live
from bowerbird.simulated.world import World, WorldSettings

NOW = datetime(2026, 1, 9, 12, 3, 20, tzinfo=UTC)
V1, V2 = "/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents"
FIREHOSE = "/xrpc/com.atproto.sync.subscribeRepos"
FIRST_TIME = 10**15
REPLAY = {V1: 0, V2: FIRST_TIME, FIREHOSE: 0}


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


@cache
def service() -> SimulatedService:
    return simulate(Setup(dialect="bluesky"), world())


def connect(path: str, at: datetime = NOW, *, on: SimulatedService | None = None, **query: Any) -> Live | Delivery:
    pairs = [(name, str(each)) for name, value in query.items() for each in (value if isinstance(value, list) else [value])]
    opened = (on or service()).connect(Request(path=path, query=tuple(pairs), headers={"Upgrade": "websocket"}), at)
    assert opened is not None
    return opened


def opened(path: str, at: datetime = NOW, **query: Any) -> Live:
    live = connect(path, at, **query)
    assert isinstance(live, Live), live
    return live


def refusal(path: str, **query: Any) -> tuple[int, str]:
    delivery = connect(path, **query)
    assert isinstance(delivery, Delivery)
    return delivery.reply.status, delivery.reply.body.decode()


def hear(live: Live, since: datetime = NOW, until: datetime = NOW) -> list[bytes]:
    """Everything a reader who is always there hears."""
    now, frames = since, list[bytes]()
    while now <= until:
        sent = live.due(now)
        frames += sent.frames
        if sent.close is not None or sent.again_at is None:
            break
        now = sent.again_at
    return frames


def replay(path: str, **query: Any) -> list[bytes]:
    return hear(opened(path, **{"cursor": REPLAY[path], **query}))


@cache
def replayed(path: str) -> list[bytes]:
    return replay(path)


def events(frames: Iterable[bytes]) -> list[Any]:
    return [msgspec.json.decode(frame) for frame in frames]


def commits(frames: Iterable[bytes]) -> list[Any]:
    return [each for each in events(frames) if each["kind"] == "commit"]


def messages(frames: Iterable[bytes]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [tuple(libipld.decode_dag_cbor_multi(frame)) for frame in frames]


def rest(method: str, **query: Any) -> Any:
    pairs = [(name, str(each)) for name, value in query.items() for each in (value if isinstance(value, list) else [value])]
    reply = service().receive(Request(path=f"/xrpc/{method}", query=tuple(pairs)), NOW).reply
    assert reply.status == 200, reply.body
    return msgspec.json.decode(reply.body) if method != "com.atproto.sync.getRepo" else reply.body
