"""What a hostile service says on a stream: good messages turned into others, and ways to end a connection. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import libipld
import zstandard
from msgspec import Struct

from bowerbird.evaluate.hostile.echoes import SPELLED
from bowerbird.model import Ended

Saying = Callable[[bytes, int], "list[bytes] | Ended"]
"""From a good message and how many were said before it."""

MB = 1024 * 1024
_FAR = 9_999_999_999_000_000
"""November 2286, in microseconds."""


class Line(Struct, frozen=True):
    """One channel of one simulated network."""

    network: str
    options: str
    token: str = "user"  # noqa: S105  a kind of token


CHANNELS: Mapping[str, Line] = {
    "jetstream": Line("bluesky", 'channel = "jetstream"'),
    "jetstream zstd": Line("bluesky", 'channel = "jetstream"\ncompress = true'),
    "jetstream_v2": Line("bluesky", 'channel = "jetstream_v2"'),
    "firehose": Line("bluesky", 'channel = "firehose"'),
    "mastodon public": Line("mastodon", 'channel = "public"'),
    "mastodon events": Line("mastodon", 'channel = "public_events"'),
    "x sample": Line("x", 'channel = "sample"', "app"),
    "v1 sample": Line("twitter_v1", 'channel = "sample"'),
}
_JSON = frozenset({"jetstream", "jetstream_v2", "mastodon public", "x sample", "v1 sample"})


def _values(count: int) -> bytes:
    return b'{"event":"update","data":[' + b"0," * count + b"0]}"


def _spelled(pattern: bytes, instead: bytes) -> Saying:
    return lambda message, _: [re.sub(pattern, instead, message), message]


def _mutated(message: bytes, number: int) -> list[bytes]:
    """One place of the message replaced, another each time."""
    try:
        document: Any = json.loads(message)
    except ValueError:
        return [message[: number % len(message)], message[number % len(message) :], message]
    names = list(document) if isinstance(document, dict) else []
    junk: list[Any] = [None, [], {}, "\x00", 10**30, -1, "x" * 5000, True, [[]]]
    if names:
        document[names[number % len(names)]] = junk[number % len(junk)]
    return [json.dumps(document).encode(), message]


def _far(message: bytes, _: int) -> list[bytes]:
    """The message as if it came from the far future, in whatever way it tells its time or number, then as it is."""
    if message[:1] == b"\xa2" and b"#commit" in message[:40]:
        header, payload = libipld.decode_dag_cbor_multi(message)
        return [
            libipld.encode_dag_cbor(header) + libipld.encode_dag_cbor({**payload, "seq": 2**53, "time": "2286-01-01T00:00:00Z"}),
            message,
        ]
    later = re.sub(rb'"time_us": ?\d+', b'"time_us":%d' % _FAR, message)
    later = re.sub(rb'"(time|witnessedAt|created_at)": ?"[^"]*"', rb'"\1":"2286-11-20T17:46:39Z"', later)
    later = re.sub(rb'"(id|id_str)": ?"\d+"', rb'"\1":"9223372036854775807"', later)
    later = re.sub(rb'\\"id\\": ?\\"\d+\\"', rb'\\"id\\":\\"9223372036854775807\\"', later)
    return [later, message]


def _packed_bomb(_: bytes, number: int) -> list[bytes]:
    frame = zstandard.ZstdCompressor(write_content_size=bool(number % 2)).compress(b'{"a":"' + b"x" * (64 * MB) + b'"}')
    return [frame]


def _cbor(payload: bytes) -> bytes:
    return libipld.encode_dag_cbor({"op": 1, "t": "#commit"}) + payload


STREAM_ATTACKS: Mapping[str, Saying] = {
    "garbage": lambda message, n: [bytes([n % 256]) * 2_000, message],
    "large garbage": lambda message, n: [bytes([65 + n % 20]) * MB],
    "truncated": lambda message, n: [message[: len(message) // 2], message],
    "deep": lambda message, n: [b'{"event":"update","payload":' + b"[" * 50_000 + b"]" * 50_000 + b"}", message],
    "many values": lambda message, n: [_values(900_000), message],
    "wrong types": _mutated,
    "times to come": _far,
    "long ids": _spelled(rb'"(id|id_str|did|rkey|uri)": ?"[^"]*"', rb'"\1":"' + b"9" * 6_000 + b'"'),
    "nul and surrogates": _spelled(rb'"(text|content|acct|username|description)": ?"', rb'"\1":"\\u0000\\ud800'),
    "huge numbers": _spelled(rb'(?<="): ?\d+', b":" + b"9" * 400),
    "the same for ever": lambda message, n: [message] * 50,
    "signs of life alone": lambda message, n: [b"", b"", b":", b"\n"],
    "empty objects": lambda message, n: [b"{}", b"[]", b"null", b'""'] * 50,
    "errors": lambda message, n: [b'{"error":"x","status":401}', b'{"errors":[{"title":"x","type":"y"}]}', message],
    "farewells": lambda message, n: [b'{"disconnect":{"code":9,"reason":"x"}}', message],
    "nul in the farewell": lambda message, n: Ended("bye\x00\ud800 " * 40, 1008) if n else [message],
    "long farewell": lambda message, n: Ended("x" * 100_000, 4_999) if n else [message],
    "cut at once": lambda message, n: Ended("the connection broke"),
    "token in messages": _spelled(rb'(text|content|note)(\\?)": ?\\?"', rb'\1\2":\2"' + SPELLED.encode() + b" "),
    "token in errors": lambda message, n: [json.dumps({"error": SPELLED, "errors": [{"title": SPELLED}]}).encode(), message],
    "token in the farewell": lambda message, n: Ended(f"bye {SPELLED}", 1008) if n else [message],
    "packed bombs": _packed_bomb,
    "cbor bombs": lambda message, n: [
        _cbor(b"\x9a" + (3 * MB).to_bytes(4, "big") + b"\xa0" * (3 * MB)),
        _cbor(b"\x81" * 100_000),
        _cbor(b"\xbb\x00\x00\x00\x7f\xff\xff\xff\xff"),
        message,
    ],
}
_SIGNED = frozenset({"mastodon public", "mastodon events", "x sample", "v1 sample"})
_ONLY = {
    **dict.fromkeys(("token in messages", "token in errors", "token in the farewell"), _SIGNED),
    "packed bombs": frozenset({"jetstream zstd"}),
    "cbor bombs": frozenset({"firehose"}),
}


def fits(attack: str, channel: str) -> bool:
    """Whether the attack reaches what it is aimed at on this channel."""
    return channel in _ONLY.get(attack, CHANNELS)
