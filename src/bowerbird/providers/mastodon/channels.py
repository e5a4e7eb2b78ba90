"""The streams of a Mastodon server: data, and what a person may ask of them.

Servers publish neither how often a connection may be opened nor how to back off: those numbers are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from bowerbird.errors import UserError
from bowerbird.model import EPOCH, Backoff, Channel, Facet, KeyTime, Limit, Subject, Subscription, WindowKind, Wire, tag_form
from bowerbird.providers.common.asking.subscribing import Desk, Values, chosen, flag, single

EVENTS = "_events"
"""Ends the names of the channels that come as server-sent events; the others are WebSockets."""
_NAMES = ("public", "local", "remote", "hashtag", "hashtag_local", "list")
_SCOPES = {"public": "all", "local": "local", "remote": "remote"}
_FILLS = {**dict.fromkeys(_SCOPES, "public"), "hashtag": "hashtag", "hashtag_local": "hashtag"}

_CONNECTIONS = Limit(
    bucket="{service}/{credential}/connections", allowance=100, window=timedelta(minutes=5), kind=WindowKind.FIRST_CALL
)
KEY_TIME = KeyTime(EPOCH, bits=16)
"""Of Mastodon itself."""
ULIDS = KeyTime(EPOCH, bits=80, digits="0123456789ABCDEFGHJKMNPQRSTVWXYZ", length=26)
"""Of GoToSocial."""
FLAKES = KeyTime(EPOCH, bits=64, digits="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", length=18)
"""Of Pleroma and its kin."""
LATEST = timedelta(minutes=1)
"""A post of another server comes when it is delivered, but its id is of the time it was written: most are here by then."""
_BACKOFF = Backoff(first=timedelta(seconds=1), most=timedelta(minutes=5))
_LIMITED = Backoff(first=timedelta(minutes=1), most=timedelta(minutes=5))
_MEDIA = {"only_media": "`true`: only posts with pictures, sound or film"}
_TAGS = {"tag": "hashtags to hear, without #; as server-sent events one alone"}
_LIST = {"list": "the id of a list of the token's own user"}
_TAG = re.compile(r"[^\s/?#,:&]{1,200}")
MOST_TAGS = 100


def base_name(channel: str) -> str:
    """The channel's name whichever way it comes."""
    return channel.removesuffix(EVENTS)


def _channel(name: str) -> Channel:
    plain = base_name(name)
    is_events = plain != name
    options = _LIST if plain == "list" else _MEDIA if plain in _SCOPES else _TAGS
    return Channel(
        facet=Facet(name=name, subject=Subject.WORD, yields=frozenset({"users", "posts"}), limits=(_CONNECTIONS,)),
        wire=Wire.EVENTS if is_events else Wire.WEBSOCKET,
        options=options,
        needs=frozenset() if plain in _SCOPES else frozenset(options),
        kinds=frozenset({"user"}),
        # Three heartbeats: every 15 seconds as server-sent events, a ping every 30 on a WebSocket.
        silence=timedelta(seconds=45 if is_events else 90),
        disorder=LATEST,
        fills=_FILLS.get(plain, ""),
        key_time=KEY_TIME,
        lost=_BACKOFF,
        refused=_BACKOFF,
        limited=_LIMITED,
    )


CHANNELS: Mapping[str, Channel] = {name + end: _channel(name + end) for end in ("", EVENTS) for name in _NAMES}


def _tags(channel: str, values: Values) -> Values:
    tags = tuple(dict.fromkeys(tag_form(value.removeprefix("#")) for value in values))
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise UserError(f"stream {channel}: {tag!r} is no hashtag; write it without spaces or punctuation")
    if channel.endswith(EVENTS):
        single(channel, "tag", tags)
    if len(tags) > MOST_TAGS:
        raise UserError(f"stream {channel}: {len(tags)} hashtags are more than the {MOST_TAGS} of one stream; split them")
    return tags


def _list(channel: str, values: Values) -> Values:
    value = single(channel, "list", values)
    if not re.fullmatch(r"[0-9A-Za-z]{1,30}", value):
        raise UserError(f"stream {channel}: {value!r} is no list; write its id on the server")
    return (value,)


DESK = Desk(CHANNELS, {"only_media": flag("only_media"), "tag": _tags, "list": _list})


def has_only_media(wanted: Subscription) -> bool:
    return chosen(wanted, "only_media") == "true"


def fill_targets(wanted: Subscription) -> tuple[str, ...]:
    """The target of `public` or `hashtag` that lists the same posts; none where there is none."""
    name = base_name(wanted.channel)
    if name in _SCOPES:
        return (_SCOPES[name] + (":media" if has_only_media(wanted) else ""),)
    tags = ",".join(wanted.options.get("tag", ()))
    return (f"local:{tags}" if name == "hashtag_local" else tags,) if tags else ()
