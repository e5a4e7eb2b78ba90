"""Both Jetstreams over the simulated world: cursors, filters, compression, words of the client, refusals."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import zstandard
from bluesky_streams import (
    FIREHOSE,
    FIRST_TIME,
    NOW,
    V1,
    V2,
    commits,
    connect,
    events,
    hear,
    opened,
    refusal,
    replay,
    replayed,
    service,
    world,
)

from bowerbird.model import Request
from bowerbird.simulated.service import Delivery, Setup, simulate
from bowerbird.simulated.world import World


def test_numbers_and_times_rise_and_every_replay_is_the_same() -> None:
    heard = events(replayed(V1))
    for one, other in pairwise(heard):
        assert (one["time_us"], one["cursor"]) < (other["time_us"], other["cursor"])
    assert hear(opened(V1, cursor=heard[700]["time_us"])) == replayed(V1)[700:]


def test_a_cursor_is_inclusive_and_may_be_a_number() -> None:
    last = events(replayed(V1))[-7]
    assert hear(opened(V1, cursor=last["time_us"])) == replayed(V1)[-7:]
    assert hear(opened(V1, cursor=last["time_us"] + 1)) == replayed(V1)[-6:]
    assert hear(opened(V1, cursor=last["cursor"])) == replayed(V1)[-7:]


def test_an_old_cursor_is_silently_moved_to_36_hours_ago() -> None:
    oldest = events(replayed(V1))[0]["time_us"]
    window = timedelta(microseconds=int(NOW.timestamp() * 1e6) - oldest)
    assert timedelta(hours=35, minutes=50) < window <= timedelta(hours=36)


@pytest.mark.parametrize("query", [{}, {"cursor": 4 * 10**15}])
def test_without_a_cursor_or_with_one_in_the_future_only_what_is_new_comes(query: dict[str, Any]) -> None:
    live = opened(V1, **query)
    assert live.due(NOW).frames == ()
    later = hear(live, NOW, NOW + timedelta(hours=1))
    assert later
    assert min(each["time_us"] for each in events(later)) > NOW.timestamp() * 1e6


def test_events_come_when_they_happen() -> None:
    live, now = opened(V1), NOW
    for _ in range(200):
        sent = live.due(now)
        for each in events(sent.frames):
            assert timedelta(0) <= now - datetime.fromtimestamp(each["time_us"] / 1e6, UTC) < timedelta(milliseconds=50)
        assert sent.again_at is not None
        now = sent.again_at


def test_collections_filter_commits_only_and_know_prefixes() -> None:
    wanted = replay(V1, wantedCollections=["app.bsky.graph.*", "app.bsky.feed.repost"])
    assert {each["commit"]["collection"] for each in commits(wanted)} == {"app.bsky.graph.follow", "app.bsky.feed.repost"}
    assert {each["kind"] for each in events(wanted)} == {"commit", "identity", "account"}


def test_accounts_filter_everything() -> None:
    did = commits(replayed(V1))[0]["did"]
    wanted = replay(V1, wantedDids=did)
    assert wanted == [frame for frame, each in zip(replayed(V1), events(replayed(V1)), strict=True) if each["did"] == did]


@pytest.mark.parametrize(("largest", "is_limited"), [("600", True), ("0", False), ("-4", False), ("many", False)])
def test_messages_that_are_too_big_are_skipped(largest: str, is_limited: bool) -> None:
    limit = 600 if is_limited else 10**9
    assert replay(V1, maxMessageSizeBytes=largest) == [frame for frame in replayed(V1) if len(frame) <= limit]


@pytest.mark.parametrize(
    "query",
    [
        {"wantedCollections": "no spaces"},
        {"wantedCollections": [f"app.bsky.feed.x{n}" for n in range(101)]},
        {"wantedDids": "did"},
        {"wantedDids": [f"did:plc:{n}" for n in range(10_001)]},
        {"cursor": "yesterday"},
    ],
)
def test_invalid_options_are_refused_in_plain_text(query: dict[str, Any]) -> None:
    delivery = connect(V1, **query)
    assert isinstance(delivery, Delivery)
    assert (delivery.reply.status, delivery.reply.headers["content-type"]) == (400, "text/plain; charset=utf-8")


def test_two_compressions_at_once_are_refused() -> None:
    headers = {"Upgrade": "websocket", "Sec-WebSocket-Extensions": "permessage-deflate", "Socket-Encoding": "zstd"}
    delivery = service().connect(Request(path=V1, headers=headers), NOW)
    assert isinstance(delivery, Delivery)
    assert delivery.reply.status == 400


def dictionary() -> bytes:
    return service().receive(Request(path="/xrpc/network.bsky.jetstream.getZstdDictionary"), NOW).reply.body


def unpack(frames: Iterable[bytes]) -> list[bytes]:
    unpacked = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(dictionary()))
    return [unpacked.decompress(frame) for frame in frames]


def test_compressed_messages_unpack_with_the_dictionary_to_the_same() -> None:
    live = opened(V1, cursor=0, compress="true")
    packed = hear(live)
    assert not live.is_text
    assert unpack(packed) == replayed(V1)
    assert sum(map(len, packed)) < sum(map(len, replayed(V1))) / 2


def test_the_dictionary_is_the_same_in_every_run() -> None:
    again = simulate(Setup(dialect="bluesky"), World(world().settings))
    reply = again.receive(Request(path="/xrpc/network.bsky.jetstream.getZstdDictionary"), NOW).reply
    assert reply.body == dictionary()
    assert zstandard.ZstdCompressionDict(reply.body).dict_id() == int(reply.headers["x-zstd-dictionary-id"])


def update(**payload: Any) -> bytes:
    return msgspec.json.encode({"type": "options_update", "payload": payload})


def test_nothing_comes_before_the_hello_where_one_is_required() -> None:
    live = opened(V1, cursor=0, requireHello="true")
    assert live.due(NOW).frames == ()
    assert live.receive(update(wantedCollections=["app.bsky.graph.follow"]), NOW).again_at == NOW
    assert {each["commit"]["collection"] for each in commits(hear(live))} == {"app.bsky.graph.follow"}


def test_options_can_be_changed_on_the_way() -> None:
    live = opened(V1, wantedCollections="app.bsky.graph.follow")
    first = hear(live, NOW, NOW + timedelta(hours=1))
    live.receive(update(wantedCollections=["app.bsky.feed.post"], wantedDids=[], maxMessageSizeBytes=0), NOW)
    second = hear(live, NOW + timedelta(hours=1), NOW + timedelta(hours=2))
    assert {each["commit"]["collection"] for each in commits(first)} <= {"app.bsky.graph.follow"}
    assert {each["commit"]["collection"] for each in commits(second)} == {"app.bsky.feed.post"}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", 1007),
        (update(wantedCollections=5), 1007),
        (update(wantedCollections=["not a collection"]), 1008),
        (update(wantedDids=["nobody"]), 1008),
        (b" " * 10_000_001, 1009),
        (b'{"type":"hello"}', None),
    ],
)
def test_what_a_client_may_not_say_closes_the_connection(message: bytes, code: int | None) -> None:
    close = opened(V1).receive(message, NOW).close
    assert (close and close[0]) == code


def test_a_stream_asked_for_without_an_upgrade_is_refused() -> None:
    delivery = service().connect(Request(path=FIREHOSE), NOW)
    assert isinstance(delivery, Delivery)
    assert delivery.reply.status == 426
    posted = service().connect(Request(path=V1, method="POST"), NOW)
    assert isinstance(posted, Delivery)
    assert posted.reply.status == 405
    assert service().connect(Request(path="/xrpc/app.bsky.feed.getPosts"), NOW) is None


def payloads(frames: Iterable[bytes]) -> list[Any]:
    decoded = events(frames)
    assert {each["$type"] for each in decoded} <= {"message"}
    return [each["payload"] for each in decoded]


def kind(payload: Any) -> str:
    return str(payload["$type"].partition("#")[2])


def test_both_jetstreams_tell_the_same_events() -> None:
    second = [each for each in payloads(replayed(V2)) if kind(each) not in ("sync", "info")]
    first = events(replayed(V1))
    assert [each["seq"] for each in second] == [each["cursor"] for each in first]
    for one, other in zip(first, second, strict=True):
        if kind(other) == "commit":
            assert {name: other[name] for name in one["commit"]} == one["commit"]
        else:
            assert other[kind(other)] == one[one["kind"]]


def test_a_time_below_the_floor_is_answered_with_a_notice_and_a_number_refused() -> None:
    first, *others = payloads(replayed(V2))
    assert (kind(first), first["name"]) == ("info", "OutdatedCursor")
    assert str(others[0]["seq"])[:3] in first["message"]
    status, text = refusal(V2, cursor=17)
    assert status == 400
    assert "CursorTooOld" in text


def test_a_number_goes_on_where_it_was_and_one_in_the_future_at_the_tip() -> None:
    tail = payloads(replayed(V2))[-9:]
    assert payloads(hear(opened(V2, cursor=tail[0]["seq"]))) == tail
    ahead = payloads(hear(opened(V2, cursor=FIRST_TIME - 1)))
    assert [(kind(each), each["name"]) for each in ahead] == [("info", "FutureCursor")]


def test_kinds_accounts_and_collections_are_anded() -> None:
    wanted = payloads(replay(V2, kinds=["commit", "identity"], collections="app.bsky.graph.follow"))[1:]
    assert {kind(each) for each in wanted} == {"commit", "identity"}
    assert {each["collection"] for each in wanted if kind(each) == "commit"} == {"app.bsky.graph.follow"}
    did = wanted[0]["did"]
    assert {each["did"] for each in payloads(replay(V2, dids=did))[1:]} == {did}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"kinds": "like"}, "unknown kind"),
        ({"wantedCollections": "app.bsky.feed.post"}, "wantedCollections"),
        ({"wantedDids": "did:plc:a"}, "wantedDids"),
        ({"kinds": "identity", "collections": "app.bsky.feed.post"}, "commit"),
        ({"zstdDictionary": 7}, "UnknownZstdDictionary"),
        ({"dids": "somebody"}, "invalid DID"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(query: dict[str, Any], words: str) -> None:
    status, text = refusal(V2, **query)
    assert status == 400
    assert words in text


def test_the_second_wire_packs_with_the_dictionary_asked_for() -> None:
    number = zstandard.ZstdCompressionDict(dictionary()).dict_id()
    assert unpack(replay(V2, zstdDictionary=number)) == replayed(V2)


def test_the_second_wire_wants_no_word_from_the_client() -> None:
    assert (opened(V2).receive(update(), NOW).close or ())[:1] == (1008,)


def test_a_reader_who_is_much_too_late_is_told_so_and_dropped() -> None:
    live = opened(V2)
    live.due(NOW)
    sent = live.due(NOW + timedelta(days=3))
    assert events(sent.frames)[0]["error"] == "ConsumerTooSlow"
    assert sent.close is not None
