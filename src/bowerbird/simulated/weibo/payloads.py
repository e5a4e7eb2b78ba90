"""Users, posts and comments as Weibo wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bowerbird.simulated.weibo.ids import Ids
from bowerbird.simulated.world import World
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.people.vocabulary import SOURCES
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.reactions import Counters, Reactions
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row
from bowerbird.simulated.world.settings import from_ms

DELETED = "此微博已被原作者删除。"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LONGEST_CHAIN = 20
_LONG = 100
"""Characters of which a list shows the beginning."""

Item = dict[str, Any]


def stamp(ms: int) -> str:
    """`Wed Apr 18 14:00:30 +0800 2012`: Beijing time, whatever the locale."""
    at = from_ms(ms) + timedelta(hours=8)
    return f"{_DAYS[at.weekday()]} {_MONTHS[at.month - 1]} {at:%d %H:%M:%S} +0800 {at.year}"


class Payloads:
    """Writes users, posts and comments as of a time."""

    def __init__(self, world: World, ids: Ids) -> None:
        self.world = world
        self.ids = ids
        self.reactions = Reactions(world)

    def user(self, account: int, now: int, *, with_status: bool = False) -> Item:
        """The user, with the newest post inside where asked for and allowed."""
        body = self._user(account, now)
        newest = self.world.newest(account, now) if with_status and self.world.is_open(account, now) else None
        if newest is not None:
            body["status"] = self.posts([newest], now, with_user=False)[0]
        return body

    def posts(self, rows: Sequence[Row], now: int, *, with_user: bool = True, is_whole: bool = False) -> list[Item]:
        """The posts in the order given, with the whole text of long ones if asked for. The root of what a post passes on is
        inside it; of that only the beginning is shown."""
        roots = {row.number: self._root(row, now) for row in rows if row.kind in (REPOST, QUOTE)}
        every = {row.number: row for row in (*rows, *(root for root in roots.values() if root is not None))}
        counters = dict(zip(every, self.reactions.counters(list(every), now), strict=True))
        written: list[Item] = []
        for row in rows:
            item = self._post(row, now, counters[row.number], with_user=with_user, is_whole=is_whole)
            root = roots.get(row.number)
            if root is not None:
                item["retweeted_status"] = self._embedded(root, now, counters[root.number])
            written.append(item)
        return written

    def comment(self, row: Row, root: Row, now: int) -> Item:
        """A reply as a comment; where it answers another one, that one comes along."""
        key = self.ids.comment(row.number)
        body: Item = {
            "created_at": stamp(row.ms), "id": key, "mid": str(key), "idstr": str(key),
            "text": self._text(row, self.world.contents.of(row)), "source": _source(self.world.contents.of(row)),
            "user": self._user(row.author, now), "status": self._post(root, now, Counters(), with_user=True),
        }  # fmt: skip
        answered = self.world.row(row.target, now) if row.target != root.number else None
        if answered is not None:
            other = self.ids.comment(answered.number)
            body["reply_comment"] = {"id": other, "idstr": str(other), "user": self._user(answered.author, now)}
        return body

    def missing(self, key: str) -> Item:
        """How a batch returns a post that is not there any more."""
        number = int(key)
        return {
            "id": number, "mid": key, "idstr": key, "text": DELETED, "created_at": None, "source": None, "deleted": "1",
            "reposts_count": 0, "comments_count": 0, "user": None,
        }  # fmt: skip

    def _root(self, row: Row, now: int) -> Row | None:
        """The post at the beginning of a repost chain, deleted or not."""
        for _ in range(_LONGEST_CHAIN):
            if row.kind not in (REPOST, QUOTE):
                return row
            target = self.world.row(row.target, now)
            if target is None:
                return None
            row = target
        return row

    def _embedded(self, root: Row, now: int, counters: Counters) -> Item:
        if root.gone_at > now and self.world.is_open(root.author, now):
            return self._post(root, now, counters, with_user=True)
        key = self.ids.post(root.number)
        return {
            "created_at": stamp(root.ms), "id": key, "mid": str(key), "idstr": str(key), "text": DELETED, "deleted": "1",
            "user": {"id": self.ids.user(root.author)},
        }  # fmt: skip

    def _post(self, row: Row, now: int, counters: Counters, *, with_user: bool, is_whole: bool = False) -> Item:
        content, key = self.world.contents.of(row), self.ids.post(row.number)
        is_reply = row.kind == REPLY
        whom = row.target & ((1 << 22) - 1)
        pictures = [f"http://ww1.simulated.example/thumbnail/{key:x}{nth}.jpg" for nth in range(content.pictures)]
        body: Item = {
            "created_at": stamp(row.ms), "id": key, "mid": str(key), "idstr": str(key),
            **_shown(row, self._text(row, content), is_whole), "source": _source(content), "favorited": False, "truncated": False,
            "in_reply_to_status_id": str(self.ids.post(row.target)) if is_reply else "",
            "in_reply_to_user_id": str(self.ids.user(whom)) if is_reply else "",
            "in_reply_to_screen_name": self._name(whom, row.ms) if is_reply else "",
            "pic_urls": [{"thumbnail_pic": url} for url in pictures],
            "geo": {"type": "Point", "coordinates": [content.place[1], content.place[0]]} if content.place else None,
            "reposts_count": counters.reposts + counters.quotes, "comments_count": counters.replies,
            "attitudes_count": counters.likes, "mlevel": 0,
            "visible": {"type": 3 if content.visibility == "private" else 0, "list_id": 0}, "annotations": [],
        }  # fmt: skip
        if pictures:
            body["thumbnail_pic"] = pictures[0]
            body["original_pic"] = pictures[0].replace("thumbnail", "large")
            if mix(row.number, 62) % 2:
                # Many answers name further pictures without their addresses.
                del body["pic_urls"]
                body["pic_ids"] = [url.rpartition("/")[2].removesuffix(".jpg") for url in pictures]
        if row.kind in (REPOST, QUOTE):
            body["pid"] = self.ids.post(row.target)
        if with_user:
            body["user"] = self._user(row.author, now)
        return body

    def _text(self, row: Row, content: Content) -> str:
        if row.kind == REPOST:
            return "转发微博"
        words = content.words + "".join(f" #{tag}#" for tag in content.tags) + (f" {content.link}" if content.link else "")
        if row.kind == REPLY:
            return f"回复@{self._name(row.target & ((1 << 22) - 1), row.ms)}:{words}"
        return f"{words}//@{self._name(row.target & ((1 << 22) - 1), row.ms)}:转发微博" if row.kind == QUOTE else words

    def _name(self, account: int, at: int) -> str:
        return self.world.profiles.at(account, at).handle

    def _user(self, account: int, now: int) -> Item:
        people, profile = self.world.people, self.world.profiles.at(account, now)
        followers, friends = self.world.graph.counts(account, now)
        key = self.ids.user(account)
        return {
            "id": key, "idstr": str(key), "screen_name": profile.handle, "name": profile.handle, "province": "11", "city": "5",
            "location": profile.location, "description": profile.bio, "url": profile.link,
            "profile_image_url": f"http://tp1.simulated.example/{key}/50/{profile.picture}/1",
            "avatar_large": f"http://tp1.simulated.example/{key}/180/{profile.picture}/1",
            "domain": f"d{key}", "weihao": "", "gender": "mfn"[mix(account, 61) % 3],
            "followers_count": followers, "friends_count": friends, "statuses_count": self.world.post_count(account, now),
            "favourites_count": mix(account, 51) % 3000, "created_at": stamp(int(people.created[account])), "following": False,
            "geo_enabled": mix(account, 52) % 3 != 0, "verified": bool(people.is_verified[account]), "verified_type": -1,
            "allow_all_comment": True, "bi_followers_count": 0, "lang": profile.language,
        }  # fmt: skip


def _shown(row: Row, text: str, is_whole: bool) -> Item:
    """The text, and of a long one the beginning, with the whole beside it where that was asked for."""
    is_long = row.kind != REPOST and len(text) > _LONG
    if not is_long:
        return {"text": text, "isLongText": False}
    return {"text": f"{text[:_LONG]}...", "isLongText": True, **({"longText": {"longTextContent": text}} if is_whole else {})}


def _source(content: Content) -> str:
    return f'<a href="http://weibo.com" rel="nofollow">{SOURCES[content.source % len(SOURCES)]}</a>'
