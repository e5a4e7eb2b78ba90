"""Mastodon's streaming server: events over long answers and over WebSockets, for whoever has a user's token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from bowerbird.model import Request, Wire
from bowerbird.simulated.feeds import Feed, Sent
from bowerbird.simulated.mastodon.call import refuse
from bowerbird.simulated.mastodon.federation import LATEST as DELAYED
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.mastodon.streaming.channels import Carrier, Channel, at_path, named
from bowerbird.simulated.streaming.agenda import LATEST, Agenda, in_order
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.wire import Params, RefusedError, Reply, encode
from bowerbird.simulated.world import Happening, Kind
from bowerbird.simulated.world.posts.rows import Row
from bowerbird.simulated.world.settings import to_ms

PREFIX = "/api/v1/streaming"
THUMP = timedelta(seconds=15)
_EDITED_SOON = 3_700_000
"""Where edits may come first, of posts that are edited within so many ms."""
_AFTER = 2_000
_LATEST = LATEST + DELAYED + _EDITED_SOON + _AFTER
_NAMES = {Kind.WRITTEN: "update", Kind.EDITED: "status.update", Kind.DELETED: "delete"}
_EVENTS = {"content-type": "text/event-stream", "cache-control": "private, no-store"}


class Event(Struct, frozen=True):
    """Something to tell, before it is told on the streams it belongs to."""

    name: str
    row: Row
    payload: bytes


class Streams:
    """Opens connections for those who may listen."""

    def __init__(self, payloads: Payloads, tokens: IssuedTokens) -> None:
        self._write = payloads
        self._tokens = tokens
        self._carrier = Carrier(payloads)
        self._live = payloads.vantage.flavour.live

    def open(self, request: Request, now: datetime) -> Feed | Reply | None:
        """A connection, a refusal, or None for a path that is no stream."""
        path = request.path.rstrip("/")
        if path != PREFIX and not path.startswith(f"{PREFIX}/"):
            return None
        if path == f"{PREFIX}/health" and self._live.has_events:
            return Reply(200, b"OK", {"content-type": "text/plain"})
        is_socket = path == PREFIX
        if not (self._live.has_sockets if is_socket else self._live.has_events):
            return None
        try:
            token, params = self._who(request), Params(request)
            if is_socket:
                return SocketFeed(self._talk(token, now), params)
            channel = at_path(path.removeprefix(f"{PREFIX}/"), params)
            if isinstance(channel, str):
                raise refuse(400, channel)
            return EventFeed(self._talk(token, now), channel, now)
        except RefusedError as refused:
            return self._refusal(refused, is_socket)

    def _refusal(self, refused: RefusedError, is_socket: bool) -> Reply:
        if is_socket and self._live.hides_reasons:
            reason = {"content-type": "text/plain", "x-error-message": f"Error: {refused.message}"}
            return Reply(refused.reply.status, b"", reason)
        own = self._write.vantage.flavour.refusals.get(refused.message)
        return refused.reply if own is None else own.reply()

    def _talk(self, token: Token | None, now: datetime) -> Talk:
        def is_welcome() -> bool:
            if token is None:
                return True
            known = self._tokens.get(token.value)
            return known is not None and known.state == "good"

        return Talk(self._write, self._carrier, is_welcome, to_ms(self._write.world.settings.moment(now)))

    def _who(self, request: Request) -> Token | None:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            value = request.headers.get("sec-websocket-protocol", "") or Params(request).get("access_token")
        if not value.strip():
            if not self._live.needs_user:
                return None
            raise refuse(401, "Missing access token")
        token = self._tokens.get(value.strip())
        if token is None or token.state != "good" or token.kind != "user":
            raise refuse(401, "Invalid access token")
        if not {"read", "read:statuses"} & set(token.scopes):
            raise refuse(401, "Access token does not have the required scopes")
        return token


class Talk:
    """What there is to tell on one connection, whichever way it is written."""

    def __init__(self, payloads: Payloads, carrier: Carrier, is_welcome: Callable[[], bool], after: int) -> None:
        self._write = payloads
        self._world = payloads.world
        self.carrier = carrier
        self.is_welcome = is_welcome
        self._live = payloads.vantage.flavour.live
        told_at = in_order(payloads.world, frozenset(_NAMES))
        self.agenda = Agenda(payloads.world, after, lambda happening: self._told_at(happening, told_at(happening)), _LATEST)

    def _told_at(self, happening: Happening, usual: Sequence[int]) -> Sequence[int]:
        """When this server tells it: a post from elsewhere once it has come, and on some servers one that is edited only then."""
        row = self._world.row(happening.number, happening.ms) if happening.kind in _NAMES else None
        if row is None or not usual:
            return usual
        late = self._write.vantage.delay(row)
        if happening.kind is not Kind.WRITTEN:
            return usual
        edited = self._world.contents.of(row).edited_ms
        if self._live.tells_edits_first and edited and edited - row.ms < _EDITED_SOON and row.gone_at > edited:
            return (max(edited + _AFTER, row.ms + late),)
        return tuple(at + late for at in usual)

    def events(self, now: datetime) -> Iterator[Event]:
        moment = to_ms(self._world.settings.moment(now))
        for happening in self.agenda.take(now):
            row = self._world.row(happening.number, moment)
            if row is None or not self.carrier.is_broadcast(row, moment):
                continue
            if happening.kind is Kind.DELETED:
                yield Event("delete", row, self._write.ids.post(row.number).encode())
            elif self._world.is_open(row.author, moment):
                # What is told first was written down first: a post that comes after its edit shows itself as it was before.
                as_of = row.ms + 1 if happening.kind is Kind.WRITTEN and self._live.tells_edits_first else moment
                yield Event(_NAMES[happening.kind], row, self._write.statuses([row], as_of)[0])


class EventFeed:
    """One stream as server-sent events."""

    wire = Wire.EVENTS
    is_text = False

    def __init__(self, talk: Talk, channel: Channel, now: datetime) -> None:
        self.headers = dict(_EVENTS)
        self._talk = talk
        self._channel = channel
        self._greeting: tuple[bytes, ...] = (b":)\n",)
        self._beat = now + THUMP

    def due(self, now: datetime) -> Sent:
        if not self._talk.is_welcome():
            return Sent(close=(1000, ""))
        frames = [*self._greeting, *(self._frame(event) for event in self._talk.events(now) if self._carries(event))]
        self._greeting = ()
        while self._beat <= now:
            frames.append(b":thump\n\n")
            self._beat += THUMP
        return Sent(tuple(frames), self._talk.agenda.again_at(now, self._beat))

    def receive(self, message: bytes, now: datetime) -> Sent:
        return Sent()

    def end(self) -> None:
        """Nothing is held for a connection."""

    def _carries(self, event: Event) -> bool:
        return self._talk.carrier.carries(self._channel, event.row, is_deletion=event.name == "delete")

    def _frame(self, event: Event) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (event.name.encode(), event.payload)


class _Order(Struct):
    type: str
    stream: str = ""
    tag: str = ""
    list: str = ""


class SocketFeed:
    """Any number of streams on one WebSocket."""

    wire = Wire.WEBSOCKET
    is_text = True

    def __init__(self, talk: Talk, params: Params) -> None:
        self.headers: dict[str, str] = {}
        self._talk = talk
        self._channels: dict[Channel, None] = {}
        wanted = _Order("subscribe", params.get("stream"), params.get("tag"), params.get("list"))
        self._greeting = self._obey(wanted) if wanted.stream else ()

    def due(self, now: datetime) -> Sent:
        if not self._talk.is_welcome():
            return Sent(close=(1000, ""))
        told = tuple(self._frame(event, channel) for event in self._talk.events(now) for channel in self._hearing(event))
        frames, self._greeting = (*self._greeting, *told), ()
        # The server's pings are the door's business; here a beat only means to look again.
        return Sent(frames, self._talk.agenda.again_at(now, now + THUMP))

    def receive(self, message: bytes, now: datetime) -> Sent:
        try:
            return Sent(self._obey(msgspec.json.decode(message, type=_Order)))
        except msgspec.DecodeError:
            return Sent()

    def end(self) -> None:
        """Nothing is held for a connection."""

    def _obey(self, order: _Order) -> tuple[bytes, ...]:
        channel = named(order.stream, order.tag, order.list)
        if isinstance(channel, str):
            return (encode({"error": channel, "status": 400}),)
        if order.type == "subscribe":
            self._channels[channel] = None
        elif order.type == "unsubscribe":
            self._channels.pop(channel, None)
        return ()

    def _hearing(self, event: Event) -> list[Channel]:
        is_deletion = event.name == "delete"
        return [each for each in self._channels if self._talk.carrier.carries(each, event.row, is_deletion=is_deletion)]

    def _frame(self, event: Event, channel: Channel) -> bytes:
        return encode({"stream": channel.shown(), "event": event.name, "payload": event.payload.decode()})
