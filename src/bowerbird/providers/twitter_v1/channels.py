"""The streams of the classic API: data, and what a person may ask of them.

How often a connection may be opened was never published: that number is ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

import msgspec

from bowerbird.errors import UserError
from bowerbird.model import Channel, Facet, Limit, Subject, Subscription, WindowKind
from bowerbird.providers.streaming import Check, Values, at_most, subscribe
from bowerbird.providers.x_shared import any_of, line_channel

_CONNECTIONS = Limit(
    bucket="{service}/{credential}/connections", allowance=15, window=timedelta(minutes=15), kind=WindowKind.FIRST_CALL
)
_SILENCE = timedelta(seconds=90)
"""Three of the empty lines that come every 30 seconds."""
_FILTERS = {
    "track": "words to hear; several words in one text must all be there",
    "follow": "accounts to hear, by id",
    "locations": "boxes to hear, each as `west,south,east,north` in degrees",
}
MOST_WORDS, LONGEST_WORD, _MOST_ACCOUNTS, _MOST_BOXES = 400, 60, 5_000, 25
_LONGEST_QUERY = 500
_KEY = re.compile(r"(?:x:)?(\d{1,20})", re.ASCII)
_DEGREES = re.compile(r"-?\d{1,3}(?:\.\d{1,10})?", re.ASCII)


def _channel(name: str, options: Mapping[str, str], fills: str) -> Channel:
    facet = Facet(name=name, subject=Subject.WORD, yields=frozenset({"users", "posts"}), limits=(_CONNECTIONS,))
    return msgspec.structs.replace(line_channel(facet, options, _SILENCE, fills), kinds=frozenset({"user"}))


CHANNELS: Mapping[str, Channel] = {
    "filter": _channel("filter", _FILTERS, "search"),
    "sample": _channel("sample", {}, ""),
}


def _track(channel: str, values: Values) -> Values:
    words = tuple(dict.fromkeys(word for value in values for part in value.split(",") if (word := " ".join(part.split()))))
    for word in words:
        if len(word.encode(errors="replace")) > LONGEST_WORD:
            raise UserError(
                f"stream {channel}: {word!r} is longer than {LONGEST_WORD} bytes",
                "write fewer or shorter words",
                code="too_large",
            )
    return at_most(channel, "words to track", words, MOST_WORDS)


def _follow(channel: str, values: Values) -> Values:
    found = [(value, _KEY.fullmatch(value)) for value in values]
    for value, key in found:
        if key is None:
            raise UserError(f"stream {channel}: {value!r} is no account's id", "write digits (the facet `profile` tells them)")
    return at_most(channel, "accounts to follow", tuple(key[1] for _, key in found if key), _MOST_ACCOUNTS)


def _locations(channel: str, values: Values) -> Values:
    boxes = tuple(re.sub(r"\s", "", value) for value in values)
    for box in boxes:
        if not _is_box(box):
            raise UserError(
                f"stream {channel}: {box!r} is no box", "write west,south,east,north, for example -9.5,38.6,-9.0,38.9"
            )
    return at_most(channel, "boxes", boxes, _MOST_BOXES)


def _is_box(box: str) -> bool:
    sides = box.split(",")
    if len(sides) != 4 or not all(map(_DEGREES.fullmatch, sides)):
        return False
    west, south, east, north = map(float, sides)
    return -180 <= west < east <= 180 and -90 <= south < north <= 90


_CHECKS: Mapping[str, Check] = {"track": _track, "follow": _follow, "locations": _locations}


_DESK = partial(subscribe, CHANNELS, _CHECKS)


def subscription(channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
    """The subscription meant; a filter needs at least one of its options."""
    wanted = _DESK(channel, options)
    if channel == "filter" and not any(wanted.options.values()):
        raise UserError(f"stream {channel} needs at least one of {', '.join(_FILTERS)}", code="missing_value")
    return wanted


def fill_targets(wanted: Subscription) -> tuple[str, ...]:
    """The searches for the words tracked; a search knows neither ids nor boxes, so nothing else can be filled."""
    words = wanted.options.get("track", ())
    is_words_alone = bool(words) and set(wanted.options) == {"track"}
    return any_of(words, _LONGEST_QUERY) if is_words_alone else ()
