"""Users: by id, name and domain, in batches, their counters, relations and tags, search."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any
from zlib import crc32

from bowerbird.simulated.weibo.call import Call
from bowerbird.simulated.weibo.eras import Era
from bowerbird.simulated.weibo.payloads import Payloads
from bowerbird.simulated.wire import Reply, reply
from bowerbird.simulated.world import Availability
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.people.vocabulary import TOPICS, TRADES

_REACH = 5_000
_FIRST_TAG = 221_012_100_000_000_000


class Users:
    """Handlers of `users/…`, `friendships/…`, `tags…` and the suggestion of users."""

    def __init__(self, payloads: Payloads, era: Era) -> None:
        self._write = payloads
        self._world = payloads.world
        self._ids = payloads.ids
        self._era = era

    def show(self, call: Call) -> Reply:
        return reply(self._write.user(self.find(call), call.now, with_status=True))

    def domain_show(self, call: Call) -> Reply:
        account = self._ids.account(call.params.get("domain").removeprefix("d"))
        if account is None or not self._is_listed(account, call.now):
            raise call.refuse(20003)
        return reply(self._write.user(account, call.now, with_status=True))

    def show_batch(self, call: Call) -> Reply:
        accounts = self._batch(call, 50)
        return reply({"users": [self._write.user(account, call.now, with_status=True) for account in accounts]})

    def counts(self, call: Call) -> Reply:
        """Counters of many, which may come as strings."""
        names = ("followers_count", "friends_count", "statuses_count")
        users = [self._write.user(account, call.now) for account in self._batch(call, 100)]
        return reply(
            [{"id": user["id"], **{name: str(user[name]) for name in names}, "private_friends_count": "0"} for user in users]
        )

    def follower_ids(self, call: Call) -> Reply:
        return self._ids_page(call, self._world.graph.followers(self._whose(call), call.now)[0])

    def friend_ids(self, call: Call) -> Reply:
        return self._ids_page(call, self._world.graph.following(self._whose(call), call.now)[0])

    def followers(self, call: Call) -> Reply:
        return self._objects(call, self._world.graph.followers(self._whose(call), call.now)[0])

    def friends(self, call: Call) -> Reply:
        return self._objects(call, self._world.graph.following(self._whose(call), call.now)[0])

    def bilateral_ids(self, call: Call) -> Reply:
        account = self._whose(call)
        back = set(self._world.graph.followers(account, call.now)[0].tolist())
        mutual = [each for each in self._world.graph.following(account, call.now)[0].tolist() if each in back]
        count, page = call.count(50, 2_000), max(1, call.params.integer("page", 1))
        chosen = [each for each in mutual[(page - 1) * count : page * count] if self._is_listed(each, call.now)]
        return reply({"ids": [self._ids.user(each) for each in chosen], "total_number": len(mutual)})

    def tags(self, call: Call) -> Reply:
        return reply(self._tags(self.find(call)))

    def tags_batch(self, call: Call) -> Reply:
        accounts = self._batch(call, 20)
        return reply([{"id": self._ids.user(account), "tags": self._tags(account)} for account in accounts])

    def suggestions(self, call: Call) -> Reply:
        text = call.params.get("q").lower().lstrip("@")
        if not text:
            raise call.refuse(10016)
        users = (self._write.user(account, call.now) for account in self._matching(text, call.now))
        names = ("screen_name", "followers_count")
        return reply([{"uid": user["id"], **{name: user[name] for name in names}} for user in islice(users, call.count(10, 10))])

    def find(self, call: Call) -> int:
        """The account a request names by exactly one of id and name."""
        key, name = call.params.get("uid"), call.params.get("screen_name")
        if bool(key) == bool(name):
            raise call.refuse(10016 if not key else 10008)
        account = self._ids.account(key) if key else self._named(name, call.now)
        if account is None or not self._is_listed(account, call.now):
            raise call.refuse(20003)
        return account

    def require_open(self, call: Call, account: int) -> None:
        """What an account wrote, and whom it knows, is anybody's business only while it wants so; later eras say: nobody's."""
        if self._era.is_own_only and account != call.own:
            raise call.refuse(20501)
        if account != call.own and self._world.availability(account, call.now) is Availability.PROTECTED:
            raise call.refuse(20508)

    def _whose(self, call: Call) -> int:
        account = self.find(call)
        self.require_open(call, account)
        return account

    def _batch(self, call: Call, most: int) -> list[int]:
        found = (self._ids.account(key) for key in call.batch("uids", most))
        accounts = [account for account in found if account is not None and self._is_listed(account, call.now)]
        if not accounts:
            raise call.refuse(20003)
        return accounts

    def _ids_page(self, call: Call, others: Array) -> Reply:
        chosen, cursors = self._page(call, others, 500, self._era.ids_per_call)
        return reply({"ids": [self._ids.user(account) for account in chosen], **cursors})

    def _objects(self, call: Call, others: Array) -> Reply:
        chosen, cursors = self._page(call, others, 50, self._era.users_per_call)
        with_status = not call.params.flag("trim_status", default=True)
        return reply({"users": [self._write.user(each, call.now, with_status=with_status) for each in chosen], **cursors})

    def _page(self, call: Call, others: Array, default: int, most: int) -> tuple[list[int], dict[str, Any]]:
        """One page, newest follow first; the cursor is an offset, 0 the end. Those who left are taken out afterwards."""
        count, start = call.count(min(default, most), most), max(0, call.params.integer("cursor", 0))
        reach = min(self._era.reach(len(others)), _REACH)
        listed = others[::-1][start : min(start + count, reach)].tolist()
        following = start + count if start + count < reach else 0
        cursors = {"next_cursor": following, "previous_cursor": max(0, start - count), "total_number": len(others)}
        return [account for account in listed if self._is_listed(account, call.now)], cursors

    def _tags(self, account: int) -> list[dict[str, Any]]:
        """Up to ten words an account describes itself with; the id of the tag is the name of its field."""
        draw = mix(account, 71)
        words = [(*TOPICS, *TRADES)[(draw >> (6 * nth)) % (len(TOPICS) + len(TRADES))] for nth in range(draw % 11)]
        return [{str(_FIRST_TAG + crc32(word.encode())): word, "weight": 50} for word in dict.fromkeys(words)]

    def _matching(self, text: str, now: int) -> Iterable[int]:
        for account in range(len(self._world)):
            profile = self._world.profiles.at(account, now)
            if text in f"{profile.handle} {profile.name.lower()}" and self._is_listed(account, now):
                yield account

    def _is_listed(self, account: int, now: int) -> bool:
        return self._world.availability(account, now) in (Availability.OPEN, Availability.PROTECTED)

    def _named(self, name: str, now: int) -> int | None:
        account = self._world.profiles.account_of(name.lstrip("@"), now)
        is_current = account is not None and self._world.profiles.at(account, now).handle == name.lstrip("@").lower()
        return account if is_current else None
