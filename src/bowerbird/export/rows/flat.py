"""Flat rows of what was read: of the dicts that `reports` reads from a store, and of the items of a page as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bowerbird.export.rows.shapes import USERS, Row
from bowerbird.model import Post, User, post_address
from bowerbird.model.items import Place

_NOWHERE = Place()


def stored_post(item: Mapping[str, Any], service: str | None = None) -> Row:
    """The row of a post as `Reader.posts` gives it."""
    place = item.get("place") or {}
    return (
        item["id"], item["network"], service, item["kind"], item["url"], item["author"], item["author_handle"],
        item["created_at"], item["listed_at"], item["edited_at"], item["text"], item["language"],
        item["replies"], item["reposts"], item["likes"], item["quotes"],
        item["reply_to"], item["repost_of"], item["quote_of"], item["root"],
        tuple(item["tags"]), tuple(item["cashtags"]), tuple(item["mentions"]), _tuple(item["links"]),
        tuple(each["url"] for each in item["media"]), item["source"], item["warning"], item["is_sensitive"],
        _tuple(item["labels"]), place.get("name"), place.get("country"), place.get("longitude"), place.get("latitude"),
        _document(item["poll"]), _document(item["emoji"]), item["found_at"], item["seen_at"],
    )  # fmt: skip


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def stored_user(item: Mapping[str, Any], service: str | None = None) -> Row:
    """The row of an account as `Reader.users` gives it."""
    return _row({**item, "service": service}, USERS.names)


def page_post(post: Post, network: str, service: str, authors: Mapping[str, User]) -> Row:
    """The row of a post of a page; `authors`: the accounts of the page by id. Mentions are keys of the service there."""
    author, place = authors.get(post.author), post.place or _NOWHERE
    url = post.url or (None if post.text is None else post_address(post.id))
    return (
        post.id, network, service, str(post.kind), url, post.author, author and author.handle,
        post.created_at, post.listed_at, post.edited_at, post.text, post.language,
        post.replies, post.reposts, post.likes, post.quotes, post.reply_to, post.repost_of, post.quote_of, post.root,
        tuple(tag.lower() for tag in post.tags), post.cashtags, post.mentions, post.links,
        tuple(each.url for each in post.media), post.source, post.warning, post.is_sensitive, post.labels,
        place.name, place.country, place.longitude, place.latitude, _document(post.poll), _document(post.emoji), None, None,
    )  # fmt: skip


def page_user(user: User, network: str, service: str) -> Row:
    """The row of an account of a page."""
    told = {name: getattr(user, name, None) for name in USERS.names}
    return _row({**told, "network": network, "service": service}, USERS.names)


def _row(told: Mapping[str, Any], names: tuple[str, ...]) -> Row:
    return tuple(tuple(value) if isinstance(value := told.get(name), list) else value for name in names)


def _document(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
