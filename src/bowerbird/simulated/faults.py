"""Faults on demand: how often, or from when to when, the service misbehaves. The same seed misbehaves at the same requests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.simulated.wire import Reply, encode
from bowerbird.simulated.world.hashing import mix, unit

KINDS: dict[str, str] = {
    "error_500": "500 with the dialect's error body; the call counts",
    "bad_gateway": "502 with a proxy's HTML page; the call does not count",
    "unavailable": "503 with the dialect's error body; the call does not count",
    "slow": "a good answer after a long time",
    "reset": "the connection is reset after the call was counted",
    "lost_before": "no answer ever; the call was not counted",
    "lost_after": "no answer ever; the call was counted",
    "cut": "the connection ends in the middle of the body",
    "truncated": "200 with half of the JSON",
    "wrong_types": "200 with one item of another type than it should be",
    "html_200": "200 with a page of HTML",
    "limited": "429 with headers although there is allowance left; the call counts",
    "limited_bare": "429 without any header; the call does not count",
    "remaining_high": "the headers promise more calls than are left",
    "remaining_low": "the headers show fewer calls than are left",
    "no_headers": "the limit headers are missing",
    "bad_token": "401 for a good token; the call does not count",
}

MESSAGE_KINDS: dict[str, str] = {
    "stream_cut": "the connection breaks, over lines and events in the middle of the next message",
    "stream_silence": "the connection stays open, but nothing comes any more, not even a sign of life",
    "stream_duplicate": "the message comes twice",
    "stream_garbage": "something unreadable comes before it",
    "stream_disorder": "the message comes after the next one, where the real network does that (line streams)",
    "stream_oversized": "a commit is announced without its content (firehose)",
}
"""Faults of streams; each has a rate per message, apart from the others."""

UNCOUNTED = frozenset({"bad_gateway", "unavailable", "lost_before", "limited_bare", "bad_token"})
NO_STREAM = UNCOUNTED | {"error_500", "reset", "lost_after", "cut", "limited"}
"""With these no stream is opened, and an outage of this kind breaks the open ones; the others only spoil an answer."""
_PAGE = b"<!DOCTYPE html><html><head><title>%b</title></head><body><h1>%b</h1><hr>nginx</body></html>"


class Outage(Struct, frozen=True):
    """From `since` until `until`, in the service's own time, every request meets this fault."""

    since: datetime
    until: datetime
    kind: str = "bad_gateway"


class Faults(Struct, frozen=True, kw_only=True):
    """What goes wrong; nothing by default."""

    seed: int = 1
    rates: dict[str, float] = {}
    messages: dict[str, float] = {}
    """Rates of the faults that streams meet, per message."""
    outages: tuple[Outage, ...] = ()
    skew: timedelta = timedelta(0)
    """How far the service's clock is ahead of true time."""
    slowness: timedelta = timedelta(seconds=20)

    def __post_init__(self) -> None:
        unknown = (set(self.rates) | {outage.kind for outage in self.outages}) - set(KINDS)
        if unknown:
            raise UserError(
                f"There is no fault named {', '.join(sorted(unknown))}", f"there are {', '.join(KINDS)}.", code="unknown_name"
            )
        if min(self.rates.values(), default=0) < 0 or sum(self.rates.values()) > 1:
            raise UserError(f"The rates of all faults together must lie between 0 and 1; these are {self.rates}.")
        strange = set(self.messages) - set(MESSAGE_KINDS)
        if strange:
            raise UserError(
                f"There is no stream fault named {', '.join(sorted(strange))}",
                f"there are {', '.join(MESSAGE_KINDS)}.",
                code="unknown_name",
            )
        if not all(0 <= rate <= 1 for rate in self.messages.values()):
            raise UserError(f"The rate of a stream fault must lie between 0 and 1; these are {self.messages}.")

    def at(self, serial: int, now: datetime) -> str | None:
        """Which fault the request with this number meets, if any."""
        outage = self.outage(now)
        if outage is not None:
            return outage.kind
        draw = unit(mix(serial, self.seed)) if self.rates else 1.0
        for kind, rate in self.rates.items():
            draw -= rate
            if draw < 0:
                return kind
        return None

    def outage(self, now: datetime) -> Outage | None:
        return next((outage for outage in self.outages if outage.since <= now < outage.until), None)

    def hits(self, kind: str, connection: int, serial: int) -> bool:
        """Whether a stream fault meets the message of this number on this connection."""
        rate, salt = self.messages.get(kind, 0.0), list(MESSAGE_KINDS).index(kind)
        return rate > 0 and unit(mix(connection << 32 | serial, self.seed * 64 + salt)) < rate


NO_FAULTS = Faults()


def spoil(reply: Reply, kind: str, serial: int) -> Reply:
    """A good reply made bad in a way that still arrives as a whole."""
    if kind == "truncated":
        return Reply(reply.status, reply.body[: len(reply.body) // 2], reply.headers)
    if kind == "wrong_types":
        return Reply(reply.status, _wrong_types(reply.body, serial), reply.headers)
    if kind == "html_200":
        return Reply(200, page("Welcome"), {**reply.headers, "content-type": "text/html"})
    if kind in ("remaining_high", "remaining_low", "no_headers"):
        return Reply(reply.status, reply.body, _lie(reply.headers, kind))
    return reply


def page(title: str) -> bytes:
    return _PAGE % (title.encode(), title.encode())


def with_no_remainder(headers: dict[str, str]) -> dict[str, str]:
    return {name: "0" if name.endswith("remaining") else text for name, text in headers.items()}


def _lie(headers: dict[str, str], kind: str) -> dict[str, str]:
    if kind == "no_headers":
        return {name: text for name, text in headers.items() if "limit" not in name}
    lied = dict(headers)
    for name in headers:
        if name.endswith("remaining"):
            lied[name] = str(int(headers[name]) * 2 + 5 if kind == "remaining_high" else int(headers[name]) // 2)
    return lied


def _wrong_types(body: bytes, serial: int) -> bytes:
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
    if isinstance(value, list) and value:
        place = mix(serial, 3) % len(value)
        value[place] = _other(value[place], serial)
        return encode(value)
    return encode({name: _other(each, serial) for name, each in value.items()} if isinstance(value, dict) else value)


def _other(value: Any, serial: int) -> Any:
    """Something of another type."""
    choice = mix(serial, 4) % 4
    if isinstance(value, dict) and choice < 2:
        return {**value, "id": {"not": "an id"}, "id_str": [], "created_at": 12}
    return (None, "text", 42 if not isinstance(value, int) else "42", [[]])[choice]
