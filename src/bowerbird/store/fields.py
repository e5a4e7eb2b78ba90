"""Which columns an item fills, and what changed between two sightings. Pure.

`None` means that the service did not say: it never overwrites what is known. An emptied field comes as an empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from bowerbird.clock import to_micros
from bowerbird.model import Post, PostKind, User
from bowerbird.ports import Row
from bowerbird.store.people.names import is_provisional

Values = tuple[Any, ...]

USER_FIELDS = (
    "handle", "name", "description", "location", "url", "language", "avatar", "gender", "time_zone", "created_at",
    "followers", "following", "posts", "newest_post_at", "is_protected", "is_bot", "is_verified", "labels", "opts_out",
)  # fmt: skip
POST_FIELDS = (
    "kind", "created_at", "text", "language", "reply_to", "repost_of", "quote_of", "replies", "reposts", "likes",
    "edited_at", "url", "source", "warning", "is_sensitive", "links", "place", "listed_at", "is_time_doubtful", "root", "labels",
    "quotes", "via", "edit_of", "is_cut", "poll", "emoji",
)  # fmt: skip
USER_FLAGS = frozenset({"is_protected", "is_bot", "is_verified", "opts_out"})
USER_COUNTERS = frozenset({"followers", "following", "posts", "newest_post_at"})
POST_COUNTERS = frozenset({"replies", "reposts", "likes", "quotes", "emoji", "poll"})
"""What changes without the author: a poll by its votes, and where an edit changes it the edit itself is a change besides."""

POSTS_COUNTER = USER_FIELDS.index("posts")
OPTS_OUT = USER_FIELDS.index("opts_out")
REFERENCES = frozenset({"kind", "reply_to", "repost_of", "quote_of", "via", "edit_of"})
"""What a post refers to never changes: it only becomes known."""
VERSIONED = ("text", "language", "warning", "is_sensitive", "links", "place", "labels", "edited_at", "is_cut", "poll")
"""What an edit of a post may change, besides what hangs on it."""
_VERSIONED_AT = tuple(POST_FIELDS.index(name) for name in VERSIONED)
_TEXT_AT, _EDITED_AT = POST_FIELDS.index("text"), POST_FIELDS.index("edited_at")
_WORDS_AT = (_TEXT_AT, POST_FIELDS.index("warning"))
_KIND_AT = POST_FIELDS.index("kind")
_CUT_AT = POST_FIELDS.index("is_cut")
_CUT_FIELDS_AT = (_TEXT_AT, POST_FIELDS.index("links"), _CUT_AT)
_REFERENCES_AT = tuple(POST_FIELDS.index(name) for name in ("reply_to", "repost_of", "quote_of"))
_POST_KEEPS = frozenset({"kind", "created_at", "listed_at"})

_BIT = {None: None, False: 0, True: 1}
_KIND = {kind: kind.value for kind in PostKind}
_encode = msgspec.json.Encoder(order="deterministic").encode


def last_columns(fields: Sequence[str]) -> Callable[[Row], Values]:
    """Reads these columns of rows that have them last, in this order."""
    by_name, last = itemgetter(*fields), itemgetter(slice(-len(fields), None))
    # A row of SQLite compares each name with all of its names: of one with thirty columns that takes longer than to fetch it.
    return lambda row: by_name(row) if type(row) is dict else last(row)


def user_values(user: User) -> Values:
    """The columns `USER_FIELDS` of one profile."""
    u = user
    return (
        u.handle, u.name, u.description, u.location, u.url, u.language, u.avatar, u.gender, u.time_zone,
        None if u.created_at is None else to_micros(u.created_at),
        u.followers, u.following, u.posts,
        None if u.newest_post_at is None else to_micros(u.newest_post_at),
        _BIT[u.is_protected], _BIT[u.is_bot], _BIT[u.is_verified], _list(u.labels), _BIT[u.opts_out],
    )  # fmt: skip


def post_values(post: Post) -> Values:
    """The columns `POST_FIELDS` of one post."""
    p = post
    return (
        _KIND[p.kind], None if p.created_at is None else to_micros(p.created_at), p.text, p.language,
        p.reply_to, p.repost_of, p.quote_of, p.replies, p.reposts, p.likes,
        None if p.edited_at is None else to_micros(p.edited_at), p.url, p.source, p.warning, _BIT[p.is_sensitive],
        _list(p.links), None if p.place is None else _encode(p.place).decode(),
        None if p.listed_at is None else to_micros(p.listed_at), 1 if p.is_time_doubtful else None, p.root, _list(p.labels),
        p.quotes, p.via, p.edit_of, _BIT[p.is_cut],
        None if p.poll is None else _encode(p.poll).decode(), None if p.emoji is None else _encode(p.emoji).decode(),
    )  # fmt: skip


def _list(values: tuple[str, ...]) -> str | None:
    return _encode(values).decode() if values else None


def bare_user() -> Values:
    """All that is kept of a profile whose owner opted out."""
    return (None,) * OPTS_OUT + (1,)


def bare_post(values: Values) -> Values:
    """All that is kept of a post without its content."""
    return tuple(value if field in _POST_KEEPS else None for field, value in zip(POST_FIELDS, values, strict=True))


def without_copy(values: Values) -> Values:
    """A repost without the words of what it passes on."""
    return tuple(None if field in ("text", "links", "poll") else value for field, value in zip(POST_FIELDS, values, strict=True))


def merged(old: Values, new: Values) -> Values:
    if old == new:
        return old
    return tuple(was if now is None else now for was, now in zip(old, new, strict=True))


def filled(old: Values, new: Values) -> Values:
    """What is known, and where nothing is known what a service says whose word does not count."""
    return tuple(now if was is None else was for was, now in zip(old, new, strict=True))


def merged_post(old: Values, new: Values) -> Values:
    """Two sightings of one post. What it refers to stays: embedded in another, a post is shown without what it quotes itself."""
    if old == new:
        return old
    together = list(merged(old, new))
    if new[_CUT_AT] and old[_CUT_AT] == 0:
        # A list shows the beginning of a text that is known whole.
        for at in _CUT_FIELDS_AT:
            together[at] = old[at]
    for at in _REFERENCES_AT:
        if old[at] is not None and not is_provisional(old[at]):
            together[at] = old[at]
    if new[_KIND_AT] == PostKind.POST and any(together[at] is not None for at in _REFERENCES_AT):
        together[_KIND_AT] = old[_KIND_AT]
    return tuple(together)


def reads_otherwise(old: Values, new: Values) -> bool:
    """Whether the words of a post are others; one that is shown without its words says nothing of them."""
    return new[_TEXT_AT] is not None and any(old[at] != new[at] for at in _WORDS_AT)


post_edited_at = itemgetter(_EDITED_AT)
"""When the version was made that the columns of a post are of; None for the first one."""


def is_older(old: Values, new: Values) -> bool:
    """Whether the later sighting shows an older version of the post."""
    return old[_EDITED_AT] is not None and (new[_EDITED_AT] or 0) < old[_EDITED_AT]


def is_newer(old: Values, new: Values) -> bool:
    return new[_EDITED_AT] is not None and new[_EDITED_AT] > (old[_EDITED_AT] or 0)


def edited(old: Values, new: Values, edited_at: int | None) -> Values:
    """A post in another version: all that belongs to a version is of the same one, what is empty in it too. One that is shown
    without its words says nothing of them."""
    if new[_TEXT_AT] is None:
        return merged_post(old, new)
    together = list(merged_post(old, new))
    for at in _VERSIONED_AT:
        together[at] = new[at]
    together[_EDITED_AT] = edited_at
    return tuple(together)


def changed_fields(fields: Sequence[str], old: Values, new: Values) -> list[str]:
    return [field for field, was, now in zip(fields, old, new, strict=True) if was != now]


def changes_of_user(old: Values, new: Values) -> list[str]:
    """What changed in a profile. A flag that nobody told us is false: to be told that it is so changes nothing."""
    if old == new:
        return []
    pairs = zip(USER_FIELDS, old, new, strict=True)
    return [field for field, was, now in pairs if was != now and (was or now or field not in USER_FLAGS)]


def history_texts(fields: Sequence[str], changed: Sequence[str], old: Values, new: Values) -> tuple[str, str]:
    """The changed fields before and after, as JSON."""
    before, after = dict(zip(fields, old, strict=True)), dict(zip(fields, new, strict=True))
    return as_json({name: before[name] for name in changed}), as_json({name: after[name] for name in changed})


def as_json(fields: dict[str, Any]) -> str:
    """Fields as history keeps them."""
    return _encode(fields).decode()
