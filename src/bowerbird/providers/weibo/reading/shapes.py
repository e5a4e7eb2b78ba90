"""Users, posts and comments as Weibo sends them, only the fields we map, and the mapping itself (pure)."""

from __future__ import annotations

import html
import math
import re
from datetime import UTC, datetime, timedelta

from msgspec import Raw, Struct, field

from bowerbird.model import Media, Place, Post, PostKind, User, tags_once
from bowerbird.providers.items import UNREADABLE, Reader, count, is_there
from bowerbird.providers.page import is_number
from bowerbird.providers.text import classic, source_of
from bowerbird.providers.weibo.ids import made_at, to_mid

NETWORK_PREFIX = "weibo:"
DELETED_TEXT = "此微博已被原作者删除"
"""What stands instead of the text of a deleted post."""

_TOPIC = re.compile(r"#([^#\s][^#\n]{0,100})#")
_LINK = re.compile(r"https?://[\w./?=&%#~+:;,@!-]{3,500}", re.ASCII)
_PICTURES = "https://wx1.sinaimg.cn/large/"
"""Where pictures lie of which only the names are sent."""
_OPENED = datetime(2009, 8, 14, tzinfo=UTC)
_TOLERANCE = timedelta(minutes=5)


class Account(Struct):
    id: int | None = None
    idstr: str | None = None
    uid: int | None = None
    screen_name: str | None = None
    name: str | None = None
    location: str | None = None
    description: str | None = None
    url: str | None = None
    lang: str | None = None
    avatar_large: str | None = None
    profile_image_url: str | None = None
    created_at: str | None = None
    followers_count: int | None = None
    friends_count: int | None = None
    statuses_count: int | None = None
    verified: bool | None = None
    gender: str | None = None
    geo_enabled: bool | None = None
    status: Raw = Raw(b"")

    @property
    def key(self) -> str:
        return key_of(self.idstr, self.id if self.id is not None else self.uid)


class _Visible(Struct, gc=False):
    type: int = 0


class _Geo(Struct):
    coordinates: list[float] | None = None


class _Picture(Struct, gc=False):
    thumbnail_pic: str | None = None


class _Whole(Struct, gc=False):
    """The text of a long post, where it was asked for."""

    content: str | None = field(name="longTextContent", default=None)


class Status(Struct):
    id: int | None = None
    idstr: str | None = None
    mid: str | None = None
    user: Raw = Raw(b"")
    created_at: str | None = None
    edit_at: str | None = None
    text: str | None = None
    source: str | None = None
    deleted: str | int | bool | None = None
    in_reply_to_status_id: str | int | None = None
    retweeted_status: Raw = Raw(b"")
    pid: str | int | None = None
    reposts_count: int | None = None
    comments_count: int | None = None
    attitudes_count: int | None = None
    visible: _Visible | None = None
    geo: Raw = Raw(b"")
    original_pic: str | None = None
    thumbnail_pic: str | None = None
    pic_urls: list[_Picture] | None = None
    pic_ids: list[str] | None = None
    is_long: bool | None = field(name="isLongText", default=None)
    whole: _Whole | None = field(name="longText", default=None)

    @property
    def key(self) -> str:
        return _either_key(self.idstr, self.id, self.mid)

    @property
    def whole_text(self) -> str | None:
        """The text, whole where it was sent so."""
        return (self.whole.content if self.whole else None) or self.text

    @property
    def is_cut(self) -> bool | None:
        """Whether only the beginning was sent; None where the service does not know of long posts."""
        return None if self.is_long is None else self.is_long and not (self.whole and self.whole.content)

    @property
    def is_deleted(self) -> bool:
        """Marked so, or as batches return it: the sentence alone, without author or time."""
        is_marked = self.deleted not in (None, False, 0, "", "0")
        return is_marked or (not is_there(self.user) and (self.text or "").startswith(DELETED_TEXT))

    @property
    def is_open(self) -> bool:
        """Public; posts for oneself, a group or close friends are never kept, even if a token can see them."""
        return self.visible is None or self.visible.type == 0


class Comment(Struct):
    id: int | None = None
    idstr: str | None = None
    mid: str | None = None
    user: Raw = Raw(b"")
    created_at: str | None = None
    text: str | None = None
    source: str | None = None
    status: Raw = Raw(b"")
    reply_comment: Raw = Raw(b"")

    @property
    def key(self) -> str:
        return _either_key(self.idstr, self.id, self.mid)


_GENDERS = {"m": "m", "f": "f", "n": ""}
"""Weibo's letters; `n` is an account that does not say."""
accounts = Reader(Account)
statuses = Reader(Status, "pic_urls", "pic_ids", "longText", "edit_at")
comments = Reader(Comment)
_geos = Reader(_Geo)


def key_of(text: str | None, number: int | None) -> str:
    """The id as text; where both are sent the text is surer, for numbers lose digits in other software."""
    key = text or (str(number) if number is not None else "")
    if not is_number(key):
        raise ValueError(f"an id is {key[:40]!r}, not a number")
    return key


def _either_key(text: str | None, number: int | None, mid: str | None) -> str:
    """The id of a post: the number comes before `mid`, which answers about several kinds of things fill in their own ways."""
    return key_of(text or (mid if number is None else None), number)


def user_of(account: Account, raw: bytes) -> User:
    return User(
        id=NETWORK_PREFIX + account.key,
        key=account.key,
        handle=account.screen_name,
        name=account.name or account.screen_name,
        description=account.description,
        location=account.location,
        url=account.url,
        language=account.lang,
        avatar=account.avatar_large or account.profile_image_url,
        gender=_GENDERS.get(account.gender or ""),
        created_at=classic(account.created_at),
        followers=count(account.followers_count),
        following=count(account.friends_count),
        posts=count(account.statuses_count),
        is_verified=account.verified,
        raw=raw,
    )


def post_of(status: Status, author: User, raw: bytes, *, original: str | None, has_place: bool) -> Post:
    """A post, or a repost, which on Weibo has words and counters of its own and always refers to the root of its chain."""
    reply_to = _reference(status.in_reply_to_status_id)
    key, text = status.key, status.whole_text
    text = html.unescape(text) if text else text
    created_at, listed_at = classic(status.created_at), made_at(key)
    return Post(
        id=NETWORK_PREFIX + key,
        key=key,
        author=author.id,
        kind=PostKind.REPOST if original else PostKind.REPLY if reply_to else PostKind.POST,
        created_at=created_at,
        listed_at=listed_at,
        is_time_doubtful=_is_doubtful(created_at, listed_at),
        text=text,
        is_cut=status.is_cut,
        reply_to=None if original else reply_to,
        repost_of=original,
        root=original,
        via=_via(status, original),
        replies=count(status.comments_count),
        reposts=count(status.reposts_count),
        likes=count(status.attitudes_count),
        edited_at=classic(status.edit_at),
        url=f"https://weibo.com/{author.key}/{to_mid(key)}",
        source=source_of(status.source),
        tags=_topics(text),
        links=_links(text),
        media=tuple(_media(status)),
        place=_place(bytes(status.geo)) if has_place else None,
        raw=raw,
    )


def comment_of(comment: Comment, author: User, raw: bytes, *, root: str, answered: str | None) -> Post:
    text = html.unescape(comment.text) if comment.text else comment.text
    created_at = classic(comment.created_at)
    return Post(
        id=NETWORK_PREFIX + comment.key,
        key=comment.key,
        author=author.id,
        kind=PostKind.COMMENT,
        created_at=created_at,
        is_time_doubtful=_is_doubtful(created_at, None),
        text=text,
        reply_to=answered or root,
        root=root,
        source=source_of(comment.source),
        tags=_topics(text),
        links=_links(text),
        raw=raw,
    )


def _via(status: Status, original: str | None) -> str | None:
    """The repost that was passed on; none where it was the root itself."""
    parent = _reference(status.pid) if original else None
    return parent if parent != original else None


def _reference(value: str | int | None) -> str | None:
    return f"{NETWORK_PREFIX}{value}" if value and is_number(str(value)) else None


def _is_doubtful(created_at: datetime | None, listed_at: datetime | None) -> bool:
    if created_at is None:
        return False
    return created_at < _OPENED or (listed_at is not None and created_at > listed_at + _TOLERANCE)


def _topics(text: str | None) -> tuple[str, ...]:
    """Hashtags stand between two signs, and may have blanks inside."""
    return tags_once([topic.strip() for topic in _TOPIC.findall(text)]) if text and "#" in text else ()


def _links(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_LINK.findall(text or "")))


def _media(status: Status) -> list[Media]:
    has_any = status.pic_urls or status.pic_ids or status.original_pic or status.thumbnail_pic
    urls = _pictures(status) if has_any else ()
    # The same file is served in several sizes from several hosts: its name is what stays.
    return [Media(id=NETWORK_PREFIX + (url.rsplit("/", 1)[-1] or url), kind="photo", url=url) for url in dict.fromkeys(urls)]


def _pictures(status: Status) -> list[str]:
    """The addresses of all pictures: in the size of the original where its address is sent, for all lie in the same place."""
    first = status.original_pic or status.thumbnail_pic or ""
    shown = [each.thumbnail_pic for each in status.pic_urls or () if each.thumbnail_pic]
    if not first and not shown:
        return [f"{_PICTURES}{key}.jpg" for key in status.pic_ids or () if key]
    place, _, name = (first or shown[0]).rpartition("/")
    ending = name.rpartition(".")[2]
    names = [url.rpartition("/")[2] for url in shown] or [f"{key}.{ending}" for key in status.pic_ids or () if key]
    if not names:
        return [first]
    return [f"{place}/{each}" for each in names] if status.original_pic or not shown else shown


def _place(raw: bytes) -> Place | None:
    """Where the post was written: latitude comes first here; whatever else stands in the field is no place."""
    try:
        pair = (_geos.read(raw).coordinates or [])[:2]
    except UNREADABLE:
        return None
    if len(pair) != 2 or not all(math.isfinite(each) for each in pair) or abs(pair[0]) > 90 or abs(pair[1]) > 180:
        return None
    return Place(longitude=pair[1], latitude=pair[0])
