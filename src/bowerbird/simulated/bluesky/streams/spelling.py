"""One event as the wires spell it: JSON of the first and second Jetstream, two CBOR objects of the firehose."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import libipld

from bowerbird.simulated.bluesky.car import commit
from bowerbird.simulated.bluesky.records import stamp
from bowerbird.simulated.bluesky.streams.events import Event
from bowerbird.simulated.wire import encode
from bowerbird.simulated.world.settings import from_ms

_V2 = "network.bsky.jetstream.subscribeEvents"
_HEADERS = {
    kind: libipld.encode_dag_cbor({"op": 1, "t": f"#{kind}"}) for kind in ("commit", "identity", "account", "sync", "info")
}
_ERROR = libipld.encode_dag_cbor({"op": -1})


def message(event: Event) -> bytes:
    """The first Jetstream's; it knows no resets of repositories."""
    body: dict[str, Any] = {"did": event.did, "time_us": event.micros, "cursor": event.seq, "kind": event.kind}
    return encode({**body, event.kind: _change(event) if event.kind == "commit" else _state(event)})


def message_v2(event: Event) -> bytes:
    """The second Jetstream's."""
    when = f"{from_ms(event.micros // 1000):%Y-%m-%dT%H:%M:%S}.{event.micros % 1_000_000:06d}Z"
    payload: dict[str, Any] = {"$type": f"{_V2}#{event.kind}", "seq": event.seq, "did": event.did, "time": when}
    more = _change(event) if event.kind == "commit" else {event.kind: _state(event)}
    return encode({"$type": "message", "payload": {**payload, "witnessedAt": when, **more}})


def notice_v2(name: str, text: str) -> bytes:
    return encode({"$type": "message", "payload": {"$type": f"{_V2}#info", "name": name, "message": text}})


def error_v2(name: str, text: str) -> bytes:
    return encode({"$type": "error", "error": name, "message": text})


def frame(event: Event, *, is_oversized: bool = False) -> bytes:
    """The firehose's. An oversized commit is only announced, as it was done before there were resets."""
    body = _commit(event, is_oversized) if event.kind == "commit" else _state(event)
    if event.kind == "sync":
        body |= {"blocks": commit(event.did, event.rev, {}, is_bare=True)[1]}
    return _HEADERS[event.kind] + libipld.encode_dag_cbor(body)


def notice(name: str, text: str) -> bytes:
    return _HEADERS["info"] + libipld.encode_dag_cbor({"name": name, "message": text})


def error(name: str, text: str) -> bytes:
    return _ERROR + libipld.encode_dag_cbor({"error": name, "message": text})


def _change(event: Event) -> dict[str, Any]:
    names = {"rev": event.rev, "operation": event.operation, "collection": event.collection, "rkey": event.rkey}
    return {**names, "record": event.written.json, "cid": event.written.cid} if event.written is not None else names


def _state(event: Event) -> dict[str, Any]:
    """What the firehose says of an identity, an account or a reset; the JSON wires pass it on."""
    said: dict[str, Any] = {"did": event.did, "seq": event.seq, "time": stamp(event.ms)}
    if event.kind == "account":
        said["active"] = event.status is None
        return {**said, "status": event.status} if event.status is not None else said
    if event.kind == "sync":
        blocks = commit(event.did, event.rev, {}, is_bare=True)[1]
        return {**said, "rev": event.rev, "blocks": {"$bytes": b64encode(blocks).decode().rstrip("=")}}
    return {**said, "handle": event.handle}


def _commit(event: Event, is_oversized: bool) -> dict[str, Any]:
    path = f"{event.collection}/{event.rkey}"
    blocks = {path: event.written.block} if event.written is not None else {}
    root, archive = commit(event.did, event.rev, blocks, is_bare=is_oversized)
    cid = libipld.decode_multibase(event.written.cid)[1] if event.written is not None else None
    return {
        "seq": event.seq,
        "repo": event.did,
        "time": stamp(event.ms),
        "rev": event.rev,
        "since": None,
        "commit": root,
        "tooBig": is_oversized,
        "rebase": False,
        "blocks": archive,
        "ops": [] if is_oversized else [{"action": event.operation, "path": path, "cid": cid}],
        "blobs": [],
    }
