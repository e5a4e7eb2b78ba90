"""Hashtags: a fixed set per community, and those that events bring. In arrays a number stands for the name."""

from __future__ import annotations

import re

from bowerbird.simulated.world.people.vocabulary import TOPICS, TOWNS
from bowerbird.simulated.world.posts.event_words import KINDS, PLACE_PATTERN, event_at_place, place_name

NO_TAG = -1
NO_EVENT = -1
FIRST_EVENT_TAG = 1_000_000
EVENTS_PER_DAY = 8
TAGS_PER_EVENT = 4
MAIN, PLACE, LIVE, NEWS = range(TAGS_PER_EVENT)
"""The hashtags of an event: `#barokilaquake`, `#barokila`, `#barokilalive` and `#barokilanews`."""
_DAY_ZERO = 50_000
"""Events count days from far enough back that no number is negative."""

TAGS_PER_TOWN = len(TOPICS)

_NAMES = tuple(f"{topic}{town.code.lower()}{index}" if index else topic for index, town in enumerate(TOWNS) for topic in TOPICS)
_NUMBERS = {name: number for number, name in enumerate(_NAMES)}
_EVENT_NAME = re.compile(rf"({PLACE_PATTERN})({'|'.join((*KINDS, 'live', 'news'))})?")


def event_number(day: int, nth: int) -> int:
    """Return the number of the nth event that begins on a day."""
    return (day + _DAY_ZERO) * EVENTS_PER_DAY + nth


def event_kind(event: int) -> str:
    day, nth = divmod(event, EVENTS_PER_DAY)
    return KINDS[((day - _DAY_ZERO) * 7 + nth) % len(KINDS)]


def event_tag(event: int, variant: int = MAIN) -> int:
    return FIRST_EVENT_TAG + event * TAGS_PER_EVENT + variant


def tag_name(tag: int) -> str:
    if tag < FIRST_EVENT_TAG:
        return _NAMES[tag]
    event, variant = divmod(tag - FIRST_EVENT_TAG, TAGS_PER_EVENT)
    return place_name(event) + {MAIN: event_kind(event), PLACE: "", LIVE: "live", NEWS: "news"}[variant]


def tag_number(name: str) -> int:
    """The tag of that name, upper or lower case; `NO_TAG` if no post can carry it."""
    known = _NUMBERS.get(name.lower())
    if known is not None:
        return known
    match = _EVENT_NAME.fullmatch(name.lower())
    if match is None:
        return NO_TAG
    event = event_at_place(match[1])
    variant = {None: PLACE, "live": LIVE, "news": NEWS}.get(match[2], MAIN)
    return event_tag(event, variant) if variant != MAIN or match[2] == event_kind(event) else NO_TAG
