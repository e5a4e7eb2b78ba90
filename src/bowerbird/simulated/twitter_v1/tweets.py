"""Tweets: timelines, by id, retweets, likes, search, trends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

from bowerbird.simulated.twitter_v1.call import Call, find_user, refuse, require_open, user_key
from bowerbird.simulated.twitter_v1.filters import near
from bowerbird.simulated.twitter_v1.payloads import Payloads
from bowerbird.simulated.twitter_v1.users import Users
from bowerbird.simulated.wire import JSON, Reply, raw_list, reply
from bowerbird.simulated.world import Availability
from bowerbird.simulated.world.people.vocabulary import TOWNS
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, Row, number_of
from bowerbird.simulated.world.posts.tags import tag_number
from bowerbird.simulated.world.settings import DAY, to_ms
from bowerbird.simulated.world.world import FAR

REACH = 3_200
"""How far back a user's timeline goes, retweets counted even when hidden."""
_BATCH = 100
_RETWEETS = 100
_SEARCH_DAYS = 7


class Tweets:
    """Handlers of `statuses/…`, `favorites/…`, `search/…`, `trends/…`."""

    def __init__(self, payloads: Payloads, crowd: Crowd, users: Users) -> None:
        self._write = payloads
        self._world = payloads.world
        self._crowd = crowd
        self._users = users

    def user_timeline(self, call: Call) -> Reply:
        account = find_user(call, self._world)
        require_open(call, self._world, account)
        below, above = _bounds(call)
        # `count` is taken before the filters are applied: a page may fall short though there is more.
        page = islice(self._reachable(account, call.now, below, above), call.count(20, 200))
        return self._page(call, [row for row in page if self._passes(call, row)])

    def lookup(self, call: Call) -> Reply:
        keys = [text.strip() for text in call.params.get("id").split(",") if text.strip()]
        if not keys:
            raise refuse(25)
        if len(keys) > _BATCH:
            raise refuse(18)
        found = {
            key: row for key, row in ((key, self._readable(key, call.now)) for key in dict.fromkeys(keys)) if row is not None
        }
        written = self._tweets(call, list(found.values()))
        if not call.params.flag("map"):
            return raw_list(written)
        by_key = dict(zip(found, written, strict=True))
        entries = b",".join(b'"%b":%b' % (quote(key).encode(), by_key.get(key, b"null")) for key in dict.fromkeys(keys))
        return Reply(200, b'{"id":{%b}}' % entries, {"content-type": JSON})

    def show(self, call: Call, key: str = "") -> Reply:
        return Reply(200, self._tweets(call, [self._find(call, key or call.params.get("id"))])[0], {"content-type": JSON})

    def retweets(self, call: Call, key: str) -> Reply:
        row = self._find(call, key)
        numbers = self._write.reactions.posts(row.number, call.now, REPOST)[::-1]
        rows = (self._readable(str(number), call.now) for number in numbers)
        return self._page(call, list(islice((each for each in rows if each is not None), call.count(_RETWEETS, _RETWEETS))))

    def retweeters(self, call: Call) -> Reply:
        row = self._find(call, call.params.get("id"))
        pairs = self._write.reactions.reposters(row.number, call.now)[::-1][:_RETWEETS]
        # Filtered after the query: the page falls short of a hundred where some are suspended or protected.
        keys = [user_key(account) for _, account in pairs if self._world.is_open(account, call.now)]
        ids: list[Any] = [str(key) for key in keys] if call.params.flag("stringify_ids") else list(keys)
        return reply({"ids": ids, "next_cursor": 0, "next_cursor_str": "0", "previous_cursor": 0, "previous_cursor_str": "0"})

    def favorites(self, call: Call) -> Reply:
        account = find_user(call, self._world)
        require_open(call, self._world, account)
        below, above = _bounds(call)
        liked = self._world.liked(account, call.now, below=below, above=above)
        rows = (self._readable(str(number), call.now) for number in liked)
        found = list(islice((row for row in rows if row is not None), call.count(20, 200)))
        return self._page(call, sorted(found, key=lambda row: -row.number))

    def list_statuses(self, call: Call) -> Reply:
        members = np.zeros(len(self._world), bool)
        members[self._users.list_members(call)] = True
        below, above = _bounds(call)

        def mask(day: Day) -> Any:
            return members[day.number & ((1 << 22) - 1)]

        rows = self._crowd.posts(call.now, mask, below=below, above=above)
        return self._page(
            call, list(islice((row for row in rows if self._write.is_readable(row, call.now)), call.count(20, 200)))
        )

    def search(self, call: Call) -> Reply:
        text = call.params.get("q").strip()
        is_placed = bool(call.params.get("geocode"))
        if (not text and not is_placed) or len(text) > 500:
            raise refuse(195 if text else 25)
        count = call.count(15, 100)
        rows = list(islice(self._matching(call, text), count))
        following = ""
        if len(rows) == count:
            pairs = [("max_id", str(rows[-1].number - 1)), ("q", text), ("count", str(count)), ("include_entities", "1")]
            following = f"?{urlencode(pairs, quote_via=quote)}"
        newest = rows[0].number if rows else 0
        meta: dict[str, Any] = {
            "max_id": newest, "max_id_str": str(newest), "query": quote(text), "count": count, "completed_in": 0.02,
            "since_id": call.params.integer("since_id", 0), "since_id_str": str(call.params.integer("since_id", 0)),
        }  # fmt: skip
        if following:
            meta["next_results"] = following
        body = b'{"statuses":[%b],"search_metadata":%b}' % (b",".join(self._tweets(call, rows)), reply(meta).body)
        return Reply(200, body, {"content-type": JSON})

    def trends(self, call: Call) -> Reply:
        woeid = call.params.integer("id", 0)
        towns = {town.woeid: index for index, town in enumerate(TOWNS)}
        if woeid != 1 and woeid not in towns:
            raise refuse(34)
        ranked = self._crowd.trends(call.now, towns.get(woeid))[:50] if call.params.get("exclude") != "hashtags" else []
        trends = [
            {"name": f"#{name}", "url": f"http://twitter.com/search?q=%23{name}", "query": f"%23{name}", "tweet_volume": volume}
            for name, volume in ranked
        ]
        place = {"name": "Worldwide" if woeid == 1 else TOWNS[towns[woeid]].name, "woeid": woeid}
        at = datetime.fromtimestamp(call.now // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return reply([{"trends": trends, "as_of": at, "created_at": at, "locations": [place]}])

    def _reachable(self, account: int, now: int, below: int, above: int) -> Iterator[Row]:
        """The newest 3,200 of a timeline, of which only a stretch is asked for."""
        rows = self._world.timeline(account, now, above=above)
        if below <= number_of(now, 0) and self._world.post_count(account, now) <= REACH:
            rows = self._world.timeline(account, now, below=below, above=above)
        return (row for row in islice(rows, REACH) if row.number < below)

    def _passes(self, call: Call, row: Row) -> bool:
        if not self._write.is_readable(row, call.now):
            return False
        if row.kind == REPLY and call.params.flag("exclude_replies"):
            return False
        return row.kind != REPOST or call.params.flag("include_rts", default=True)

    def _page(self, call: Call, rows: list[Row]) -> Reply:
        return raw_list(self._tweets(call, rows))

    def _tweets(self, call: Call, rows: list[Row]) -> list[bytes]:
        is_extended = call.params.get("tweet_mode") == "extended"
        return self._write.tweets(rows, call.now, is_extended=is_extended, with_user=not call.params.flag("trim_user"))

    def _find(self, call: Call, key: str) -> Row:
        row = self._existing(key, call.now)
        if row is None:
            raise refuse(144)
        state = self._world.availability(row.author, call.now)
        if state is Availability.SUSPENDED:
            raise refuse(63)
        if state is Availability.PROTECTED:
            raise refuse(179)
        return row

    def _readable(self, key: str, now: int) -> Row | None:
        row = self._existing(key, now)
        return row if row is not None and self._world.is_open(row.author, now) and self._write.is_readable(row, now) else None

    def _existing(self, key: str, now: int) -> Row | None:
        if not key.isascii() or not key.isdecimal() or len(key) > 19 or int(key) >= FAR:
            return None
        row = self._world.post(int(key), now)
        return row if row is not None and self._world.exists(row.author, now) else None

    def _matching(self, call: Call, text: str) -> Iterator[Row]:
        below, above = _bounds(call)
        newest = call.now
        if call.params.get("until"):
            try:
                newest = min(newest, to_ms(datetime.fromisoformat(call.params.get("until")).replace(tzinfo=UTC)) - 1)
            except ValueError:
                raise refuse(25) from None
        rows = self._crowd.posts(newest, self._query(call, text), below=below, above=above, oldest=call.now - _SEARCH_DAYS * DAY)
        language, is_near = call.params.get("lang"), near(call.params.get("geocode"), self._world)
        for row in rows:
            is_spoken = not language or self._world.contents.town(row.author).language == language
            if is_spoken and is_near(row) and row.gone_at > call.now and self._write.is_readable(row, call.now):
                yield row

    def _query(self, call: Call, text: str) -> Any:
        """All words must be there: `#tag`, `from:name`, `to:name`, `-filter:retweets`, or a word."""
        terms = [self._term(call, word.strip("()")) for word in text.split() if word.upper() != "OR"]

        def mask(day: Day) -> Any:
            parts = [term(day) for term in terms] or [np.ones(len(day.number), bool)]
            return np.logical_or.reduce(parts) if " OR " in text else np.logical_and.reduce(parts)

        return mask

    def _term(self, call: Call, word: str) -> Any:
        profiles, contents = self._world.profiles, self._world.contents
        if word == "-filter:retweets":
            return lambda day: day.kind != REPOST
        if word.startswith("#"):
            return self._crowd.with_tag(tag_number(word[1:]))
        if word.startswith("from:"):
            author = profiles.account_of(word[5:].lstrip("@"), call.now)
            return lambda day: (day.number & ((1 << 22) - 1)) == (-1 if author is None else author)
        if word.startswith(("to:", "@")):
            whom = profiles.account_of(word.removeprefix("to:").lstrip("@"), call.now)
            return lambda day: (day.kind == REPLY) & ((day.target & ((1 << 22) - 1)) == (-1 if whom is None else whom))
        return lambda day: contents.saying(day.number, day.event, word) & (day.kind != REPOST)


def _bounds(call: Call) -> tuple[int, int]:
    """`max_id` is inclusive, `since_id` exclusive; as exclusive bounds."""
    return min(call.params.integer("max_id", FAR), 1 << 62) + 1, min(max(call.params.integer("since_id", 0), 0), 1 << 62)
