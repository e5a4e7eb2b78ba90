"""Whatever comes over a stream, only items, notices and quarantined messages come out."""

from __future__ import annotations

import json
import random
import re
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import libipld
import msgspec
import pytest
from bluesky_frames import (
    FOLLOW,
    POST,
    PROFILE,
    REPOST,
    WIRES,
    Event,
    account,
    cbor,
    commit,
    committed,
    identity,
    listener,
    micros,
    packed,
)
from bluesky_payloads import ALICE, BOB, SERVICE, post_uri, record, ref
from hypothesis import given, settings
from hypothesis import strategies as st

from bowerbird.model import Heard, Opening, Page, from_micros
from bowerbird.providers import Bluesky
from bowerbird.providers.base import StreamReader
from bowerbird.simulated.bluesky.car import linked
from marks import examples

CHANNELS = pytest.mark.parametrize("channel", list(WIRES))
PICTURE = {"image": {"ref": {"$link": "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"}}}
EVENTS: list[Event] = [
    commit("create", POST, record(reply={"parent": ref(post_uri()), "root": ref(post_uri())})),
    commit("create", POST, record(embed={"images": [PICTURE]})),
    commit("update", POST, record(labels={"values": [{"val": "porn"}]})),
    commit("delete", POST),
    commit("create", REPOST, {"subject": ref(post_uri(BOB)), "createdAt": "2026-05-25T14:23:28.757Z"}),
    commit("create", FOLLOW, {"subject": BOB, "createdAt": "2026-05-25T14:23:28.757Z"}),
    commit("delete", FOLLOW),
    commit("update", PROFILE, {"displayName": "Alice", "description": "x"}, "self"),
    identity("a.test"),
    account(False, "takendown"),
    account(True),
    {"kind": "sync", "body": {"rev": "3mmoojpaqkn2z"}},
]
WORDS = {
    "jetstream": [packed({"kind": "novelty"})],
    "jetstream_v2": [packed({"$type": "error", "error": "ConsumerTooSlow", "message": "x"})],
    "firehose": [cbor("#info", {"name": "OutdatedCursor"}), cbor("", {"error": "FutureCursor"}, -1)],
}
JUNK: list[Any] = [None, True, -1, 0, 2**63, 1.5, "", "x", "\x00", "did:plc:\x00", "9" * 5000, [], {}, [[]], {"id": {}}, [None]]
ONLY_JSON: list[Any] = [10**30, "\ud800"]
ONLY_CBOR: list[Any] = [b"", b"\x00", b"\x01\x71\x12\x20" + bytes(32), bytes(36)]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document where something can be replaced."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return ([path] if path else []) + [place for key, each in pairs for place in places(each, (*path, key))]


def mutated(document: Any, junk: list[Any], chance: random.Random) -> Any:
    document = deepcopy(document)
    for _ in range(chance.randint(0, 3)):
        *way, last = chance.choice(places(document) or [()]) or (None,)
        holder = document
        for step in way:
            holder = holder[step]
        if last is not None:
            holder[last] = deepcopy(chance.choice(junk))
    return document


def disturbed(message: bytes, chance: random.Random) -> bytes:
    """The message as a bad connection or a bad proxy would deliver it."""
    body = bytearray(message[: chance.randrange(len(message) + 1)] if chance.random() < 0.3 else message)
    for _ in range(chance.randint(1, 4) if body else 0):
        body[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(body)


def as_cbor(event: Event, number: int, chance: random.Random) -> bytes:
    """A frame whose record, or whose envelope, is not what it should be."""
    junk = JUNK + ONLY_CBOR
    parts = libipld.decode_dag_cbor_multi(WIRES["firehose"](event, number))
    if event.get("record") is not None and chance.random() < 0.5:
        block = libipld.encode_dag_cbor(mutated(linked(event["record"]), junk, chance))
        parts[1] = committed(ALICE, number, event["operation"], f"{event['collection']}/{event['rkey']}", block)
    else:
        parts = mutated(parts, junk, chance)
    return b"".join(map(libipld.encode_dag_cbor, parts))


def hostile(channel: str, number: int, chance: random.Random) -> bytes:
    if chance.random() < 0.1:
        return disturbed(chance.choice(WORDS[channel]), chance)
    event = chance.choice(EVENTS)
    if channel == "firehose":
        message = as_cbor(event, number, chance)
    else:
        message = json.dumps(mutated(json.loads(WIRES[channel](event, number)), JUNK + ONLY_JSON, chance)).encode()
    return disturbed(message, chance) if chance.random() < 0.2 else message


def texts(value: Any) -> list[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [value] if isinstance(value, str) else [text for each in inner for text in texts(each)]


def check(said: Heard) -> None:
    """What a batch promises: it can be stored, and it can be gone on from."""
    assert said.cursor is None or all(part.isdigit() for part in said.cursor.split("@"))
    assert said.newest_at is None or said.newest_at.tzinfo is not None
    assert all("\x00" not in text and text.encode() is not None for text in texts(msgspec.to_builtins(said)))
    assert all(facet == "repo" and target.startswith("did:") for facet, target in said.refetch)
    for page in said.pages:
        check_page(page)


def check_page(page: Page) -> None:
    assert page.results
    assert all(broken.why and isinstance(broken.raw, bytes) for broken in page.broken)
    assert all(user.id.startswith("did:") and user.id == user.key for user in page.users)
    assert all(post.id.startswith(f"at://{post.author}/") and post.raw for post in page.posts)
    assert all(each.source.startswith("did:") and each.target.startswith("did:") and each.record for each in page.relations)
    assert all(each.source.startswith("did:") and each.record for each in page.ended)


@CHANNELS
@settings(max_examples=examples(250), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_mutated_messages_never_raise_and_always_keep_their_promises(channel: str, seed: int) -> None:
    chance = random.Random(seed)
    ears = listener(channel, chance.choice([None, "2", f"3@{10**15}"]))
    for _ in range(2):
        check(ears.hear([hostile(channel, number, chance) for number in range(1, 9)]))


@CHANNELS
@settings(max_examples=examples(100), deadline=None)
@given(messages=st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_are_heard(channel: str, messages: list[bytes]) -> None:
    check(listener(channel).hear(messages))


def test_deep_nesting_harms_nobody() -> None:
    depth = 100_000
    deep = b'{"did":"' + ALICE.encode() + b'","time_us":1,"x":' + b"[" * depth + b"]" * depth + b"}"
    nested = b"\xa1\x64text" + b"\x81" * depth + b"\x60"
    harmless = commit("create", POST, record())
    for channel in ("jetstream", "jetstream_v2"):
        said = listener(channel).hear([deep, WIRES[channel](harmless, 2)])
        assert [(len(page.posts), len(page.broken)) for page in said.pages] == [(1, 1)]
    said = listener("firehose").hear(
        [cbor("#commit", committed(ALICE, 1, "create", f"{POST}/x", nested)), WIRES["firehose"](harmless, 2)]
    )
    assert [(len(page.posts), len(page.broken)) for page in said.pages] == [(1, 1)]


NOW = from_micros(micros(1)) + timedelta(minutes=5)
FAR = 9_999_999_999_000_000
"""November 2286."""


def ears_at(channel: str, now: datetime, cursor: str | None = None) -> StreamReader:
    speaks = Bluesky(now=lambda: now)
    wanted = speaks.subscription(channel, {})
    opening = speaks.open(wanted, cursor, ())
    assert isinstance(opening, Opening)
    return speaks.listener(wanted, opening, SERVICE, cursor)


def shifted(channel: str, event: dict[str, Any], at: int) -> bytes:
    """An event as if it had happened at that microsecond."""
    if channel == "jetstream":
        return WIRES[channel](event, (at - micros(1)) // 1000 + 1)
    text = WIRES[channel](event, 7).decode()
    when = from_micros(at).isoformat().replace("+00:00", "Z")
    return re.sub(r'"(time|witnessedAt)": ?"[^"]*"', rf'"\1":"{when}"', text).encode()


@pytest.mark.parametrize("channel", ["jetstream", "jetstream_v2"])
def test_an_event_of_a_time_that_has_not_come_is_set_aside_and_leads_nowhere(channel: str) -> None:
    good, event = WIRES[channel](commit("create", POST, record()), 1), commit("create", POST, record(), rkey="3mmoojp4cd2zz")
    said = ears_at(channel, NOW).hear([shifted(channel, event, FAR), good])
    assert [len(page.broken) for page in said.pages] == [1]
    assert said.cursor is not None
    assert max(int(part) for part in said.cursor.split("@")) == micros(1)


@pytest.mark.parametrize("channel", ["jetstream", "jetstream_v2"])
def test_a_saved_cursor_that_lies_ahead_goes_back_as_far_as_the_service_can(channel: str) -> None:
    cursor = str(FAR) if channel == "jetstream" else f"7@{FAR}"
    speaks = Bluesky(now=lambda: NOW)
    opening = speaks.open(speaks.subscription(channel, {}), cursor, ())
    assert isinstance(opening, Opening)
    asked = int(dict(opening.request.query)["cursor"])
    assert timedelta(hours=30) < NOW - from_micros(asked) < timedelta(hours=40)
    assert ears_at(channel, NOW, cursor).hear([WIRES[channel](commit("create", POST, record()), 1)]).events == 1


def test_one_number_far_ahead_is_set_aside_and_two_are_believed() -> None:
    event = commit("create", POST, record())
    ears = listener("firehose", "100")
    alone = ears.hear([WIRES["firehose"](event, 10**13), WIRES["firehose"](event, 101)])
    assert (alone.cursor, [len(page.broken) for page in alone.pages]) == ("101", [1])
    two = ears.hear([WIRES["firehose"](event, 10**13 + 5), WIRES["firehose"](event, 10**13 + 6)])
    assert two.cursor == str(10**13 + 6)


def test_a_first_number_that_was_a_lie_is_left_again() -> None:
    event = commit("create", POST, record())
    said = listener("firehose").hear([WIRES["firehose"](event, number) for number in (10**13, 5, 6, 7)])
    assert said.cursor == "7"
