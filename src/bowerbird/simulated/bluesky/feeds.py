"""Posts: author feeds, by at-uri, threads, reactions, search, trends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Raw

from bowerbird.simulated.bluesky.actors import Actors
from bowerbird.simulated.bluesky.call import Call, invalid, newest_first, page, refuse
from bowerbird.simulated.bluesky.ids import POST
from bowerbird.simulated.bluesky.payloads import Payloads
from bowerbird.simulated.bluesky.records import stamp
from bowerbird.simulated.faults import page as html
from bowerbird.simulated.wire import RefusedError, Reply, encode, reply
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row, number_of
from bowerbird.simulated.world.posts.tags import tag_number
from bowerbird.simulated.world.settings import DAY, to_ms
from bowerbird.simulated.world.world import FAR

_BATCH = 25
_DEEPEST = 1_000
_FILTERS = ("posts_with_replies", "posts_no_replies", "posts_with_media", "posts_and_author_threads", "posts_with_video")
_FORBIDDEN = Reply(403, html("403 Forbidden"), {"content-type": "text/html"})
"""The front proxy's word on searches without login."""


class Feeds:
    """Handlers of `app.bsky.feed…` and of trends."""

    def __init__(self, payloads: Payloads, crowd: Crowd, actors: Actors) -> None:
        self._write = payloads
        self._world = payloads.world
        self._ids = payloads.ids
        self._crowd = crowd
        self._actors = actors

    def author_feed(self, call: Call) -> Reply:
        account, limit = self._actors.find(call, call.text("actor"), "Profile not found"), call.limit(50, 100)
        if not self._write.is_shown(account, call.now):
            raise invalid("Profile not found")
        if call.params.get("filter") and call.params.get("filter") not in _FILTERS:
            raise invalid("Error: filter must be one of the known values")
        if call.is_stale:
            return page("feed", [])
        rows = list(islice(self._world.timeline(account, call.now, below=_before(call)), limit))
        # Filtered after the fetch and not filled up again: a page may be short, or empty, though there is more.
        items = self._write.feed([row for row in rows if self._passes(call, row)], call.now)
        return page("feed", items, stamp(rows[-1].ms) if rows else None)

    def posts(self, call: Call) -> Reply:
        wanted = call.params.all("uris")
        if not wanted:
            raise invalid('Error: Params must have the property "uris"')
        if len(wanted) > _BATCH:
            raise invalid(f"Error: uris must not have more than {_BATCH} elements")
        rows = [row for row in (self._readable(uri, call.now) for uri in dict.fromkeys(wanted)) if row is not None]
        return page("posts", self._write.posts(rows, call.now))

    def thread(self, call: Call) -> Reply:
        uri = self._ids.with_did(call.text("uri"), call.now)
        row = self._readable(uri, call.now)
        if row is None:
            raise refuse(400, "NotFound", f"Post not found: {uri}")
        depth, height = (min(max(call.params.integer(name, usual), 0), _DEEPEST) for name, usual in _DEPTHS)
        tree = self._write.thread(row, self._above(row, height, call.now), self._below(row, depth, call.now), call.now)
        return reply({"thread": tree})

    def reposted_by(self, call: Call) -> Reply:
        row, limit = self._asked(call, "repostedBy"), call.limit(50, 100)
        pairs = self._write.reactions.reposters(row.number, call.now)
        chosen, cursor = _reacted(call, pairs, limit)
        shown = [self._write.view(account, call.now) for _, account in chosen if self._write.is_shown(account, call.now)]
        return page("repostedBy", shown, cursor, uri=call.text("uri"))

    def likes(self, call: Call) -> Reply:
        row, limit = self._asked(call, "likes"), call.limit(50, 100)
        chosen, cursor = _reacted(call, self._write.reactions.likers(row.number, call.now), limit)
        likes = [
            encode({"indexedAt": stamp(ms), "createdAt": stamp(ms), "actor": Raw(self._write.view(account, call.now))})
            for ms, account in chosen
            if self._write.is_shown(account, call.now)
        ]
        return page("likes", likes, cursor, uri=call.text("uri"))

    def quotes(self, call: Call) -> Reply:
        row, limit = self._asked(call, "posts"), call.limit(50, 100)
        if call.is_stale:
            return page("posts", [], uri=call.text("uri"))
        numbers = self._write.reactions.posts(row.number, call.now, QUOTE)
        places, cursor = newest_first(call, np.array(numbers, np.int64), limit)
        rows = [each for each in (self._write.visible(numbers[place], call.now) for place in places) if each is not None]
        return page("posts", self._write.posts(rows, call.now), cursor, uri=call.text("uri"))

    def search(self, call: Call) -> Reply:
        if call.token is None:
            raise RefusedError(_FORBIDDEN)
        text, limit, start = call.text("q"), call.limit(25, 100), call.offset()
        found = list(islice(self._matching(call, text), start, start + limit + 1))
        cursor = str(start + limit) if len(found) > limit else None
        return page("posts", self._write.posts(found[:limit], call.now), cursor)

    def trends(self, call: Call) -> Reply:
        limit = call.limit(10, 25)
        items = [
            encode(
                {
                    "topic": name, "displayName": name, "link": f"/hashtag/{name}", "startedAt": stamp(call.now - DAY),
                    "postCount": count, "status": "hot", "actors": [],
                }
            )
            for name, count in self._crowd.trends(call.now)[:limit]
        ]  # fmt: skip
        return page("trends", items)

    def _asked(self, call: Call, name: str) -> Row:
        """The post asked about; of one that is gone the lists are simply empty, as the real service has them."""
        row = self._readable(call.text("uri"), call.now)
        if row is None:
            raise RefusedError(page(name, [], uri=call.text("uri")))
        return row

    def _readable(self, uri: str, now: int) -> Row | None:
        parts = self._ids.split(uri)
        if parts is None or parts[1] != POST:
            return None
        number = self._ids.number(parts[0], parts[2])
        row = self._write.visible(number, now) if number is not None else None
        return row if row is not None and self._ids.rkey(row.number) == parts[2] else None

    def _passes(self, call: Call, row: Row) -> bool:
        wanted = call.params.get("filter")
        if wanted == "posts_with_media":
            return row.kind != REPOST and self._world.contents.of(row).pictures > 0
        if wanted == "posts_with_video":
            return False
        return wanted not in ("posts_no_replies", "posts_and_author_threads") or row.kind != REPLY

    def _above(self, row: Row, most: int, now: int) -> list[Row]:
        found: list[Row] = []
        while row.kind == REPLY and len(found) < most:
            parent = self._write.visible(row.target, now)
            if parent is None:
                break
            found.append(parent)
            row = parent
        return found

    def _below(self, row: Row, depth: int, now: int) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {}
        layer = [row.number]
        for _ in range(depth):
            for number in layer:
                answers = (self._write.visible(each, now) for each in self._write.reactions.posts(number, now, REPLY))
                found[number] = [each for each in answers if each is not None]
            layer = [each.number for number in layer for each in found[number]]
            if not layer:
                break
        return found

    def _matching(self, call: Call, text: str) -> Iterator[Row]:
        newest = min(_moment(call, "until", call.now), call.now)
        rows = self._crowd.posts(newest, self._query(call, text), oldest=_moment(call, "since", 0))
        language = call.params.get("lang")
        for row in rows:
            is_spoken = not language or self._world.contents.town(row.author).language == language
            if is_spoken and row.gone_at > call.now and self._write.is_shown(row.author, call.now):
                yield row

    def _query(self, call: Call, text: str) -> Any:
        """All words and tags must be there, and the author if one is named."""
        terms = [self._term(call, word) for word in text.split()]
        terms += [self._crowd.with_tag(tag_number(tag)) for tag in call.params.all("tag")]
        if call.params.get("author"):
            terms.append(self._by(call, call.params.get("author")))

        def mask(day: Day) -> Any:
            return np.logical_and.reduce([day.kind != REPOST, *(term(day) for term in terms)])

        return mask

    def _term(self, call: Call, word: str) -> Any:
        if word.startswith("#"):
            return self._crowd.with_tag(tag_number(word[1:]))
        if word.startswith("from:"):
            return self._by(call, word[5:].lstrip("@"))
        return lambda day: self._world.contents.saying(day.number, day.event, word)

    def _by(self, call: Call, actor: str) -> Any:
        named = self._ids.account(actor) if actor.startswith("did:") else self._ids.named(actor, call.now)
        author = -1 if named is None else named
        return lambda day: (day.number & ((1 << 22) - 1)) == author


_DEPTHS = (("depth", 6), ("parentHeight", 80))


def _before(call: Call) -> int:
    """A feed's cursor is the time of its last item."""
    return number_of(_moment(call, "cursor", 0), 0) if call.cursor else FAR


def _moment(call: Call, name: str, usual: int) -> int:
    text = call.params.get(name)
    if not text:
        return usual
    try:
        when = datetime.fromisoformat(text)
        return to_ms(when if when.tzinfo else when.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise invalid("Malformed cursor" if name == "cursor" else f"Error: {name} must be a valid datetime") from None


def _reacted(call: Call, pairs: list[tuple[int, int]], limit: int) -> tuple[list[tuple[int, int]], str | None]:
    """(time, account) of one page, newest first; not filled up again when some are hidden."""
    if call.is_stale:
        return [], None
    keyed = sorted((ms << 20 | account, ms, account) for ms, account in pairs)
    places, cursor = newest_first(call, np.array([key for key, _, _ in keyed], np.int64), limit)
    return [keyed[place][1:] for place in places], cursor
