"""Posts: timelines, by id, reposts, comments, topics, places, trends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from bowerbird.simulated.weibo.call import Call
from bowerbird.simulated.weibo.eras import Era
from bowerbird.simulated.weibo.payloads import Item, Payloads
from bowerbird.simulated.weibo.users import Users
from bowerbird.simulated.wire import Reply, reply
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row
from bowerbird.simulated.world.posts.tags import tag_number
from bowerbird.simulated.world.settings import DAY, from_ms
from bowerbird.simulated.world.world import FAR

_BATCH = 50
_TOPIC_REACH = 200
_NEAR = 0.5
_PERIODS = {"hourly": "%Y-%m-%d %H:00", "daily": "%Y-%m-%d", "weekly": "%Y-%m-%d"}


class Statuses:
    """Handlers of `statuses/…`, `comments/…`, `search/topics`, `place/…` and `trends/…`."""

    def __init__(self, payloads: Payloads, crowd: Crowd, users: Users, era: Era) -> None:
        self._write = payloads
        self._world = payloads.world
        self._ids = payloads.ids
        self._crowd = crowd
        self._users = users
        self._era = era

    def user_timeline(self, call: Call) -> Reply:
        account = self._users.find(call)
        self._users.require_open(call, account)
        # Reposts of what is not to be seen any more are taken out of the page afterwards: it may fall short.
        reachable = islice(self._world.timeline(account, call.now), self._era.timeline_reach)
        page = self._page(call, ((self._ids.post(row.number), row) for row in reachable), 20, self._era.posts_per_call)
        rows = [row for row in page if self._is_readable(row, call.now)]
        total = self._world.post_count(account, call.now)
        return reply({"statuses": self._posts(call, rows), **_totals(total)})

    def show(self, call: Call) -> Reply:
        return reply(self._posts(call, [self._find(call)])[0])

    def show_batch(self, call: Call) -> Reply:
        keys = call.batch("ids", _BATCH)
        found = {key: row for key in keys if (row := self._readable(key, call.now)) is not None}
        written = dict(zip(found, self._posts(call, list(found.values())), strict=True))
        items = [written.get(key) or self._write.missing(key) for key in keys if key.isdecimal() and len(key) < 20]
        return reply({"statuses": items, **_totals(len(items))})

    def repost_timeline(self, call: Call) -> Reply:
        root = self._find(call)
        reactions, now = self._write.reactions, call.now
        numbers = [number for kind in (REPOST, QUOTE) for number in reactions.posts(root.number, now, kind)]
        found = (self._world.post(number, now) for number in sorted(numbers, reverse=True))
        rows = [row for row in found if row is not None and self._world.is_open(row.author, now)]
        page = self._page(call, ((self._ids.post(row.number), row) for row in rows), 20, 200)
        return reply({"reposts": self._posts(call, page), "hasvisible": False, **_totals(len(rows))})

    def comments(self, call: Call) -> Reply:
        root = self._find(call)
        rows = [row for row in self._replies(root, call.now) if self._world.is_open(row.author, call.now)]
        rows.sort(key=lambda row: -row.number)
        page = self._page(call, ((self._ids.comment(row.number), row) for row in rows), 50, 200)
        written = [self._write.comment(row, root, call.now) for row in page]
        return reply({"comments": written, "hasvisible": False, **_totals(len(rows))})

    def comment_batch(self, call: Call) -> Reply:
        """Comments by their own ids; the post each stands under is the beginning of its thread."""
        rows = (self._readable(key, call.now) for key in call.batch("cids", _BATCH))
        pairs = [(row, self._opening(row, call.now)) for row in rows if row is not None and row.kind == REPLY]
        return reply([self._write.comment(row, root, call.now) for row, root in pairs if root is not None])

    def topics(self, call: Call) -> Reply:
        text = call.params.get("q").strip("# ")
        if not text:
            raise call.refuse(10016)
        rows = list(
            islice(self._shown(self._crowd.posts(call.now, self._crowd.with_tag(tag_number(text))), call.now), _TOPIC_REACH)
        )
        return self._numbered(call, rows, 10, 50)

    def public_timeline(self, call: Call) -> Reply:
        rows = self._shown(self._crowd.posts(call.now, self._crowd.originals), call.now)
        return self._numbered(call, list(islice(rows, _TOPIC_REACH)), 20, 200)

    def nearby(self, call: Call) -> Reply:
        """Posts of the last day with a place close to a point."""
        try:
            latitude, longitude = float(call.params.get("lat")), float(call.params.get("long"))
        except ValueError:
            raise call.refuse(10017) from None
        rows = self._shown(self._crowd.posts(call.now, self._crowd.originals, oldest=call.now - DAY), call.now)
        places = ((row, self._world.contents.of(row).place) for row in rows)
        near = [
            row for row, at in places if at is not None and abs(at[0] - longitude) < _NEAR and abs(at[1] - latitude) < _NEAR
        ]  # fmt: skip
        return self._numbered(call, near, 20, 50)

    def trends(self, call: Call, period: str) -> Reply:
        if period not in _PERIODS:
            raise call.refuse(10020)
        ranked = self._crowd.trends(call.now)[:20]
        words = [{"name": name, "query": name, "amount": str(volume), "delta": "0"} for name, volume in ranked]
        return reply({"trends": {from_ms(call.now).strftime(_PERIODS[period]): words}, "as_of": call.now // 1000})

    def query_mid(self, call: Call) -> Reply:
        return reply({"mid": str(self._ids.post(self._find(call).number))})

    def _page(self, call: Call, keyed: Iterable[tuple[int, Row]], default: int, most: int) -> list[Row]:
        """Newest first, `max_id` inclusive, `since_id` exclusive, and then pages of `count`."""
        low, high = max(0, call.params.integer("since_id", 0)), call.params.integer("max_id", 0) or FAR
        count, page = call.count(default, most), max(1, call.params.integer("page", 1))
        wanted = (row for key, row in keyed if low < key <= high)
        return list(islice(wanted, (page - 1) * count, page * count))

    def _numbered(self, call: Call, rows: list[Row], default: int, most: int) -> Reply:
        count, page = call.count(default, most), max(1, call.params.integer("page", 1))
        chosen = rows[(page - 1) * count : page * count]
        if not rows:
            # Where nothing is found, an empty list takes the place of the page.
            return reply([])
        return reply({"statuses": self._posts(call, chosen), **_totals(len(rows))})

    def _posts(self, call: Call, rows: list[Row]) -> list[Item]:
        return self._write.posts(rows, call.now, is_whole=call.params.get("isGetLongText") == "1")

    def _replies(self, root: Row, now: int) -> Iterator[Row]:
        """Everything said under a post, answers to answers too."""
        waiting = [root.number]
        while waiting:
            for number in self._write.reactions.posts(waiting.pop(), now, REPLY):
                row = self._world.post(number, now)
                if row is not None:
                    waiting.append(number)
                    yield row

    def _opening(self, row: Row, now: int) -> Row | None:
        for _ in range(50):
            if row.kind != REPLY:
                return row
            above = self._world.row(row.target, now)
            if above is None:
                return None
            row = above
        return None

    def _find(self, call: Call) -> Row:
        row = self._existing(call.params.get("id"), call.now)
        if row is None:
            raise call.refuse(20101)
        if not self._world.is_open(row.author, call.now):
            raise call.refuse(20508)
        return row

    def _readable(self, key: str, now: int) -> Row | None:
        row = self._existing(key, now)
        return row if row is not None and self._world.is_open(row.author, now) and self._is_readable(row, now) else None

    def _existing(self, key: str, now: int) -> Row | None:
        found = (self._world.post(number, now) for number in self._ids.numbers(key))
        return next((row for row in found if row is not None and self._world.exists(row.author, now)), None)

    def _shown(self, rows: Iterable[Row], now: int) -> Iterator[Row]:
        return (row for row in rows if row.gone_at > now and self._is_readable(row, now) and self._is_public(row))

    def _is_public(self, row: Row) -> bool:
        return self._world.contents.of(row).visibility != "private"

    def _is_readable(self, row: Row, now: int) -> bool:
        """Plain reposts vanish with the one they pass on; those with words of their own stay."""
        return row.kind != REPOST or self._world.is_open(row.target & ((1 << 22) - 1), now)


def _totals(total: int) -> dict[str, Any]:
    return {"previous_cursor": 0, "next_cursor": 0, "total_number": total}
