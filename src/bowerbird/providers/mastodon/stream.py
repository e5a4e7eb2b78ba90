"""Mastodon's streams: the channels, how to connect, and the messages.

Servers publish neither how often a connection may be opened nor how to back off; those numbers are
ours.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Raw, Struct

from bowerbird.errors import UserError
from bowerbird.model import (
    EPOCH,
    Answer,
    Ask,
    Backoff,
    Channel,
    Facet,
    Heard,
    KeyTime,
    Limit,
    Opening,
    Outcome,
    Page,
    Request,
    Retuned,
    ServerInfo,
    Service,
    Subject,
    Subscription,
    WindowKind,
    Wire,
    tag_form,
)
from bowerbird.providers import headers
from bowerbird.providers.items import Reader
from bowerbird.providers.mastodon.parse import MastodonPage, parse_outcome, statuses
from bowerbird.providers.page import is_number
from bowerbird.providers.streaming import (
    NO_ANSWER,
    Batch,
    MessageReader,
    Values,
    at_most,
    chosen,
    flag,
    no_stream,
    single,
    subscribe,
)
from bowerbird.providers.text import iso

# Channels

SSE = "_events"
"""Suffix of channels that use server-sent events; the others are WebSockets."""
MASTODON_KEYS = KeyTime(EPOCH, bits=16)
ULID_KEYS = KeyTime(EPOCH, bits=80, digits="0123456789ABCDEFGHJKMNPQRSTVWXYZ", length=26)
"""GoToSocial."""
PLEROMA_KEYS = KeyTime(
    EPOCH,
    bits=64,
    digits="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    length=18,
)
DELIVERY = timedelta(minutes=1)
"""Posts of other servers arrive late but their id has the time of writing: most are delivered
within this time."""
MAX_TAGS = 100
_SCOPES = {"public": "all", "local": "local", "remote": "remote"}
_FILLS = {**dict.fromkeys(_SCOPES, "public"), "hashtag": "hashtag", "hashtag_local": "hashtag"}
_MEDIA_OPTION = {"only_media": "`true`: only posts with pictures, sound or video"}
_TAG_OPTION = {"tag": "hashtags without #; only one for server-sent events"}
_OPTIONS = {
    "public": _MEDIA_OPTION,
    "local": _MEDIA_OPTION,
    "remote": _MEDIA_OPTION,
    "hashtag": _TAG_OPTION,
    "hashtag_local": _TAG_OPTION,
    "list": {"list": "the id of a list of the token's own user"},
}
_CONNECTIONS = Limit(
    bucket="{service}/{credential}/connections",
    allowance=100,
    window=timedelta(minutes=5),
    kind=WindowKind.FIRST_CALL,
)
_BACKOFF = Backoff(first=timedelta(seconds=1), most=timedelta(minutes=5))


def _channel(name: str) -> Channel:
    base, is_sse = base_name(name), name.endswith(SSE)
    return Channel(
        facet=Facet(
            name=name,
            subject=Subject.WORD,
            yields=frozenset({"users", "posts"}),
            limits=(_CONNECTIONS,),
        ),
        wire=Wire.EVENTS if is_sse else Wire.WEBSOCKET,
        options=_OPTIONS[base],
        needs=frozenset(() if base in _SCOPES else _OPTIONS[base]),
        kinds=frozenset({"user"}),
        # Three heartbeats: every 15 seconds with server-sent events, a ping every 30 on a
        # WebSocket.
        silence=timedelta(seconds=45 if is_sse else 90),
        disorder=DELIVERY,
        fills=_FILLS.get(base, ""),
        key_time=MASTODON_KEYS,
        lost=_BACKOFF,
        refused=_BACKOFF,
        limited=Backoff(first=timedelta(minutes=1), most=timedelta(minutes=5)),
    )


def base_name(channel: str) -> str:
    return channel.removesuffix(SSE)


CHANNELS: Mapping[str, Channel] = {
    name + suffix: _channel(name + suffix) for suffix in ("", SSE) for name in _OPTIONS
}


def _check_tags(channel: str, values: Values) -> Values:
    tags = tuple(dict.fromkeys(tag_form(value.removeprefix("#")) for value in values))
    for tag in tags:
        if not re.fullmatch(r"[^\s/?#,:&]{1,200}", tag):
            raise UserError(
                f"Stream {channel}: invalid hashtag {tag!r}.",
                "Write it without spaces or punctuation.",
            )
    return (
        (single(channel, "tag", tags),)
        if channel.endswith(SSE)
        else at_most(channel, "hashtags", tags, MAX_TAGS)
    )


def _check_list(channel: str, values: Values) -> Values:
    value = single(channel, "list", values)
    if not re.fullmatch(r"[0-9A-Za-z]{1,30}", value):
        raise UserError(f"Stream {channel}: invalid list {value!r}.", "Write its id on the server.")
    return (value,)


_CHECKS = {"only_media": flag("only_media"), "tag": _check_tags, "list": _check_list}


def subscription(channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
    return subscribe(CHANNELS, _CHECKS, channel, options)


def fill_targets(wanted: Subscription) -> tuple[str, ...]:
    """Return the target of `public` or `hashtag` that lists the same posts."""
    name = base_name(wanted.channel)
    if name in _SCOPES:
        return (_SCOPES[name] + (":media" if chosen(wanted, "only_media") == "true" else ""),)
    tags = ",".join(wanted.options.get("tag", ()))
    return (f"local:{tags}" if name == "hashtag_local" else tags,) if tags else ()


# Connecting


def _streams(wanted: Subscription) -> list[dict[str, str]]:
    """Return the streams of a subscription as a WebSocket names them, one per hashtag or list."""
    name = base_name(wanted.channel)
    stream = {
        "local": "public:local",
        "remote": "public:remote",
        "hashtag_local": "hashtag:local",
    }.get(name, name)
    if chosen(wanted, "only_media") == "true":
        stream += ":media"
    options = [
        (option, value) for option in ("tag", "list") for value in wanted.options.get(option, ())
    ]
    return [{"stream": stream, option: value} for option, value in options] or [{"stream": stream}]


def open_stream(wanted: Subscription) -> Opening:
    """Return how to connect: the first stream is in the URL, the others are subscribed to once the
    WebSocket is open."""
    path = "/api/v1/streaming"
    first, *others = _streams(wanted)
    if not wanted.channel.endswith(SSE):
        greetings = tuple(msgspec.json.encode({"type": "subscribe", **each}) for each in others)
        return Opening(request=Request(path=path, query=tuple(first.items())), greetings=greetings)
    stream = first.pop("stream")
    media = (("only_media", "true"),) if stream.endswith(":media") else ()
    path = f"{path}/{stream.removesuffix(':media').replace(':', '/')}"
    return Opening(
        request=Request(
            path=path, query=(*media, *first.items()), headers={"accept": "text/event-stream"}
        )
    )


def update_subscription(before: Subscription, after: Subscription) -> Retuned | None:
    """Return the messages that change an open WebSocket, new streams first; server-sent events need
    a new connection."""
    if after.channel.endswith(SSE):
        return None
    old, new = _streams(before), _streams(after)
    orders = [("subscribe", each) for each in new if each not in old] + [
        ("unsubscribe", each) for each in old if each not in new
    ]
    return Retuned(
        messages=tuple(msgspec.json.encode({"type": order, **each}) for order, each in orders)
    )


def refused(answer: Answer) -> Page:
    """Parse the response that came instead of a stream."""
    outcome, detail = parse_outcome(answer)
    if answer.status == 401 and "scopes" in detail:
        outcome = Outcome.FORBIDDEN_SCOPE
    return no_stream(answer, outcome, detail, headers.reading(answer.headers, "x-ratelimit"))


# Messages

_ERRORS = {
    400: Outcome.BAD_REQUEST,
    401: Outcome.BAD_TOKEN,
    403: Outcome.FORBIDDEN_SCOPE,
    429: Outcome.RATE_LIMITED,
}
_MAX_KEY = 300
_MAX_UNDATED = 10_000
_FIRST_SERVER = datetime(2016, 1, 1, tzinfo=UTC)


class _Frame(Struct):
    event: str = ""
    payload: Raw = Raw(b"")
    error: str | None = None
    status: int | None = None


_frames, _strings = Reader(_Frame), msgspec.json.Decoder(str)


class MastodonReader(MessageReader[MastodonPage]):
    """Parses statuses, edits and deletions from a WebSocket or server-sent events."""

    def __init__(
        self, wanted: Subscription, facet: Facet, service: Service, server: ServerInfo
    ) -> None:
        super().__init__()
        self._ask, self._facet, self._service, self._server = (
            Ask(wanted.channel, ()),
            facet,
            service,
            server,
        )
        self._is_sse = wanted.channel.endswith(SSE)
        self._undated: deque[tuple[datetime, str]] = deque()
        """The posts of the last minute, on servers whose ids have no time."""
        self._newest_at = EPOCH

    def new_page(self) -> MastodonPage:
        return MastodonPage(self._ask, self._facet, NO_ANSWER, self._service, self._server)

    def hear(self, messages: Sequence[bytes]) -> Heard:
        heard = super().hear(messages)
        return (
            heard
            if heard.head is None
            else msgspec.structs.replace(heard, head=self._fill_from(heard.head))
        )

    def read(self, batch: Batch[MastodonPage], message: bytes) -> None:
        event, payload = _parse_event(message) if self._is_sse else _parse_frame(batch, message)
        if event in ("update", "status.update"):
            status = statuses.read(payload)
            # The same post is sent once for each subscribed hashtag.
            if self.recent.is_repeated(status.id, hash(payload)):
                batch.count()
                return
            at, written_at = key_time(status.id), iso(status.created_at)
            if at is None and written_at is not None:
                self._remember(written_at, status.id)
            batch.begin_post(status.id, at or written_at)
            batch.page.add_status(status, payload, batch.page.ids)
        elif event == "delete":
            key = payload.decode().strip().strip('"')
            if not (key.isprintable() and 0 < len(key) <= _MAX_KEY):
                raise ValueError("a deletion without a key")
            batch.delete(Subject.POST, key)

    def _remember(self, at: datetime, key: str) -> None:
        self._undated.append((at, key))
        self._newest_at = max(self._newest_at, at)
        while len(self._undated) > 1 and (
            self._undated[1][0] <= self._newest_at - DELIVERY or len(self._undated) > _MAX_UNDATED
        ):
            self._undated.popleft()

    def _fill_from(self, head: str) -> str:
        """Return a key about a minute before the newest one: a listing from there includes posts
        that were delivered late."""
        at = key_time(head)
        if at is not None:
            return next(form for form in _KEY_FORMS if form.time_of(head) == at).key_at(
                at - DELIVERY
            )
        return self._undated[0][1] if self._undated else head


_KEY_FORMS = (MASTODON_KEYS, ULID_KEYS, PLEROMA_KEYS)


def key_time(key: str) -> datetime | None:
    """Return when the server received a post, if its id tells; `created_at` is only what the
    author's server claims."""
    if is_number(key):
        # Longer numbers are not times of this century.
        at = MASTODON_KEYS.time_of(key) if len(key) <= 18 else None
    else:
        at = ULID_KEYS.time_of(key) or PLEROMA_KEYS.time_of(key)
    return at if at is not None and at > _FIRST_SERVER else None


def _parse_frame(batch: Batch[MastodonPage], message: bytes) -> tuple[str, bytes]:
    """Return event and payload of a WebSocket frame; an error frame closes the connection."""
    frame = _frames.read(message)
    if frame.error is not None:
        batch.close(
            _ERRORS.get(frame.status or 0, Outcome.OVERLOADED),
            f"{frame.status or ''} {frame.error}",
        )
        return "", b""
    payload = bytes(frame.payload)
    # Mastodon sends the payload as JSON inside a string.
    return frame.event, _strings.decode(payload).encode() if payload.startswith(b'"') else payload


def _parse_event(message: bytes) -> tuple[str, bytes]:
    """Return name and data of a server-sent event; comments (`:thump`) have neither."""
    event, data = "", []
    for line in message.splitlines():
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            event = value.decode()
        elif name == b"data":
            data.append(value)
    return event, b"\n".join(data)
