"""Profiles and posts as the AppView shows them, only the fields we map, and the mapping itself (pure)."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct, field

from bowerbird.model import Post, User
from bowerbird.providers.bluesky.reading.records import (
    BOT,
    NO_STRANGERS,
    Label,
    PostRecord,
    Seen,
    identity,
    label_names,
    post_of,
    post_records,
    repost_of,
    signals_in,
)
from bowerbird.providers.bluesky.syntax import REPOST, AtUri, at_uri, is_did, tid_time
from bowerbird.providers.items import UNREADABLE, Reader, count, is_there
from bowerbird.providers.text import iso

_NO_HANDLE = "handle.invalid"
"""What the AppView shows for a handle that does not lead back to the account."""


class _Verification(Struct, gc=False, rename="camel"):
    verified_status: str | None = None


class Profile(Struct, rename="camel"):
    did: str
    handle: str | None = None
    display_name: str | None = None
    description: str | None = None
    website: str | None = None
    avatar: str | None = None
    created_at: str | None = None
    followers_count: int | None = None
    follows_count: int | None = None
    posts_count: int | None = None
    labels: list[Label] | None = None
    verification: _Verification | None = None


class _ImageView(Struct, gc=False):
    fullsize: str | None = None


class _EmbedView(Struct):
    images: list[_ImageView] | None = None
    items: list[_ImageView] | None = None
    playlist: str | None = None
    record: Raw = Raw(b"")
    media: _EmbedView | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        holder = self.media or self
        pictures = [image.fullsize for image in (holder.images or holder.items or ()) if image.fullsize]
        return (*pictures, holder.playlist) if holder.playlist else tuple(pictures)


class PostView(Struct, rename="camel"):
    uri: str
    author: Raw
    record: PostRecord
    embed: _EmbedView | None = None
    reply_count: int | None = None
    repost_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None
    indexed_at: str | None = None
    labels: list[Label] | None = None

    @property
    def quoted(self) -> bytes:
        """The embedded record, if the service shows one."""
        raw = bytes(self.embed.record) if self.embed else b""
        return raw if is_there(Raw(raw)) else b""

    @property
    def sort_time(self) -> datetime | None:
        """Where the AppView lists the post: at the claimed time, but never later than it saw it."""
        known = [when for when in (iso(self.record.created_at), iso(self.indexed_at)) if when is not None]
        return min(known, default=None)


class QuotedView(Struct, rename="camel"):
    """An embedded record; beside media it lies one step deeper."""

    uri: str | None = None
    record: Raw = Raw(b"")
    author: Raw = Raw(b"")
    value: Raw = Raw(b"")
    embeds: list[_EmbedView] | None = None
    reply_count: int | None = None
    repost_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None
    indexed_at: str | None = None
    labels: list[Label] | None = None

    @property
    def quoted(self) -> bytes:
        """What the quoted post quotes in turn, if the service shows it."""
        return next((bytes(each.record) for each in self.embeds or () if is_there(each.record)), b"")


class Reason(Struct, rename="camel"):
    """Why a post is in a feed: reposted, or pinned."""

    type: str = field(name="$type", default="")
    by: Raw = Raw(b"")
    uri: str | None = None
    indexed_at: str | None = None

    @property
    def is_repost(self) -> bool:
        return self.type.endswith("#reasonRepost") or (not self.type and is_there(self.by))

    @property
    def sort_time(self) -> datetime | None:
        uri = at_uri(self.uri) if self.uri else None
        made = tid_time(uri.rkey) if uri else None
        known = [when for when in (made, iso(self.indexed_at)) if when is not None]
        return min(known, default=None)


class FeedItem(Struct):
    post: Raw
    reason: Reason | None = None
    reply: Raw = Raw(b"")


class ShownReply(Struct):
    """What a post in a feed answers; each a post, or a note that it is hidden or not there."""

    root: Raw = Raw(b"")
    parent: Raw = Raw(b"")


class _Shown(Struct, rename="camel"):
    not_found: bool | None = None
    blocked: bool | None = None


profiles = Reader(Profile)
post_views = Reader(PostView, "embed", "record.embed", "record.facets", "record.langs", "record.tags")
quoted_views = Reader(QuotedView, "embeds")
feed_items = Reader(FeedItem)
shown_replies = Reader(ShownReply)
_shown = Reader(_Shown)


def is_note(raw: bytes) -> bool:
    """Whether in place of a post stands the note that it is hidden or not there."""
    try:
        note = _shown.read(raw)
    except UNREADABLE:
        return False
    return bool(note.not_found or note.blocked)


def user_of(profile: Profile, raw: bytes) -> User:
    if not is_did(profile.did):
        raise ValueError("account without a DID")
    labels = label_names(profile.labels)
    return User(
        id=profile.did,
        key=profile.did,
        handle=profile.handle if profile.handle != _NO_HANDLE else None,
        name=profile.display_name,
        description=profile.description,
        url=profile.website,
        avatar=profile.avatar,
        created_at=iso(profile.created_at),
        followers=count(profile.followers_count),
        following=count(profile.follows_count),
        posts=count(profile.posts_count),
        is_bot=None if profile.labels is None else BOT in labels,
        is_verified=_is_verified(profile),
        opts_out=NO_STRANGERS in labels,
        signals=signals_in(labels),
        labels=labels,
        raw=raw,
    )


def _is_verified(profile: Profile) -> bool | None:
    """A whole profile, which has counters, without a word about it is not verified; lists need not say."""
    status = profile.verification.verified_status if profile.verification else None
    if status is None:
        return None if profile.posts_count is None else False
    return status == "valid"


def viewed_post(view: PostView, raw: bytes) -> Post:
    addresses = view.embed.addresses if view.embed else ()
    return post_of(identity(view.uri), view.record, raw, _seen(view, addresses))


def quoted_post(view: QuotedView, raw: bytes) -> Post:
    addresses = view.embeds[0].addresses if view.embeds else ()
    return post_of(identity(view.uri or ""), post_records.read(bytes(view.value)), raw, _seen(view, addresses))


def _seen(view: PostView | QuotedView, addresses: tuple[str, ...]) -> Seen:
    return Seen(
        listed_at=iso(view.indexed_at),
        labels=label_names(view.labels),
        addresses=addresses,
        replies=count(view.reply_count),
        reposts=count(view.repost_count),
        likes=count(view.like_count),
        quotes=count(view.quote_count),
    )


def reposted(reason: Reason, by: User, original: Post, raw: bytes) -> Post:
    """The repost that a feed shows; where the service does not name its record, whom it passes on names it instead."""
    uri = at_uri(reason.uri) if reason.uri else None
    if uri is None or uri.authority != by.id or not uri.rkey:
        author, _, rkey = original.id.removeprefix("at://").partition("/")
        uri = AtUri(by.id, REPOST, f"{author}:{rkey.rpartition('/')[2]}"[:512])
    listed_at = iso(reason.indexed_at)
    return repost_of(uri, original.id, tid_time(uri.rkey) or listed_at, raw, listed_at)
