"""Whole answers: what was asked for, what it refers to, what is wrong with it, and where it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from bowerbird.simulated.twitter_v1.call import user_key
from bowerbird.simulated.wire import Reply, reply
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, Row, author_of
from bowerbird.simulated.x_v2.call import Call, page_token
from bowerbird.simulated.x_v2.fields import in_new_spelling, only
from bowerbird.simulated.x_v2.meter import Meter
from bowerbird.simulated.x_v2.payloads import Item, Payloads, picture, place, poll
from bowerbird.simulated.x_v2.problems import missing, unauthorized


class _Along(Struct):
    """What comes along with posts, each once."""

    users: dict[int, None] = field(default_factory=dict)
    posts: dict[int, Row] = field(default_factory=dict)
    media: list[Item] = field(default_factory=list)
    places: dict[str, Item] = field(default_factory=dict)
    polls: list[Item] = field(default_factory=list)
    errors: list[Item] = field(default_factory=list)


class Answers:
    """Writes answers in one of the two spellings and counts what they return."""

    def __init__(self, payloads: Payloads, meter: Meter, spelling: str) -> None:
        self.payloads = payloads
        self._write = payloads
        self._world = payloads.world
        self._meter = meter
        self._is_new = spelling == "post"

    def errors(self, *problems: Item) -> Reply:
        """A 200 that has nothing but errors."""
        return self.body({"errors": list(problems)})

    def users(self, call: Call, accounts: Sequence[int], meta: Item, *, kind: str = "user", whose: str = "") -> Reply:
        """`whose`: what the accounts are listed of, where they are paid for once for each of these."""
        return self.body({**self._users(call, accounts, kind, whose), "meta": meta})

    def found_users(self, call: Call, accounts: Sequence[int], problems: list[Item]) -> Reply:
        """The users of a batch, with errors beside them for the rest."""
        return self.body({**self._users(call, accounts, "user"), **({"errors": problems} if problems else {})})

    def one_user(self, call: Call, account: int) -> Reply:
        return self.body({"data": self._users(call, [account], "user")["data"][0]})

    def posts(self, call: Call, rows: Sequence[Row], following: int | None) -> Reply:
        meta: Item = {"result_count": len(rows)}
        if rows:
            numbers = [row.number for row in rows]
            meta |= {"newest_id": str(max(numbers)), "oldest_id": str(min(numbers))}
        if following is not None:
            meta["next_token"] = page_token(following)
        return self.body({**self._posts(call, rows), "meta": meta})

    def found_posts(self, call: Call, rows: Sequence[Row], problems: list[Item]) -> Reply:
        found = self._posts(call, rows)
        errors = problems + found.pop("errors", [])
        return self.body({**found, **({"errors": errors} if errors else {})})

    def one_post(self, call: Call, row: Row) -> Reply:
        found = self._posts(call, [row])
        return self.body({**found, "data": found["data"][0]})

    def streamed(self, call: Call, row: Row, rules: Sequence[Item]) -> bytes:
        """One post as a stream sends it, with the rules it was sent for."""
        found = self._posts(call, [row])
        return self.body({**found, "data": found["data"][0], **({"matching_rules": rules} if rules else {})}).body

    def body(self, value: Item) -> Reply:
        return reply(in_new_spelling(value) if self._is_new else value)

    def count(self, call: Call, kind: str, keys: list[str]) -> None:
        self._meter.count(call.token.app, kind, keys, call.arrived_at)

    def _users(self, call: Call, accounts: Sequence[int], kind: str, whose: str = "") -> Item:
        """`data` is absent, not empty, where there is nobody."""
        self.count(call, kind, [f"{whose}{user_key(account)}" for account in accounts])
        users = [self._user(call, account) for account in accounts]
        return {"data": users} if users else {}

    def _user(self, call: Call, account: int) -> Item:
        return only(call.asked.user, self._write.user(account, call.now, call.asked.user))

    def _posts(self, call: Call, rows: Sequence[Row]) -> Item:
        self.count(call, "post", [str(row.number) for row in rows])
        along = self._along(call, rows)
        counted = [*rows, *along.posts.values()]
        counters = self._write.reactions.counters([row.number for row in counted], call.now)
        written = [only(call.asked.post, self._write.post(row, count)) for row, count in zip(counted, counters, strict=True)]
        included = {
            "users": [self._user(call, account) for account in along.users],
            "tweets": written[len(rows) :],
            "media": [only(call.asked.media, each) for each in along.media],
            "places": [only(call.asked.place, each) for each in along.places.values()],
            "polls": [only(call.asked.poll, each) for each in along.polls],
        }
        parts = {"data": written[: len(rows)], "includes": {name: each for name, each in included.items() if each}}
        return {name: each for name, each in {**parts, "errors": along.errors}.items() if each}

    def _along(self, call: Call, rows: Sequence[Row]) -> _Along:
        along, wanted = _Along(), call.asked.expansions
        if "referenced_tweets.id" in wanted or "referenced_tweets.id.author_id" in wanted:
            for row in rows:
                self._refer(call, row, along)
        for row in (*rows, *along.posts.values()):
            self._name_users(row, wanted, along)
            content = self._world.contents.of(row)
            if "attachments.media_keys" in wanted:
                along.media += [picture(row, nth) for nth in range(content.pictures)]
            if "attachments.poll_ids" in wanted and (asked := poll(row, call.now)) is not None:
                along.polls.append(asked)
            if "geo.place_id" in wanted and content.place and row.kind != REPOST:
                there = place(self._world.contents.town(row.author))
                along.places[there["id"]] = there
        if "referenced_tweets.id.author_id" in wanted:
            along.users |= dict.fromkeys(row.author for row in along.posts.values())
        along.users = {account: None for account in along.users if self._world.exists(account, call.now)}
        return along

    def _refer(self, call: Call, row: Row, along: _Along) -> None:
        """The post that a post refers to, or why it cannot be shown."""
        if not row.target:
            return
        target, key = self._world.post(row.target, call.now), str(row.target)
        if target is None or not self._world.exists(target.author, call.now):
            along.errors.append(missing("tweet", "referenced_tweets.id", key))
        elif not self._world.is_open(target.author, call.now):
            along.errors.append(unauthorized("tweet", "referenced_tweets.id", key))
        else:
            along.posts[row.target] = target

    def _name_users(self, row: Row, wanted: frozenset[str], along: _Along) -> None:
        if "author_id" in wanted:
            along.users[row.author] = None
        is_answer = row.kind == REPLY
        if is_answer and ("in_reply_to_user_id" in wanted or "entities.mentions.username" in wanted):
            along.users[author_of(row.target)] = None


def page_meta(count: int, following: int | None) -> dict[str, Any]:
    """The `meta` of a list of users."""
    return {"result_count": count} if following is None else {"result_count": count, "next_token": page_token(following)}
