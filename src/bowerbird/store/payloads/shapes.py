"""The shape of a payload: its keys and structure without anything that a person wrote. Pure.

Payloads of one kind are mostly keys, quotes and nulls; a dictionary of shapes saves those, and holds nothing that would
have to be deleted with an account.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

CONSTANTS = frozenset({
    "", "public", "unlisted", "none", "und", "ar", "de", "en", "es", "fa", "fr", "id", "it", "ja", "ko", "nl", "pl", "pt", "ru",
    "th", "tr", "uk", "zh", "image", "gifv", "video", "audio", "photo", "animated_gif", "unknown", "image/jpeg", "image/png",
    "replied_to", "quoted", "retweeted", "Point", "Polygon", "city", "everyone", "tweet",
    "app.bsky.feed.post", "app.bsky.feed.repost", "app.bsky.feed.like", "app.bsky.graph.follow", "app.bsky.actor.profile",
    "app.bsky.embed.images", "app.bsky.embed.images#view", "app.bsky.embed.external", "app.bsky.embed.external#view",
    "app.bsky.embed.record", "app.bsky.embed.record#view", "app.bsky.embed.record#viewRecord", "app.bsky.embed.recordWithMedia",
    "app.bsky.embed.video", "app.bsky.embed.video#view", "app.bsky.richtext.facet", "app.bsky.richtext.facet#tag",
    "app.bsky.richtext.facet#link", "app.bsky.richtext.facet#mention", "app.bsky.feed.defs#postView", "blob",
})  # fmt: skip
"""Words of the networks' own protocols, which no person chooses: the only texts that may stand in a dictionary whole."""
_BEGINNINGS = (
    "https://", "http://", "https://cdn.bsky.app/img/avatar/plain/did:plc:", "https://cdn.bsky.app/img/feed_thumbnail/plain/did:plc:",
    "https://cdn.bsky.app/img/feed_fullsize/plain/did:plc:", "https://pbs.twimg.com/profile_images/", "https://pbs.twimg.com/media/",
    "https://t.co/", "did:plc:", "at://did:plc:", "bafyrei", "bafkrei", "<p>", "20", "202", '<a href="http',
)  # fmt: skip
_ENDINGS = ("</p>", "Z", ".000Z", ".png", ".jpg", ".jpeg", "@jpeg", "</a>")
_KEY = re.compile(r"[A-Za-z_$@][A-Za-z0-9_.$@:#-]{0,39}")
_MOST_ITEMS = 2
"""Of a list: further ones look the same."""
_COMMON = 20
"""A key must be in one of so many payloads: rarer ones save nothing, and may be somebody's own words."""
_DEEPEST = 12
SIZE = 16_384
"""Of a dictionary, in bytes."""


def shape(raw: bytes) -> bytes | None:
    """The payload with every text emptied that is not one of `CONSTANTS`; None for what is no JSON object."""
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return msgspec.json.encode(_masked(document, _DEEPEST)) if isinstance(document, dict) else None


def dictionary(shapes: Sequence[bytes]) -> bytes:
    """The commonest shapes one after the other, the commonest of all at the end, where zstd reaches it most cheaply."""
    documents = [msgspec.json.decode(each) for each in shapes]
    seen = Counter(key for document in documents for key in set(_keys(document)))
    common = {key for key, times in seen.items() if times * _COMMON >= len(documents)}
    counts = Counter(msgspec.json.encode(_with_keys(document, common)) for document in documents)
    return b"".join(reversed(_fitting(counts)))


def _fitting(counts: Counter[bytes]) -> list[bytes]:
    """The commonest first, as many as there is room for."""
    chosen: list[bytes] = []
    room = SIZE
    # Sorted, so that the same payloads give the same bytes, in whatever order they came.
    for each, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if len(each) <= room:
            chosen.append(each)
            room -= len(each)
    return chosen


def _masked(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _masked_text(value)
    if value is None or isinstance(value, bool):
        return value
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {key: _masked(each, depth - 1) for key, each in value.items() if _KEY.fullmatch(key)}
    return [_masked(each, depth - 1) for each in value[:_MOST_ITEMS]] if isinstance(value, list) else 0


def _masked_text(text: str) -> str:
    if text in CONSTANTS:
        return text
    # Asked of all at once first: most texts begin and end like none of them.
    begins, ends = text.startswith(_BEGINNINGS), text.endswith(_ENDINGS)
    beginning = max((each for each in _BEGINNINGS if text.startswith(each)), key=len) if begins else ""
    return beginning + max((each for each in _ENDINGS if text.endswith(each)), key=len) if ends else beginning


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def _with_keys(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _with_keys(each, keys) for key, each in value.items() if key in keys}
    return [_with_keys(each, keys) for each in value] if isinstance(value, list) else value
