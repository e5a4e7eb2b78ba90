"""Payloads of Bluesky that a store kept, read again: views of services, and records as repositories and streams hold them."""

from __future__ import annotations

import msgspec

from bowerbird.model import KeptItem, Post, PostKind, User
from bowerbird.providers.bluesky.reading.records import identity, post_of, post_records, profile_of
from bowerbird.providers.bluesky.reading.shapes import post_views, profiles, quoted_post, quoted_views, user_of, viewed_post
from bowerbird.providers.bluesky.syntax import POST

_names = msgspec.json.Decoder(dict[str, msgspec.Raw])


def stored_user(kept: KeptItem) -> User:
    if "did" in _names.decode(kept.raw):
        return user_of(profiles.read(kept.raw), kept.raw)
    return profile_of(kept.id, kept.raw)


def stored_post(kept: KeptItem) -> Post:
    uri, names = identity(kept.id), _names.decode(kept.raw)
    if uri.collection != POST:
        # A repost has no words of its own.
        return Post(id=kept.id, key=kept.id, author=uri.authority, kind=PostKind.REPOST, raw=kept.raw)
    if "value" in names:
        return quoted_post(quoted_views.read(kept.raw), kept.raw)
    if "record" in names:
        return viewed_post(post_views.read(kept.raw), kept.raw)
    return post_of(uri, post_records.read(kept.raw), kept.raw)
