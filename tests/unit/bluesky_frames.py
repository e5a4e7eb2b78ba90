"""Messages of Bluesky's streams, written by hand after the documented samples: one event in each of the three wires."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import libipld
from bluesky_payloads import ALICE, SERVICE, bluesky

from bowerbird.model import Heard, Opening, from_micros
from bowerbird.providers.base import StreamReader
from bowerbird.simulated.bluesky.car import linked

POST, REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
FOLLOW, PROFILE = "app.bsky.graph.follow", "app.bsky.actor.profile"
RKEY, REV = "3mmoojp4cd223", "3mmoojpaqkn2z"
TIME_US = 1779719009157119
"""2026-05-25, the time of the first event; every later one comes a millisecond after the one before."""
_V2 = "network.bsky.jetstream.subscribeEvents#"

Event = dict[str, Any]
"""`kind` and what belongs to it; `did` if it is not Alice's, `number` if it does not follow on the one before."""


def commit(operation: str, collection: str, record: Any = None, rkey: str = RKEY, **other: Any) -> Event:
    return {"kind": "commit", "operation": operation, "collection": collection, "record": record, "rkey": rkey, **other}


def identity(handle: str | None = None, **other: Any) -> Event:
    return {"kind": "identity", "body": {"handle": handle} if handle else {}, **other}


def account(active: bool, status: str | None = None, **other: Any) -> Event:
    return {"kind": "account", "body": {"active": active, **({"status": status} if status else {})}, **other}


def micros(number: int) -> int:
    return TIME_US + 1000 * (number - 1)


def first(event: Event, number: int) -> bytes:
    """The event as Jetstream's first wire writes it."""
    did = event.get("did", ALICE)
    body = {"did": did, "seq": number, "time": _time(number), **event["body"]} if "body" in event else _change(event)
    return packed({"did": did, "time_us": micros(number), "kind": event["kind"], event["kind"]: body})


def second(event: Event, number: int) -> bytes:
    """The event as Jetstream's second wire writes it."""
    did = event.get("did", ALICE)
    head = {"$type": _V2 + event["kind"], "seq": number, "did": did, "time": _time(number), "witnessedAt": _time(number)}
    body = {event["kind"]: {"did": did, **event["body"]}} if "body" in event else _change(event)
    return packed({"$type": "message", "payload": {**head, **body}})


def frame(event: Event, number: int) -> bytes:
    """The event as the firehose writes it."""
    did = event.get("did", ALICE)
    if "body" in event:
        return cbor(f"#{event['kind']}", {"seq": number, "did": did, "time": _time(number), **event["body"]})
    block = b"" if event["record"] is None else libipld.encode_dag_cbor(linked(event["record"]))
    return cbor("#commit", committed(did, number, event["operation"], f"{event['collection']}/{event['rkey']}", block))


def committed(did: str, number: int, action: str, path: str, block: bytes = b"") -> dict[str, Any]:
    """The payload of a commit to one record, whose block it carries."""
    cid = b"\x01\x71\x12\x20" + sha256(block).digest() if block else None
    return {
        "seq": number,
        "repo": did,
        "time": _time(number),
        "rev": REV,
        "since": None,
        "commit": b"\x01\x71\x12\x20" + bytes(32),
        "tooBig": False,
        "rebase": False,
        "blocks": car(cid, block) if cid else b"",
        "ops": [{"action": action, "path": path, "cid": cid}],
        "blobs": [],
    }


def car(cid: bytes, block: bytes) -> bytes:
    """A CAR file of one block."""
    header = libipld.encode_dag_cbor({"roots": [cid], "version": 1})
    return b"".join(varint(len(part)) + part for part in (header, cid + block))


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def cbor(kind: str, payload: Any, operation: int = 1) -> bytes:
    header = {"op": operation, "t": kind} if kind else {"op": operation}
    return libipld.encode_dag_cbor(header) + libipld.encode_dag_cbor(payload)


def packed(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


WIRES: dict[str, Callable[[Event, int], bytes]] = {"jetstream": first, "jetstream_v2": second, "firehose": frame}


def messages(channel: str, *events: Event) -> list[bytes]:
    return [WIRES[channel](event, event.get("number", number)) for number, event in enumerate(events, 1)]


def listener(channel: str, cursor: str | None = None, **options: Sequence[str]) -> StreamReader:
    wanted = bluesky.subscription(channel, options)
    opening = bluesky.open(wanted, cursor, ())
    assert isinstance(opening, Opening)
    return bluesky.listener(wanted, opening, SERVICE, cursor)


def hear(channel: str, *events: Event, cursor: str | None = None) -> Heard:
    return listener(channel, cursor).hear(messages(channel, *events))


def _change(event: Event) -> dict[str, Any]:
    names = {name: event[name] for name in ("operation", "collection", "rkey")}
    written = {} if event["record"] is None else {"record": event["record"], "cid": "bafyreicl7rzk"}
    return {"rev": REV, **names, **written}


def _time(number: int) -> str:
    return from_micros(micros(number)).isoformat().replace("+00:00", "Z")
