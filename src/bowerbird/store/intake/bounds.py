"""How many parts of one item are kept: tags, mentions, media and the like. Pure.

A page has a bound for items; what hangs on each of them a server may make as long as the answer allows, and every mention is an
account, with its rows and its tasks. No network lets anybody write as much as is kept here. What is left out is counted in the
quarantine.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

import msgspec

from bowerbird.model import Broken, Page, Post, Subject, User, Version

MOST_PARTS = 500
"""Of one kind, of one item."""
MOST_NAMED = 2_000
NAMED_PER_POST = 10
"""Different accounts that the posts of one page mention: so many, and so many more for each post."""
MOST_VERSIONS = 1_000
MOST_BESIDE = 5_000
"""Of what a page brings beside users, posts and relations, of one kind."""
_POST_PARTS = ("mentions", "tags", "media", "links", "labels", "cashtags")
_BESIDE = {"versions": MOST_VERSIONS, "user_tags": MOST_BESIDE, "trends": MOST_BESIDE, "lists": MOST_BESIDE}
_BESIDE |= {"volumes": MOST_BESIDE, "withdrawn_places": MOST_BESIDE}


def bounded_page(page: Page) -> Page:
    """The same page, if nothing in it has too many parts; otherwise without those beyond, and with a note of each kind."""
    notes: list[Broken] = []
    changes = {
        "users": _each(page.users, _is_user_bounded, lambda user: _bounded(user, ("labels",), Subject.USER, notes)),
        "posts": _named_posts(_each(page.posts, _is_post_bounded, lambda post: _bounded_post(post, notes)), notes),
        "versions": _each(page.versions, _is_version_bounded, _bounded_version),
    }
    for name, most in _BESIDE.items():
        found = changes.get(name, getattr(page, name))
        if len(found) > most:
            changes[name] = found[:most]
            notes.append(_note(Subject.WORD, b"", name, len(found), most))
    changed = {name: value for name, value in changes.items() if value is not getattr(page, name)}
    return msgspec.structs.replace(page, **changed, broken=(*page.broken, *notes)) if changed else page


def _each(items: tuple[Any, ...], is_bounded: Callable[[Any], bool], bounded: Callable[[Any], Any]) -> tuple[Any, ...]:
    if all(map(is_bounded, items)):
        return items
    return tuple(item if is_bounded(item) else bounded(item) for item in items)


def _is_user_bounded(user: User) -> bool:
    return len(user.labels) <= MOST_PARTS


def _is_post_bounded(post: Post) -> bool:
    p = post
    if not (p.mentions or p.tags or p.media or p.links or p.labels or p.cashtags or p.emoji or p.poll):
        return True
    few = len(p.mentions) + len(p.tags) + len(p.media) + len(p.links) + len(p.labels) + len(p.cashtags) <= MOST_PARTS
    return few and len(p.emoji or ()) <= MOST_PARTS and (p.poll is None or len(p.poll.options) <= MOST_PARTS)


def _is_version_bounded(version: Version) -> bool:
    return len(version.links) <= MOST_PARTS


def _bounded_version(version: Version) -> Version:
    return msgspec.structs.replace(version, links=version.links[:MOST_PARTS])


def _bounded(item: Any, names: tuple[str, ...], subject: Subject, notes: list[Broken]) -> Any:
    long = [name for name in names if len(getattr(item, name)) > MOST_PARTS]
    notes.extend(_left_out(subject, item, name, getattr(item, name)) for name in long)
    return msgspec.structs.replace(item, **{name: getattr(item, name)[:MOST_PARTS] for name in long}) if long else item


def _bounded_post(post: Post, notes: list[Broken]) -> Post:
    post = _bounded(post, _POST_PARTS, Subject.POST, notes)
    if post.emoji and len(post.emoji) > MOST_PARTS:
        notes.append(_left_out(Subject.POST, post, "emoji", post.emoji))
        post = msgspec.structs.replace(post, emoji=dict(list(post.emoji.items())[:MOST_PARTS]))
    if post.poll and len(post.poll.options) > MOST_PARTS:
        notes.append(_left_out(Subject.POST, post, "answers of a poll", post.poll.options))
        poll = msgspec.structs.replace(post.poll, options=post.poll.options[:MOST_PARTS])
        post = msgspec.structs.replace(post, poll=poll)
    return post


def _named_posts(posts: tuple[Post, ...], notes: list[Broken]) -> tuple[Post, ...]:
    """The posts, without mentions of further accounts once the page has named enough of them."""
    most = MOST_NAMED + NAMED_PER_POST * len(posts)
    if sum(len(post.mentions) for post in posts) <= most:
        return posts
    keys = dict.fromkeys(key for post in posts for key in post.mentions)
    if len(keys) <= most:
        return posts
    notes.append(_note(Subject.USER, b"", "accounts mentioned on one page", len(keys), most))
    kept = frozenset(list(keys)[:most])
    return tuple(msgspec.structs.replace(post, mentions=tuple(filter(kept.__contains__, post.mentions))) for post in posts)


def _left_out(subject: Subject, item: User | Post, kind: str, parts: Sized) -> Broken:
    return _note(subject, msgspec.json.encode({"id": item.id}), kind, len(parts), MOST_PARTS)


def _note(subject: Subject, raw: bytes, kind: str, sent: int, kept: int) -> Broken:
    # Without the item itself, which is stored: only its id, so that a purge finds the note.
    return Broken(subject, raw, f"too many {kind}: {sent - kept:,} of {sent:,} were left out", is_part=True)
