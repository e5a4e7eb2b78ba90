"""Whatever comes over a stream, only items, notices and quarantined messages come out."""

from __future__ import annotations

import json
import random
from copy import deepcopy
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
    packed,
)
from bluesky_payloads import ALICE, BOB, post_uri, record, ref
from hypothesis import given, settings
from hypothesis import strategies as st

from bowerbird.model import Heard, Page
from bowerbird.simulated.bluesky.car import linked

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
@settings(max_examples=250, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_mutated_messages_never_raise_and_always_keep_their_promises(channel: str, seed: int) -> None:
    chance = random.Random(seed)
    ears = listener(channel, chance.choice([None, "2", f"3@{10**15}"]))
    for _ in range(2):
        check(ears.hear([hostile(channel, number, chance) for number in range(1, 9)]))


@CHANNELS
@settings(max_examples=100, deadline=None)
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
