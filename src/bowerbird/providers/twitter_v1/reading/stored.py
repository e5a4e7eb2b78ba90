"""Payloads of the classic API that a store kept, read again."""

from __future__ import annotations

from bowerbird.model import KeptItem, Post, User
from bowerbird.providers.items import is_there
from bowerbird.providers.twitter_v1.reading.shapes import accounts, post_of, repost_of, tweets, user_of
from bowerbird.providers.x_shared import is_classic


def stored_user(kept: KeptItem) -> User | None:
    return user_of(accounts.read(kept.raw), kept.raw) if is_classic(kept.raw) else None


def stored_post(kept: KeptItem) -> Post | None:
    if not is_classic(kept.raw):
        return None
    tweet = tweets.read(kept.raw)
    if is_there(tweet.retweeted_status):
        return repost_of(tweet, kept.author, kept.repost_of or "", kept.raw)
    return post_of(tweet, kept.author, kept.raw)
