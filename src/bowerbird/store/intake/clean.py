"""Makes items fit for both databases: mends texts and numbers, and sets aside what cannot be mended. Pure.

PostgreSQL refuses NUL characters and index entries over 2,704 bytes, neither database takes lone surrogates or integers of
more than 64 bits. Nearly every page is fine, so a page is checked as a whole first and item by item only when that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec.structs import astuple

from bowerbird.model import Broken, Page, Poll, PollOption, Post, Relation, RelationEnd, Subject, User
from bowerbird.store.intake.carriers import carriers, without_payloads

LONGEST_ID = 600
"""Characters; at four bytes each still an index entry that PostgreSQL takes."""
LONGEST_TEXT = 200_000
_BIGGEST = 2**63 - 1

Item = TypeVar("Item", User, Post)

_USER_TEXTS = ("handle", "name", "description", "location", "url", "language", "avatar")
_POST_TEXTS = ("text", "language", "reply_to", "repost_of", "quote_of", "root", "via", "edit_of", "url", "source", "warning")
_POST_NUMBERS = ("replies", "reposts", "likes", "quotes")
_POST_TIMES = ("created_at", "edited_at", "listed_at")
_POST_KEYS = ("tags", "cashtags", "mentions")
_REFERENCES = frozenset({"reply_to", "repost_of", "quote_of", "root", "via", "edit_of"})
_zone = attrgetter("tzinfo")

Columns = Mapping[str, Sequence[Any]]
"""The fields of some posts by name, each in the order of the posts."""


class _UnfitError(Exception):
    """The item has no usable identity."""


def clean_page(page: Page) -> Page:
    """The same page with nothing in it that a database refuses; what was set aside is among the broken."""
    users, bad_users = _clean(page.users, _users_fit, _mended_user, Subject.USER)
    posts, bad_posts = _clean(page.posts, _posts_fit, _mended_post, Subject.POST)
    if bad_posts:
        # By the names under which they are shown: those that cannot be stored are not in the columns any more.
        posts = without_payloads(posts, carriers(page.posts, {p.id for p in page.posts} - {p.id for p in posts}))
    if users is page.users and posts is page.posts and _keys_fit(page) and _words_fit(page) and _is_plain(_own_words(page)):
        return page
    return msgspec.structs.replace(
        page,
        users=users,
        posts=posts,
        relations=tuple(r for r in page.relations if all(map(is_key, _names(r)))),
        ended=tuple(end for end in page.ended if all(map(is_key, _names(end)))),
        gone=tuple(g for g in page.gone if is_key(g.key)),
        withdrawn_places=tuple(each for each in page.withdrawn_places if is_key(each.user)),
        billed=tuple(filter(is_key, page.billed)),
        cursor=page.cursor and clean_text(page.cursor),
        head=page.head and clean_text(page.head),
        about=page.about and clean_text(page.about),
        detail=clean_text(page.detail),
        user_tags=tuple(t for t in page.user_tags if is_key(t.user) and is_key(t.tag) and _is_plain((t.name,))),
        trends=tuple(t for t in page.trends if is_key(t.word) and _is_plain((t.place,))),
        broken=page.broken + tuple(bad_users) + tuple(bad_posts),
    )


def clean_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text without NUL, with `?` for lone surrogates, cut to a bound."""
    return text[:longest].replace("\0", "").encode("utf-8", "replace").decode()


def _clean(
    items: tuple[Item, ...], fit: Callable[[tuple[Item, ...]], bool], mended: Callable[[Item], Item], subject: Subject
) -> tuple[tuple[Item, ...], list[Broken]]:
    if fit(items):
        return items, []
    good, bad = [], []
    for item in items:
        try:
            good.append(mended(item))
        except (_UnfitError, TypeError, AttributeError, ValueError, OverflowError) as error:
            bad.append(Broken(subject=subject, raw=item.raw, why=f"cannot be stored: {error}"))
    return tuple(good), bad


def _is_plain(texts: Iterable[str | None]) -> bool:
    told = list(filter(None, texts))
    try:
        # One by one where some are not ASCII: joined, a single emoji would make four bytes of every letter.
        return "\0" not in "".join(told) if all(map(str.isascii, told)) else 0 not in b"".join(map(str.encode, told))
    except UnicodeEncodeError:
        return False


def _numbers_fit(numbers: Iterable[int | None]) -> bool:
    # Zero is harmless, so `filter` may drop it along with None.
    known = list(filter(None, numbers))
    return not known or (max(known) <= _BIGGEST and min(known) >= -_BIGGEST)


def _is_zoned(when: datetime | None) -> bool:
    return when is None or when.tzinfo is not None


def _users_fit(users: tuple[User, ...]) -> bool:
    try:
        return (
            all(_is_short(u.id, u.key, u.handle) and len(u.description or "") <= LONGEST_TEXT for u in users)
            and all(_is_zoned(u.created_at) and _is_zoned(u.newest_post_at) for u in users)
            and all(_is_plain(u.labels) for u in users if u.labels)
            and _numbers_fit(n for u in users for n in (u.followers, u.following, u.posts))
            and _is_plain(
                text
                for u in users
                for text in (u.id, u.key, u.handle, u.name, u.description, u.location, u.url, u.language, u.avatar)
            )
        )
    except TypeError:
        return False


def _posts_fit(posts: tuple[Post, ...]) -> bool:
    if not posts:
        return True
    # Column by column: every post goes this way, and most columns are empty, or names of ASCII letters.
    told = dict(zip(Post.__struct_fields__, zip(*map(astuple, posts), strict=True), strict=True))
    try:
        return _columns_fit(told) and _parts_fit(told)
    except (TypeError, AttributeError):
        return False


def _columns_fit(told: Columns) -> bool:
    times = filter(None, chain.from_iterable(told[name] for name in _POST_TIMES))
    return (
        all(_are_keys(told[name]) for name in ("id", "key", "author"))
        and all(_are_keys(list(filter(None, told[name]))) for name in _REFERENCES)
        and max(map(len, filter(None, told["text"])), default=0) <= LONGEST_TEXT
        and all(_is_plain(told[name]) for name in _POST_TEXTS if name not in _REFERENCES)
        and _numbers_fit(chain.from_iterable(told[name] for name in _POST_NUMBERS))
        and None not in set(map(_zone, times))
    )


def _is_short(first: str, second: str, third: str | None) -> bool:
    return 0 < len(first) <= LONGEST_ID and 0 < len(second) <= LONGEST_ID and (third is None or len(third) <= LONGEST_ID)


def _parts_fit(told: Columns) -> bool:
    media = list(chain.from_iterable(told["media"]))
    keys = [*chain.from_iterable(chain.from_iterable(told[name] for name in _POST_KEYS)), *(each.id for each in media)]
    keys += chain.from_iterable(filter(None, told["emoji"]))
    others = [*chain.from_iterable(told["links"]), *chain.from_iterable(told["labels"])]
    others += [text for each in media for text in (each.url, each.description, each.kind)]
    others += [text for place in filter(None, told["place"]) for text in (place.name, place.country)]
    others += [option.title for poll in filter(None, told["poll"]) for option in poll.options]
    return _are_keys(keys) and _is_plain(others)


def _are_keys(texts: Sequence[str]) -> bool:
    """The same as `is_key` of each."""
    if not texts:
        return True
    lengths = set(map(len, texts))
    return min(lengths) > 0 and max(lengths) <= LONGEST_ID and _is_plain(texts)


def is_key(key: str) -> bool:
    """Whether the text can stand in an index of either database."""
    return 0 < len(key) <= LONGEST_ID and _is_plain((key,))


def _names(relation: Relation | RelationEnd) -> list[str]:
    return [name for name in (relation.source, relation.target, relation.record) if name is not None]


def _keys_fit(page: Page) -> bool:
    keys = [name for relation in page.relations for name in _names(relation)]
    keys += [name for end in page.ended for name in _names(end)]
    keys += [g.key for g in page.gone] + [each.user for each in page.withdrawn_places] + list(page.billed)
    return all(0 < len(key) <= LONGEST_ID for key in keys) and _is_plain(keys)


def _own_words(page: Page) -> tuple[str | None, ...]:
    """What a page says of itself; all of it is written down."""
    return page.cursor, page.head, page.about, page.detail


def _words_fit(page: Page) -> bool:
    keys = [key for tag in page.user_tags for key in (tag.user, tag.tag)] + [trend.word for trend in page.trends]
    return all(0 < len(key) <= LONGEST_ID for key in keys) and _is_plain(
        (*keys, *(tag.name for tag in page.user_tags), *(trend.place for trend in page.trends))
    )


def _identity(*names: str) -> None:
    for name in names:
        if not is_key(name):
            raise _UnfitError(f"the id {clean_text(name, 60)!r} is empty, too long or not valid text")


def _mended_fields(item: Item, texts: Sequence[str], numbers: Sequence[str], times: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in texts:
        if (value := getattr(item, name)) is not None:
            fields[name] = _mended_text(name, value)
    fields |= {name: _mended_number(getattr(item, name)) for name in numbers}
    if not all(_is_zoned(getattr(item, name)) for name in times):
        raise _UnfitError("a time has no zone")
    return fields


def _mended_text(name: str, value: str) -> str | None:
    if name in _REFERENCES:
        return value if is_key(value) else None
    return clean_text(value, LONGEST_ID if name == "handle" else LONGEST_TEXT)


def _mended_number(number: int | None) -> int | None:
    return number if number is not None and abs(number) <= _BIGGEST else None


def _mended_user(user: User) -> User:
    _identity(user.id, user.key)
    fields = _mended_fields(user, _USER_TEXTS, ("followers", "following", "posts"), ("created_at", "newest_post_at"))
    labels = tuple(clean_text(label, LONGEST_ID) for label in user.labels)
    return msgspec.structs.replace(user, labels=labels, **fields)


def _mended_post(post: Post) -> Post:
    _identity(post.id, post.key, post.author)
    fields = _mended_fields(post, _POST_TEXTS, _POST_NUMBERS, _POST_TIMES)
    place = post.place
    if place is not None:
        names = {name: clean_text(text, 1_000) for name in ("name", "country") if (text := getattr(place, name)) is not None}
        place = msgspec.structs.replace(place, **names)
    media = (
        msgspec.structs.replace(m, url=clean_text(m.url), kind=clean_text(m.kind), description=_cleaned(m.description))
        for m in post.media
        if is_key(m.id)
    )
    return msgspec.structs.replace(
        post,
        **fields,
        place=place,
        media=tuple(media),
        links=tuple(clean_text(link) for link in post.links),
        labels=tuple(clean_text(label, LONGEST_ID) for label in post.labels),
        tags=tuple(tag for tag in post.tags if is_key(tag)),
        cashtags=tuple(tag for tag in post.cashtags if is_key(tag)),
        emoji=None if post.emoji is None else {name: number for name, number in post.emoji.items() if is_key(name)},
        poll=_mended_poll(post.poll) if post.poll else None,
        mentions=tuple(key for key in post.mentions if is_key(key)),
    )


def _cleaned(text: str | None) -> str | None:
    return None if text is None else clean_text(text)


def _mended_poll(poll: Poll) -> Poll:
    options = tuple(PollOption(clean_text(each.title), each.votes) for each in poll.options)
    return msgspec.structs.replace(poll, options=options)
