"""Profiles and posts as the AppView shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Raw, Struct

from bowerbird.simulated.bluesky.ids import POST, PROFILE, REPOSTED, Ids, cid_of
from bowerbird.simulated.bluesky.records import Records, indexed_ms, picture, stamp, written
from bowerbird.simulated.wire import encode
from bowerbird.simulated.world import Availability, World
from bowerbird.simulated.world.people.portraits import Portraits
from bowerbird.simulated.world.posts.reactions import Counters, Reactions
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row, author_of
from bowerbird.simulated.world.settings import NEVER

_CDN = "https://cdn.simulated.example/img"


class _Sight(Struct):
    """What the posts of one answer share."""

    now: int
    rows: dict[int, Row]
    """Everything that may be shown, by number."""
    counters: dict[int, Counters]
    authors: dict[int, Raw]


class Payloads:
    """Writes profiles and posts as of a time."""

    def __init__(self, world: World, ids: Ids) -> None:
        self.world = world
        self.ids = ids
        self.records = Records(world, ids)
        self.reactions = Reactions(world)
        self._profiles: Portraits[bytes] = Portraits(world.changes)

    def is_shown(self, account: int, now: int) -> bool:
        """Everybody is public here: only those taken down, deactivated, deleted or unborn are not to be seen."""
        return self.world.availability(account, now) in (Availability.OPEN, Availability.PROTECTED)

    def status(self, account: int, now: int) -> str | None:
        """Why an account is not active, None if it is."""
        match self.world.availability(account, now):
            case Availability.SUSPENDED:
                # Those who come back went by themselves.
                return "takendown" if int(self.world.people.returned[account]) == NEVER else "deactivated"
            case Availability.GONE:
                return "deleted"
        return None

    def visible(self, number: int, now: int) -> Row | None:
        """A post that a visitor may read at that time."""
        row = self.world.post(number, now)
        return row if row is not None and row.kind != REPOST and self.is_shown(row.author, now) else None

    def basic(self, account: int, now: int) -> dict[str, Any]:
        did, profile = self.ids.did(account), self.world.profiles.at(account, now)
        created = stamp(int(self.world.people.created[account]))
        uri = f"at://{did}/{PROFILE}/self"
        return {
            "did": did,
            "handle": self.ids.handle(account, now),
            "displayName": profile.name,
            "avatar": f"{_CDN}/avatar/plain/{did}/{cid_of(f'{did}/{profile.picture}', is_file=True)}@jpeg",
            "labels": [
                {"src": did, "uri": uri, "cid": cid_of(uri), "val": value, "cts": created}
                for value in self.records.self_labels(account, now)
            ],
            "createdAt": created,
        }

    def author(self, account: int, now: int) -> bytes:
        """The profile as it stands in a post."""
        return self._profiles.of(account, "author", now, lambda whom, at: encode(self.basic(whom, at)))

    def view(self, account: int, now: int) -> bytes:
        return self._profiles.of(account, "view", now, lambda whom, at: encode(self._view(whom, at)))

    def detailed(self, account: int, now: int) -> bytes:
        return self._profiles.of(account, "detailed", now, self._detailed)

    def _detailed(self, account: int, now: int) -> bytes:
        followers, following = self.world.graph.counts(account, now)
        counts = {"followersCount": followers, "followsCount": following, "postsCount": self.world.post_count(account, now)}
        more: dict[str, Any] = {"associated": {"lists": 0, "feedgens": 0, "starterPacks": 0, "labeler": False}}
        link = self.world.profiles.at(account, now).link
        if link:
            more["website"] = link
        if self.world.people.is_verified[account]:
            more["verification"] = {"verifications": [], "verifiedStatus": "valid", "trustedVerifierStatus": "none"}
        return encode({**self._view(account, now), **counts, **more})

    def posts(self, rows: Sequence[Row], now: int) -> list[bytes]:
        """Post views in the order given."""
        sight = self._sight(rows, now)
        return [encode(self._post(row, sight)) for row in rows]

    def feed(self, rows: Sequence[Row], now: int) -> list[bytes]:
        """Feed items in the order given; reposts whose post is not to be seen are left out."""
        sight = self._sight(rows, now)
        return [encode(item) for item in (self._item(row, sight) for row in rows) if item is not None]

    def thread(self, row: Row, above: Sequence[Row], below: dict[int, list[Row]], now: int) -> dict[str, Any]:
        """A thread's tree: parents from the nearest up, replies by the number they answer."""
        everyone = [row, *above, *(each for rows in below.values() for each in rows)]
        sight = self._sight(everyone, now)
        node = self._node(row, below, sight)
        here, last = node, row
        for parent in above:
            here["parent"] = {"$type": "app.bsky.feed.defs#threadViewPost", "post": self._post(parent, sight)}
            here, last = here["parent"], parent
        if last.kind == REPLY and self.visible(last.target, now) is None:
            here["parent"] = self._missing(last.target)
        return node

    def _node(self, row: Row, below: dict[int, list[Row]], sight: _Sight) -> dict[str, Any]:
        replies = [self._node(each, below, sight) for each in below.get(row.number, ())]
        return {"$type": "app.bsky.feed.defs#threadViewPost", "post": self._post(row, sight), "replies": replies}

    def _view(self, account: int, now: int) -> dict[str, Any]:
        basic = self.basic(account, now)
        return {**basic, "description": self.world.profiles.at(account, now).bio_with_place, "indexedAt": basic["createdAt"]}

    def _sight(self, rows: Iterable[Row], now: int) -> _Sight:
        known = {row.number: row for row in rows}
        for row in list(known.values()):
            for number in self._referred(row):
                other = self.visible(number, now) if number not in known else None
                if other is not None:
                    known[number] = other
                    known |= self._quoted(other, now)
        numbers = [number for number, row in known.items() if row.kind != REPOST]
        counters = dict(zip(numbers, self.reactions.counters(numbers, now), strict=True))
        return _Sight(now, known, counters, {})

    def _referred(self, row: Row) -> list[int]:
        if row.kind == REPLY:
            return [row.target, self.records.root(row)]
        return [row.target] if row.kind in (REPOST, QUOTE) else []

    def _quoted(self, row: Row, now: int) -> dict[int, Row]:
        quoted = self.visible(row.target, now) if row.kind == QUOTE else None
        return {quoted.number: quoted} if quoted is not None else {}

    def _item(self, row: Row, sight: _Sight) -> dict[str, Any] | None:
        if row.kind == REPOST:
            original = sight.rows.get(row.target)
            return {"post": self._post(original, sight), "reason": self._reason(row, sight)} if original is not None else None
        item: dict[str, Any] = {"post": self._post(row, sight)}
        if row.kind == REPLY:
            item["reply"] = {"root": self._above(self.records.root(row), sight), "parent": self._above(row.target, sight)}
        return item

    def _reason(self, row: Row, sight: _Sight) -> dict[str, Any]:
        uri = self.ids.uri(row.author, REPOSTED, self.ids.rkey(row.number))
        indexed = stamp(indexed_ms(row.number, row.ms))
        kind, cid = "app.bsky.feed.defs#reasonRepost", written(self.records.repost(row.target, row.ms)).cid
        return {"$type": kind, "by": self._author(row.author, sight), "uri": uri, "cid": cid, "indexedAt": indexed}

    def _above(self, number: int, sight: _Sight) -> dict[str, Any]:
        row = sight.rows.get(number)
        if row is None:
            return self._missing(number)
        return {"$type": "app.bsky.feed.defs#postView", **self._post(row, sight)}

    def _missing(self, number: int) -> dict[str, Any]:
        uri = self.ids.uri(author_of(number), POST, self.ids.rkey(number))
        return {"$type": "app.bsky.feed.defs#notFoundPost", "uri": uri, "notFound": True}

    def _post(self, row: Row, sight: _Sight) -> dict[str, Any]:
        view = self._shown(row, sight)
        embed = self._embed(row, sight)
        return {**view, "record": self.record(row), **({"embed": embed} if embed is not None else {})}

    def _shown(self, row: Row, sight: _Sight) -> dict[str, Any]:
        uri, counters = self.ids.uri(row.author, POST, self.ids.rkey(row.number)), sight.counters[row.number]
        return {
            "uri": uri,
            "cid": self.records.written(row).cid,
            "author": self._author(row.author, sight),
            "replyCount": counters.replies,
            "repostCount": counters.reposts,
            "likeCount": counters.likes,
            "quoteCount": counters.quotes,
            "bookmarkCount": 0,
            "indexedAt": stamp(indexed_ms(row.number, row.ms)),
            "labels": [],
        }

    def _author(self, account: int, sight: _Sight) -> Raw:
        author = sight.authors.get(account)
        if author is None:
            author = sight.authors[account] = Raw(self.author(account, sight.now))
        return author

    def record(self, row: Row) -> Raw:
        """A post's record, which never changes."""
        return self.records.written(row).json

    def _embed(self, row: Row, sight: _Sight) -> dict[str, Any] | None:
        content = self.world.contents.of(row)
        images = {"$type": "app.bsky.embed.images#view", "images": [self._image(row, nth) for nth in range(content.pictures)]}
        if row.kind == QUOTE:
            quoted = {"$type": "app.bsky.embed.record#view", "record": self._inner(row.target, sight)}
            mixed = {"$type": "app.bsky.embed.recordWithMedia#view", "record": quoted, "media": images}
            return mixed if content.pictures else quoted
        if content.pictures:
            return images
        if content.link:
            external = {"uri": content.link, "title": "News", "description": ""}
            return {"$type": "app.bsky.embed.external#view", "external": external}
        return None

    def _inner(self, number: int, sight: _Sight) -> dict[str, Any]:
        row = sight.rows.get(number)
        if row is None:
            uri = self.ids.uri(author_of(number), POST, self.ids.rkey(number))
            return {"$type": "app.bsky.embed.record#viewNotFound", "uri": uri, "notFound": True}
        view = {name: value for name, value in self._shown(row, sight).items() if name != "bookmarkCount"}
        return {"$type": "app.bsky.embed.record#viewRecord", **view, "value": self.record(row), "embeds": []}

    def _image(self, row: Row, nth: int) -> dict[str, Any]:
        address = f"plain/{self.ids.did(row.author)}/{picture(row, nth)}@jpeg"
        return {"thumb": f"{_CDN}/feed_thumbnail/{address}", "fullsize": f"{_CDN}/feed_fullsize/{address}", "alt": "a picture"}
