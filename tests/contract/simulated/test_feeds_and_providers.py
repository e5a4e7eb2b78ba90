"""The streams of Mastodon and X against the simulated service: rules and greetings are understood, every message is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from feed_player import opened, play

from bowerbird.model import Answer, Heard, Opening, Request, Secret, Service, Subscription, Wire
from bowerbird.providers import provider
from bowerbird.providers.base import Provider
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.world import World, WorldSettings

NOW = datetime(2026, 1, 9, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=8)
SERVICE = Service(name="s", provider="any", base="https://simulated.example")
TAG = {"tag": ["music", "football"]}
STREAMS: list[tuple[str, str, dict[str, list[str]]]] = [
    ("mastodon", "public", {}),
    ("mastodon", "public_events", {}),
    ("mastodon", "local", {"only_media": ["true"]}),
    ("mastodon", "hashtag", TAG),
    ("mastodon", "hashtag_local_events", {"tag": ["music"]}),
    ("x", "filter", {"rules": ["the", "tags: #music OR rain"]}),
    ("x", "sample", {}),
    ("twitter_v1", "filter", {"track": ["the", "big rain"], "locations": ["-180,-90,180,90"]}),
    ("twitter_v1", "sample", {}),
]


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


def spoken(name: str) -> tuple[Provider, SimulatedService]:
    speaks = provider(name, now=lambda: NOW, base="https://simulated.example")
    assert isinstance(speaks, Provider)
    return speaks, simulate(Setup(dialect=name, tokens=1, app_tokens=1), world())


def secret(simulated: SimulatedService, kind: str) -> Secret:
    token = next(token for token in simulated.tokens if token.kind == kind)
    if kind == "app":
        return Secret(name="a", values={"bearer_token": token.value})
    values = {"access_token": token.value, "access_token_secret": token.secret}
    return Secret(name="u", values={**values, "consumer_key": token.consumer_key, "consumer_secret": token.consumer_secret})


def dialled(speaks: Provider, simulated: SimulatedService, wanted: Subscription, holds: Secret) -> Opening:
    """Everything that must be sent before the connection, sent."""
    answers: list[Answer] = []
    step = speaks.open(wanted, None, answers)
    while isinstance(step, Request):
        reply = simulated.dialect.handle(speaks.sign(step, holds), NOW)
        answers.append(Answer(status=reply.status, headers=reply.headers, body=reply.body, sent_at=NOW, received_at=NOW))
        step = speaks.open(wanted, None, answers)
    assert isinstance(step, Opening), step
    return step


def cut(frames: list[bytes], wire: Wire) -> list[bytes]:
    """Messages as the transport hands them over."""
    ends = {Wire.LINES: b"\n", Wire.EVENTS: b"\n\n"}
    return frames if wire is Wire.WEBSOCKET else b"".join(frames).split(ends[wire])


def heard(name: str, channel: str, options: dict[str, list[str]]) -> Heard:
    speaks, simulated = spoken(name)
    wanted = speaks.subscription(channel, options)
    kind = next(iter(speaks.channels[channel].kinds))
    holds = secret(simulated, kind)
    opening = dialled(speaks, simulated, wanted, holds)
    feed = opened(simulated.dialect.stream(speaks.sign(opening.request, holds), NOW))
    assert feed.wire is speaks.channels[channel].wire
    greeted = [frame for greeting in opening.greetings for frame in feed.receive(greeting, NOW).frames]
    frames = [*greeted, *(frame for _, frame in play(feed, NOW, LATER))]
    return speaks.listener(wanted, opening, SERVICE, None).hear(cut(frames, feed.wire))


def keys(said: Heard) -> set[str]:
    return {post.key for page in said.pages for post in page.posts}


@pytest.mark.parametrize(("name", "channel", "options"), STREAMS, ids=lambda each: each if isinstance(each, str) else "")
def test_every_message_of_a_stream_is_understood(name: str, channel: str, options: dict[str, list[str]]) -> None:
    said = heard(name, channel, options)
    assert [broken.why for page in said.pages for broken in page.broken] == []
    assert said.closing is None
    assert said.events > 0
    # Where posts come in no order, the head lies a little before the newest of them.
    assert said.head is not None
    assert said.head in keys(said) or int(said.head) < max(int(key) for key in keys(said))
    assert said.newest_at is not None
    assert NOW <= said.newest_at <= LATER
    authors = {user.id for page in said.pages for user in page.users}
    assert {post.author for page in said.pages for post in page.posts} <= authors


def test_both_wires_of_mastodon_tell_the_same() -> None:
    socket, events = heard("mastodon", "public", {}), heard("mastodon", "public_events", {})
    assert keys(socket) == keys(events)
    assert socket.events == events.events


def test_a_filter_brings_what_its_rules_match_and_says_which() -> None:
    said = heard("x", "filter", {"rules": ["rain"]})
    told = [post for page in said.pages for post in page.posts if b'"matching_rules"' in post.raw]
    assert told
    assert all(b'"tag":"bowerbird:filter"' in post.raw for post in told)
