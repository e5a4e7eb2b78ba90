"""Payloads of Mastodon and compatible servers that a store kept, read again."""

from __future__ import annotations

import msgspec

from bowerbird.model import KeptItem, Post, User
from bowerbird.providers.common.reading.items import is_there
from bowerbird.providers.mastodon.reading.shapes import accounts, post_of, repost_of, statuses, user_of


def stored_user(kept: KeptItem) -> User:
    """The account, under the id that the store knows it by: which one that is, a page may have told."""
    return msgspec.structs.replace(user_of(accounts.read(kept.raw), kept.raw), id=kept.id)


def stored_post(kept: KeptItem) -> Post | None:
    status, author = statuses.read(kept.raw), User(id=kept.author, key=kept.author)
    if not status.is_open:
        return None
    if is_there(status.reblog):
        original = Post(id=kept.repost_of or "", key="", author="")
        return repost_of(status, author, original, kept.raw)
    # What of the text only names the quoted post depends on there being one.
    return post_of(status, author, kept.raw, status.kin_fields, quote_of=kept.quote_of)
