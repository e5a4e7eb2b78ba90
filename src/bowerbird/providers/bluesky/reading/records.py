"""Records as repositories hold them (posts, reposts, follows, profiles), and the mapping itself; every source shares it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from bowerbird.model import Media, Post, PostKind, Signal, User, tags_once
from bowerbird.providers.bluesky.syntax import POST, AtUri, at_uri, is_did, record_uri, tid_time
from bowerbird.providers.items import Reader
from bowerbird.providers.text import iso

NETWORK_BEGAN = datetime(2022, 11, 1, tzinfo=UTC)
"""No post of the network can be older."""
_SKEW = timedelta(minutes=1)
"""How far an honest author's clock may be ahead of the service's."""
NO_STRANGERS = "!no-unauthenticated"
BOT = "bot"
_ADULT = frozenset({"porn", "sexual", "nudity", "sexual-figurative", "graphic-media", "gore"})


class Reference(Struct, gc=False):
    uri: str = ""


class _Index(Struct, gc=False, rename="camel"):
    byte_start: int = -1
    byte_end: int = -1


class _Feature(Struct, gc=False):
    type: str = field(name="$type", default="")
    did: str | None = None
    uri: str | None = None
    tag: str | None = None


class _TextFacet(Struct):
    index: _Index
    features: list[_Feature]


class _Reply(Struct):
    root: Reference | None = None
    parent: Reference | None = None


class _Link(Struct, gc=False):
    cid: str = field(name="$link", default="")


class _Blob(Struct, gc=False):
    """A file by its CID; `cid` itself is how old records name it."""

    ref: _Link | None = None
    cid: str | None = None

    @property
    def name(self) -> str:
        return (self.ref.cid if self.ref else None) or self.cid or ""


class _Image(Struct):
    image: _Blob | None = None
    alt: str | None = None


class _Embedded(Struct):
    """A record inside: by itself, or one step deeper beside media."""

    uri: str | None = None
    record: Reference | None = None


class _Embed(Struct):
    images: list[_Image] | None = None
    items: list[_Image] | None = None
    video: _Blob | None = None
    alt: str | None = None
    external: Reference | None = None
    record: _Embedded | None = None
    media: _Embed | None = None


class Label(Struct, gc=False):
    val: str = ""
    neg: bool | None = None


class _SelfLabels(Struct):
    values: list[Label] | None = None


class PostRecord(Struct, rename="camel"):
    text: str = ""
    created_at: str | None = None
    langs: list[str] | None = None
    facets: list[_TextFacet] | None = None
    tags: list[str] | None = None
    reply: _Reply | None = None
    embed: _Embed | None = None
    labels: _SelfLabels | None = None


class RepostRecord(Struct, rename="camel"):
    subject: Reference
    created_at: str | None = None
    via: Reference | None = None


class FollowRecord(Struct):
    subject: str


class _ProfileRecord(Struct, rename="camel"):
    display_name: str | None = None
    description: str | None = None
    website: str | None = None
    created_at: str | None = None
    labels: _SelfLabels | None = None


class Seen(Struct, frozen=True, kw_only=True):
    """What the service itself says about a post, beside the record."""

    listed_at: datetime | None = None
    labels: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    """Where the service keeps the post's media, in the record's order."""
    replies: int | None = None
    reposts: int | None = None
    likes: int | None = None
    quotes: int | None = None


UNSEEN = Seen()

post_records = Reader(PostRecord, "embed", "facets", "langs", "tags")
repost_records = Reader(RepostRecord, "via")
follow_records = Reader(FollowRecord)
_profile_records = Reader(_ProfileRecord)


def identity(text: str) -> AtUri:
    """The at-uri of a record whose author is named for good."""
    uri = at_uri(text)
    if uri is None or not uri.rkey or not is_did(uri.authority):
        raise ValueError("not the at-uri of a record")
    return uri


def label_names(labels: Iterable[Label] | None) -> tuple[str, ...]:
    """Labels that stand, each once."""
    if not labels:
        return ()
    return tuple(dict.fromkeys(label.val for label in labels or () if label.val and not label.neg))


def signals_in(labels: tuple[str, ...]) -> tuple[Signal, ...]:
    """What the labels of an account say of whether it wishes to be collected."""
    return (Signal.NO_UNAUTHENTICATED,) if NO_STRANGERS in labels else ()


def is_doubtful(created_at: datetime | None, listed_at: datetime | None) -> bool:
    """Whether the claimed time cannot be true."""
    if created_at is None:
        return False
    # The sum last: for a post of an honest clock it is never needed.
    return created_at < NETWORK_BEGAN or (listed_at is not None and created_at > listed_at and created_at > listed_at + _SKEW)


def post_of(uri: AtUri, record: PostRecord, raw: bytes, seen: Seen = UNSEEN) -> Post:
    """A post; without a service's word its record key tells when it was taken in."""
    created_at, listed_at = iso(record.created_at), seen.listed_at or tid_time(uri.rkey)
    reply, embed = record.reply, record.embed
    reply_to = reply.parent.uri if reply and reply.parent else ""
    quote_of = _quoted(embed) if embed else None
    labels = seen.labels
    if record.labels is not None:
        labels = tuple(dict.fromkeys((*labels, *label_names(record.labels.values))))
    name = record_uri(uri)
    tags, cashtags, mentions, links = _named(record)
    # Some by their place: Python puts a call's names into a dict when they are too many, which takes six times as long.
    post = Post(
        name,
        name,
        uri.authority,
        PostKind.REPLY if reply_to else PostKind.QUOTE if quote_of else PostKind.POST,
        created_at,
        listed_at,
        is_doubtful(created_at, listed_at),
        record.text,
        None,
        record.langs[0] if record.langs else None,
        reply_to or None,
        None,
        quote_of,
        (reply.root.uri if reply and reply.root else "") or None,
        is_sensitive=bool(labels) and not _ADULT.isdisjoint(labels),
        labels=labels,
        tags=tags,
        mentions=mentions,
        links=links,
        media=_media(embed, uri.authority, seen.addresses) if embed else (),
        raw=raw,
    )
    if seen.replies is seen.reposts is seen.likes is seen.quotes is None and not cashtags:
        return post
    return replace(post, replies=seen.replies, reposts=seen.reposts, likes=seen.likes, quotes=seen.quotes, cashtags=cashtags)


def written_repost(uri: AtUri, raw: bytes, listed_at: datetime | None = None) -> Post:
    """A repost as its author's repository holds it; the record may name the repost through which it came."""
    record = repost_records.read(raw)
    original, via = record_uri(identity(record.subject.uri)), at_uri(record.via.uri) if record.via else None
    post = repost_of(uri, original, iso(record.created_at), raw, listed_at)
    return replace(post, via=str(via)) if via is not None and via.rkey else post


def repost_of(uri: AtUri, original: str, created_at: datetime | None, raw: bytes, listed_at: datetime | None = None) -> Post:
    """A repost: a record of its own, without words."""
    listed_at, name = listed_at or tid_time(uri.rkey), record_uri(uri)
    is_time_doubtful = is_doubtful(created_at, listed_at)
    return Post(name, name, uri.authority, PostKind.REPOST, created_at, listed_at, is_time_doubtful, repost_of=original, raw=raw)


def profile_of(did: str, raw: bytes) -> User:
    """A profile as its owner wrote it: without handle and counters, which no record holds."""
    record = _profile_records.read(raw)
    labels = label_names(record.labels.values if record.labels else None)
    return User(
        id=did,
        key=did,
        name=record.display_name,
        description=record.description,
        url=record.website,
        is_bot=BOT in labels,
        opts_out=NO_STRANGERS in labels,
        signals=signals_in(labels),
        labels=labels,
        raw=raw,
    )


def _quoted(embed: _Embed) -> str | None:
    """The post inside; lists, feeds and starter packs may be embedded too, and are not quotes."""
    record = embed.record
    if record is None:
        return None
    text = record.uri or (record.record.uri if record.record else "")
    return text if f"/{POST}/" in text and at_uri(text) else None


def _card(embed: _Embed) -> str:
    """The address of a link card: alone, or beside a quoted post."""
    card = embed.external or (embed.media.external if embed.media else None)
    return card.uri if card else ""


def _named(record: PostRecord) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Hashtags, cashtags, mentioned users and links, each once and in the order of the text."""
    card = _card(record.embed) if record.embed else ""
    if not (record.facets or record.tags or card):
        return (), (), (), ()
    features = _features(record.text, record.facets or ())
    tags = [*(each.tag for each in features if each.tag), *(record.tags or ())]
    links = [*(each.uri for each in features if each.uri), card]
    return (
        tags_once([tag.removeprefix("#") for tag in tags if tag.strip("#") and not _is_cashtag(tag)]) if tags else (),
        tuple(dict.fromkeys(tag[1:] for tag in tags if _is_cashtag(tag))) if tags else (),
        tuple(dict.fromkeys(each.did for each in features if each.did and is_did(each.did))),
        tuple(dict.fromkeys(link for link in links if link.startswith(("http://", "https://")))),
    )


def _is_cashtag(tag: str) -> bool:
    """`$BIRD`: the network marks both kinds as tags, and only cashtags keep their sign."""
    return tag.startswith("$") and tag[1:].isascii() and tag[1:2].isalpha()


def _features(text: str, facets: Sequence[_TextFacet]) -> list[_Feature]:
    """Features of facets that lie within the text; their places count bytes of UTF-8, and the protocol says to ignore others."""
    end = len(text.encode()) if facets else 0
    inside = (each for each in facets if 0 <= each.index.byte_start < each.index.byte_end <= end)
    return [feature for each in inside for feature in each.features]


def _media(embed: _Embed, did: str, addresses: Sequence[str]) -> tuple[Media, ...]:
    holder = embed.media or embed
    files = [("image", image.image, image.alt) for image in (holder.images or holder.items or ())]
    if holder.video is not None:
        files.append(("video", holder.video, holder.alt))
    found = [(kind, blob.name, alt) for kind, blob, alt in files if blob is not None and blob.name]
    where = addresses if len(addresses) == len(found) else [_address(kind, did, cid) for kind, cid, _ in found]
    named = zip(found, where, strict=True)
    return tuple(Media(id=cid, kind=kind, url=url, description=alt or None) for (kind, cid, alt), url in named)


def _address(kind: str, did: str, cid: str) -> str:
    """Where the network's own servers keep a file that only its record names."""
    if kind == "video":
        return f"https://video.bsky.app/watch/{did}/{cid}/playlist.m3u8"
    return f"https://cdn.bsky.app/img/feed_fullsize/plain/{did}/{cid}@jpeg"
