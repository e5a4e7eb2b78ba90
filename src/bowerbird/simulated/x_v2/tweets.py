"""Posts: timelines, by id, who passed on, quoted and liked them, search, trends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

import numpy as np

from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world.people.vocabulary import TOWNS
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, QUOTE, REPLY, REPOST, Row, number_of
from bowerbird.simulated.world.settings import DAY
from bowerbird.simulated.x_v2.answers import Answers, page_meta
from bowerbird.simulated.x_v2.call import FARTHEST, Call, checked_id
from bowerbird.simulated.x_v2.payloads import Item, Payloads
from bowerbird.simulated.x_v2.problems import invalid, missing, unauthorized
from bowerbird.simulated.x_v2.querying.queries import Queries
from bowerbird.simulated.x_v2.users import Users, batch

_REACH, _REACH_WITHOUT_REPLIES, _REACH_OF_MENTIONS, _REACH_OF_LISTS, _REACH_OF_LIKES = 3_200, 800, 800, 800, 100
_RECENT = 7 * DAY
_LATEST = timedelta(seconds=30) // timedelta(milliseconds=1)
"""A search ends half a minute ago unless told otherwise."""


class Tweets:
    """Handlers that answer with posts, or with users by what they did to one."""

    def __init__(self, payloads: Payloads, answers: Answers, users: Users) -> None:
        self._write = payloads
        self._world = payloads.world
        self._answers = answers
        self._users = users
        self._crowd = Crowd(payloads.world)
        self._queries = Queries(payloads, self._crowd)

    def timeline(self, call: Call, key: str) -> Reply:
        account, problem = self._users.find(call, key)
        if problem is not None:
            return self._answers.errors(problem)
        size, excluded = call.size(10, 5, 100), _excluded(call)
        reach = _REACH_WITHOUT_REPLIES if "replies" in excluded else _REACH
        below, above = call.bounds()
        rows = islice(self._world.timeline(account, call.now, above=above), reach)
        page = list(islice((row for row in rows if row.number < below), size + 1))
        # The page is taken before the filters are applied: it may fall short, or be empty, though there is more.
        shown = [row for row in page[:size] if self._passes(row, excluded, call.now)]
        return self._answers.posts(call, shown, page[size - 1].number if len(page) > size else None)

    def mentions(self, call: Call, key: str) -> Reply:
        account, problem = self._users.find(call, key)
        if problem is not None:
            return self._answers.errors(problem)

        def mask(day: Day) -> Any:
            return (day.kind == REPLY) & ((day.target & AUTHOR_MASK) == account)

        return self._crowd_page(call, mask, call.size(10, 5, 100), _REACH_OF_MENTIONS)

    def list_timeline(self, call: Call, key: str) -> Reply:
        town = self._users.town_of(key)
        if town is None:
            return self._answers.errors(missing("list", "id", key))
        members = np.zeros(len(self._world), bool)
        members[self._users.members_of(town)] = True
        return self._crowd_page(call, lambda day: members[day.number & AUTHOR_MASK], call.size(100, 1, 100), _REACH_OF_LISTS)

    def liked(self, call: Call, key: str) -> Reply:
        account, problem = self._users.find(call, key)
        if problem is not None:
            return self._answers.errors(problem)
        size, start = call.size(10, 5, 100), call.position() or 0
        # The world may draw a like twice; nobody can see that.
        numbers = list(dict.fromkeys(self._world.liked(account, call.now)))[start : start + size + 1]
        rows = self._readable_rows(numbers[:size], call.now)
        return self._answers.posts(call, rows, start + size if len(numbers) > size else None)

    def by_ids(self, call: Call) -> Reply:
        found = {key: self._find(checked_id("ids", key), "ids", call.now) for key in batch(call, "ids")}
        rows = [row for row, _ in found.values() if row is not None]
        return self._answers.found_posts(call, rows, [problem for _, problem in found.values() if problem])

    def by_id(self, call: Call, key: str) -> Reply:
        row, problem = self._find(checked_id("id", key), "id", call.now)
        return self._answers.errors(problem or {}) if row is None else self._answers.one_post(call, row)

    def reposters(self, call: Call, key: str) -> Reply:
        return self._people(call, key, lambda number: self._write.reactions.reposters(number, call.now), "user")

    def likers(self, call: Call, key: str) -> Reply:
        """A hundred users per post and never more."""
        return self._people(call, key, lambda number: self._write.reactions.likers(number, call.now)[-_REACH_OF_LIKES:], "like")

    def reposts(self, call: Call, key: str) -> Reply:
        return self._reacting(call, key, REPOST, call.size(100, 1, 100))

    def quotes(self, call: Call, key: str) -> Reply:
        return self._reacting(call, key, QUOTE, call.size(10, 10, 100))

    def recent(self, call: Call) -> Reply:
        oldest = call.now - _RECENT
        for name in ("since_id", "start_time"):
            self._check_recent(call, name, oldest)
        return self._search(call, oldest, 512, 100)

    def archive(self, call: Call) -> Reply:
        return self._search(call, 0, 1_024, 500)

    def trends(self, call: Call, woeid: str) -> Reply:
        towns = {town.woeid: index for index, town in enumerate(TOWNS)}
        number = int(checked_id("woeid", woeid))
        if number != 1 and number not in towns:
            raise invalid("woeid", woeid, f"The `woeid` query parameter value [{woeid}] is not valid")
        most = call.size(20, 1, 50, "max_trends")
        self._answers.count(call, "trends", [f"{woeid}@{call.arrived_at.timestamp()}"])
        ranked = self._crowd.trends(call.now, towns.get(number))[:most]
        return self._answers.body({"data": [{"trend_name": f"#{name}", "tweet_count": volume} for name, volume in ranked]})

    def _check_recent(self, call: Call, name: str, oldest: int) -> None:
        text = call.params.get(name)
        if text and call.bounds()[1] < number_of(oldest, 0):
            what = "a tweet id created after" if name == "since_id" else "on or after"
            raise invalid(name, text, f"'{name}' must be {what} the last seven days. Please use a '{name}' that is larger.")

    def _search(self, call: Call, oldest: int, longest: int, most: int) -> Reply:
        text = call.params.get("query").strip()
        if not 1 <= len(text) <= longest:
            raise invalid("query", text, f"The `query` query parameter can not be empty or longer than {longest} characters")
        size = call.size(10, 10, most)
        below, above = call.bounds()
        newest = call.now if call.params.get("end_time") or call.params.get("until_id") else call.now - _LATEST
        mask = self._queries.mask(text, call.now)
        found = self._crowd.posts(newest, mask, below=below, above=above, oldest=oldest)
        shown = (row for row in found if row.gone_at > call.now and self._write.is_readable(row, call.now))
        rows = list(islice(shown, size))
        # A full last page still has a token: it leads to an empty one.
        return self._answers.posts(call, rows, rows[-1].number if len(rows) == size else None)

    def _crowd_page(self, call: Call, mask: Any, size: int, reach: int) -> Reply:
        below, above = call.bounds()
        rows = islice(self._crowd.posts(call.now, mask, above=above), reach)
        page = list(islice((row for row in rows if row.number < below), size + 1))
        shown = [row for row in page[:size] if self._write.is_readable(row, call.now)]
        return self._answers.posts(call, shown, page[size - 1].number if len(page) > size else None)

    def _people(self, call: Call, key: str, who: Any, kind: str) -> Reply:
        """Newest first; a position counts from the oldest, so newcomers do not shift the pages."""
        row, problem = self._find(checked_id("id", key), "id", call.now)
        if row is None:
            return self._answers.errors(problem or {})
        size, pairs = call.size(100, 1, 100), who(row.number)
        page, following = _from_the_end(call, pairs, size)
        accounts = [account for _, account in page if self._world.is_open(account, call.now)]
        whose = f"{key}/" if kind == "like" else ""
        return self._answers.users(call, accounts, page_meta(len(accounts), following), kind=kind, whose=whose)

    def _reacting(self, call: Call, key: str, kind: int, size: int) -> Reply:
        row, problem = self._find(checked_id("id", key), "id", call.now)
        if row is None:
            return self._answers.errors(problem or {})
        page, following = _from_the_end(call, self._write.reactions.posts(row.number, call.now, kind), size)
        return self._answers.posts(call, self._readable_rows(page, call.now), following)

    def _find(self, key: str, parameter: str, now: int) -> tuple[Row | None, Item | None]:
        """The post, or the error that stands for it."""
        number = int(key)
        row = self._world.post(number, now) if 0 < number < FARTHEST else None
        if row is None or not self._world.exists(row.author, now):
            return None, missing("tweet", parameter, key)
        if not self._world.is_open(row.author, now) or not self._write.is_readable(row, now):
            return None, unauthorized("tweet", parameter, key)
        return row, None

    def _readable_rows(self, numbers: Sequence[int], now: int) -> list[Row]:
        return list(self._readable(numbers, now))

    def _readable(self, numbers: Sequence[int], now: int) -> Iterator[Row]:
        for number in numbers:
            row = self._world.post(number, now)
            if row is not None and self._world.is_open(row.author, now) and self._write.is_readable(row, now):
                yield row

    def _passes(self, row: Row, excluded: frozenset[str], now: int) -> bool:
        if row.kind == REPLY and "replies" in excluded:
            return False
        if row.kind == REPOST and "retweets" in excluded:
            return False
        return self._write.is_readable(row, now)


def _excluded(call: Call) -> frozenset[str]:
    names = frozenset(filter(None, call.params.get("exclude").split(",")))
    for name in names - {"replies", "retweets"}:
        raise invalid("exclude", name, f"The `exclude` query parameter value [{name}] is not one of [replies,retweets]")
    return names


def _from_the_end(call: Call, items: list[Any], size: int) -> tuple[list[Any], int | None]:
    """A page of a list that grows at its end, the last first, and where the next one begins."""
    position = call.position()
    end = len(items) if position is None else min(position, len(items))
    start = max(0, end - size)
    return items[start:end][::-1], start or None
