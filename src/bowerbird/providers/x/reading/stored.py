"""Payloads of the X API v2 that a store kept, read again. What came beside a post, such as media and places, is not in them."""

from __future__ import annotations

from bowerbird.model import KeptItem, Post, User
from bowerbird.providers.x.reading.mapping import Joined, post_of, user_of
from bowerbird.providers.x.reading.shapes import accounts, tweets
from bowerbird.providers.x_shared import is_classic


def stored_user(kept: KeptItem) -> User | None:
    return None if is_classic(kept.raw) else user_of(accounts.read(kept.raw), kept.raw)


def stored_post(kept: KeptItem) -> Post | None:
    return None if is_classic(kept.raw) else post_of(tweets.read(kept.raw), kept.author, kept.raw, Joined())
