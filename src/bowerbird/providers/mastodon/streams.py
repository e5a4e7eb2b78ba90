"""A Mastodon server's streams: how to connect, and what its messages say. Pure, and never raises."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import (
    EPOCH,
    Answer,
    Ask,
    Facet,
    Flavour,
    Heard,
    Opening,
    Outcome,
    Page,
    Request,
    Retuned,
    Service,
    Subject,
    Subscription,
)
from bowerbird.providers.common.reading import headers
from bowerbird.providers.common.reading.items import Reader
from bowerbird.providers.common.reading.listening import NO_ANSWER, Hearing, MessageListener, no_stream
from bowerbird.providers.common.reading.times import iso
from bowerbird.providers.common.snowflakes import is_number
from bowerbird.providers.mastodon.channels import EVENTS, FLAKES, KEY_TIME, LATEST, ULIDS, base_name, has_only_media
from bowerbird.providers.mastodon.reading.gather import MastodonGathering
from bowerbird.providers.mastodon.reading.outcomes import outcome
from bowerbird.providers.mastodon.reading.shapes import Status, statuses

_PATH = "/api/v1/streaming"
_STREAMS = {"local": "public:local", "remote": "public:remote", "hashtag_local": "hashtag:local"}
_LONGEST_KEY = 300
_DIGITS = 18
"""Of the ids of this century: longer numbers tell no time."""
_MOST_UNDATED = 10_000
_FIRST_SERVER = datetime(2016, 1, 1, tzinfo=UTC)
_BY_STATUS = {400: Outcome.BAD_REQUEST, 401: Outcome.BAD_TOKEN, 403: Outcome.FORBIDDEN_SCOPE, 429: Outcome.RATE_LIMITED}


class _Frame(Struct):
    event: str = ""
    payload: Raw = Raw(b"")
    error: str | None = None
    status: int | None = None


_frames = Reader(_Frame)
_texts = msgspec.json.Decoder(str)


def opening(wanted: Subscription) -> Opening:
    """How to connect: of several hashtags the first is in the address, the others are subscribed to once it is open."""
    name = base_name(wanted.channel)
    stream = _STREAMS.get(name, name)
    if name != wanted.channel:
        path = f"{_PATH}/{stream.replace(':', '/')}"
        media = (("only_media", "true"),) if has_only_media(wanted) else ()
        return Opening(request=Request(path=path, query=(*media, *_about(wanted)[:1]), headers={"accept": "text/event-stream"}))
    stream += ":media" if has_only_media(wanted) else ""
    first, *others = _about(wanted) or [("", "")]
    query = (("stream", stream), *((first,) if first[0] else ()))
    greetings = tuple(msgspec.json.encode({"type": "subscribe", "stream": stream, option: value}) for option, value in others)
    return Opening(request=Request(path=_PATH, query=query), greetings=greetings)


def _about(wanted: Subscription) -> list[tuple[str, str]]:
    return [(option, value) for option in ("tag", "list") for value in wanted.options.get(option, ())]


def retuned(before: Subscription, after: Subscription) -> Retuned | None:
    """On a WebSocket streams come and go while it is open: first those that come. A long answer has one alone."""
    if base_name(after.channel) != after.channel:
        return None
    had, has = _subscribed(before), _subscribed(after)
    orders = [("subscribe", each) for each in has if each not in had] + [("unsubscribe", each) for each in had if each not in has]
    return Retuned(messages=tuple(msgspec.json.encode({"type": order, **each}) for order, each in orders))


def _subscribed(wanted: Subscription) -> list[dict[str, str]]:
    """The streams of a WebSocket, as it is told to take them up."""
    name = base_name(wanted.channel)
    stream = _STREAMS.get(name, name) + (":media" if has_only_media(wanted) else "")
    return [{"stream": stream, option: value} for option, value in _about(wanted)] or [{"stream": stream}]


def refused(answer: Answer) -> Page:
    """What came instead of a stream."""
    ended, detail = outcome(answer)
    if answer.status == 401 and "scopes" in detail:
        ended = Outcome.FORBIDDEN_SCOPE
    return no_stream(answer, ended, detail, headers.reading(answer.headers, "x-ratelimit"))


class MastodonListener(MessageListener[MastodonGathering]):
    """Hears a server's statuses, edits and deletions, over a WebSocket or as server-sent events."""

    def __init__(self, wanted: Subscription, facet: Facet, service: Service, flavour: Flavour) -> None:
        super().__init__()
        self._ask, self._facet, self._service, self._flavour = Ask(wanted.channel, ()), facet, service, flavour
        self._is_events = wanted.channel.endswith(EVENTS)
        self._before = _Before()

    def gathering(self) -> MastodonGathering:
        return MastodonGathering(self._ask, self._facet, NO_ANSWER, self._service, self._flavour)

    def hear(self, messages: Sequence[bytes]) -> Heard:
        """The head is what a listing must start from to find also posts that had not come yet."""
        heard = super().hear(messages)
        return heard if heard.head is None else msgspec.structs.replace(heard, head=self._before.stepped_back(heard.head))

    def read(self, hearing: Hearing[MastodonGathering], message: bytes) -> None:
        event, payload = _event(message) if self._is_events else _framed(hearing, message)
        if event in ("update", "status.update"):
            self._tell(hearing, payload)
        elif event == "delete":
            self._lose(hearing, payload)

    def _tell(self, hearing: Hearing[MastodonGathering], raw: bytes) -> None:
        status = statuses.read(raw)
        # The same post comes once for each hashtag that is listened to.
        if self.recent.is_repeated(status.id, hash(raw)):
            hearing.count()
            return
        self._before.heard(status)
        hearing.tell(status.id, taken_in(status))
        hearing.found.post(status, raw, hearing.harvest.ids)

    def _lose(self, hearing: Hearing[MastodonGathering], payload: bytes) -> None:
        key = payload.decode().strip().strip('"')
        if not (key.isprintable() and 0 < len(key) <= _LONGEST_KEY):
            raise ValueError("a deletion that names no post")
        hearing.lose(Subject.POST, key)


def _framed(hearing: Hearing[MastodonGathering], message: bytes) -> tuple[str, bytes]:
    """Event and payload of a WebSocket's frame; an error frame ends the connection."""
    frame = _frames.read(message)
    if frame.error is not None:
        hearing.close(_BY_STATUS.get(frame.status or 0, Outcome.OVERLOADED), f"{frame.status or ''} {frame.error}")
        return "", b""
    payload = bytes(frame.payload)
    # The payload is JSON once more, inside a string.
    return frame.event, _texts.decode(payload).encode() if payload.startswith(b'"') else payload


def _event(message: bytes) -> tuple[str, bytes]:
    """Name and data of a server-sent event; comments (`:thump`) have neither."""
    event, lines = "", []
    for line in message.splitlines():
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            event = value.decode()
        elif name == b"data":
            lines.append(value)
    return event, b"\n".join(lines)


def taken_in(status: Status) -> datetime | None:
    """When the server had the post, which its numeric ids tell; `created_at` is only what the author's server claims."""
    return _told(status.id) or iso(status.created_at)


def _told(key: str) -> datetime | None:
    """When the server had a post, by whichever kind of id it writes."""
    if is_number(key) and len(key) > _DIGITS:
        return None
    at = KEY_TIME.time_of(key) if is_number(key) else ULIDS.time_of(key) or FLAKES.time_of(key)
    return at if at is not None and at > _FIRST_SERVER else None


class _Before:
    """The posts of the last minute, for servers whose ids tell no time: what was there a minute before the newest one."""

    def __init__(self) -> None:
        self._undated: deque[tuple[datetime, str]] = deque()
        self._newest_at = EPOCH

    def heard(self, status: Status) -> None:
        at = iso(status.created_at)
        if at is None or _told(status.id) is not None:
            return
        self._undated.append((at, status.id))
        self._newest_at = max(self._newest_at, at)
        while len(self._undated) > 1 and (self._undated[1][0] <= self._newest_at - LATEST or len(self._undated) > _MOST_UNDATED):
            self._undated.popleft()

    def stepped_back(self, head: str) -> str:
        """A key of a minute before this one, as near as can be known."""
        at = _told(head)
        if at is not None:
            return next(form for form in (KEY_TIME, ULIDS, FLAKES) if form.time_of(head) == at).key_at(at - LATEST)
        return self._undated[0][1] if self._undated else head
