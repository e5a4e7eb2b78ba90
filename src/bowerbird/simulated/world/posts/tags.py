"""Hashtags: a fixed set per community, and those that events bring. In arrays a number stands for the name."""

from __future__ import annotations

import re

from bowerbird.simulated.world.people.vocabulary import EVENTS, TOPICS, TOWNS, VARIANTS

NO_TAG = -1
FIRST_EVENT_TAG = 1_000_000
EVENTS_PER_DAY = 8
_DAY_ZERO = 50_000
"""Event tags count days from far enough back that no number is negative."""

TAGS_PER_TOWN = len(TOPICS)

_NAMES = tuple(f"{topic}{town.code.lower()}{index}" if index else topic for index, town in enumerate(TOWNS) for topic in TOPICS)
_NUMBERS = {name: number for number, name in enumerate(_NAMES)}
_EVENT_NAME = re.compile(rf"({'|'.join(EVENTS)})(\d+)x(\d)({'|'.join(VARIANTS[1:])})?")


def event_tag(day: int, event: int, variant: int = 0) -> int:
    return FIRST_EVENT_TAG + ((day + _DAY_ZERO) * EVENTS_PER_DAY + event) * len(VARIANTS) + variant


def event_of(tag: int) -> int:
    """The first hashtag of the event that a hashtag is of."""
    return tag - (tag - FIRST_EVENT_TAG) % len(VARIANTS)


def tag_name(tag: int) -> str:
    if tag < FIRST_EVENT_TAG:
        return _NAMES[tag]
    rest, variant = divmod(tag - FIRST_EVENT_TAG, len(VARIANTS))
    day, event = divmod(rest, EVENTS_PER_DAY)
    return f"{EVENTS[(day * 7 + event) % len(EVENTS)]}{day - _DAY_ZERO + 10_000}x{event}{VARIANTS[variant]}"


def tag_number(name: str) -> int:
    """The tag of that name, upper or lower case; `NO_TAG` if no post can carry it."""
    known = _NUMBERS.get(name.lower())
    if known is not None:
        return known
    match = _EVENT_NAME.fullmatch(name.lower())
    if match is None or len(match[2]) > 6 or int(match[3]) >= EVENTS_PER_DAY:
        return NO_TAG
    tag = event_tag(int(match[2]) - 10_000, int(match[3]), VARIANTS.index(match[4] or ""))
    return tag if tag_name(tag) == name.lower() else NO_TAG
