"""Messages of the streams of Mastodon, X and the classic API, written by hand after the documented samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from provider_payloads import MASTODON, TWITTER
from x_payloads import PROBLEMS, x_user

from bowerbird.model import Heard, Opening, Request, Service
from bowerbird.providers.base import Provider, StreamReader

SERVICES = {"mastodon": MASTODON, "twitter_v1": TWITTER, "x": Service(name="x", provider="x", base="https://x.example")}


def frame(event: str, payload: Any, **other: Any) -> bytes:
    """A WebSocket's message: JSON inside JSON, but for a bare id."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return json.dumps({"stream": ["public"], "event": event, "payload": text, **other}).encode()


def event(name: str, payload: Any) -> bytes:
    """A server-sent event, as the transport hands it over."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return f"event: {name}\ndata: {text}".encode()


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\r"


def x_line(post: dict[str, Any], *rules: str, **others: Any) -> bytes:
    """A post of X as the filtered stream sends it, with the rules it matched."""
    includes = {"users": [x_user()], **others.pop("includes", {})}
    matched = {"matching_rules": [{"id": rule, "tag": "cats"} for rule in rules]} if rules else {}
    return line({"data": post, "includes": includes, **matched, **others})


def disconnected(kind: str) -> bytes:
    words = {
        "title": "operational-disconnect",
        "disconnect_type": kind,
        "detail": "bye",
        "type": PROBLEMS + "operational-disconnect",
    }
    return line({"errors": [words]})


def listening(provider: Provider, channel: str, *, ours: Sequence[str] = (), **options: Sequence[str]) -> StreamReader:
    """What reads a fresh connection; `ours` are the ids of our rules."""
    wanted = provider.subscription(channel, options)
    opening = Opening(request=Request(path="/"), rules=tuple(ours))
    return provider.listener(wanted, opening, SERVICES[provider.name], None)


def hear(provider: Provider, channel: str, *messages: bytes, **options: Sequence[str]) -> Heard:
    """What one batch on a fresh connection says."""
    return listening(provider, channel, **options).hear(messages)
