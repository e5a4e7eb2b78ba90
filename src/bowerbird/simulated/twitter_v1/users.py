"""Users: lookup, show, search, followers and friends as ids and as objects, lists."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from bowerbird.simulated.twitter_v1.call import Call, account_number, find_user, refuse, require_open, user_key
from bowerbird.simulated.twitter_v1.payloads import Payloads, stamp
from bowerbird.simulated.wire import JSON, Reply, raw_list, reply
from bowerbird.simulated.world import Availability
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.people.vocabulary import TOWNS

_BATCH = 100
_CURSOR = 1_480_000_000_000_000_000
"""Real cursors are large opaque numbers; ours hide the rank of the follow at which the page ended."""
_SEARCH_REACH = 1_000
_LIST_MEMBERS = 500
_FIRST_LIST = 900_000


class Users:
    """Handlers of `users/…`, `followers/…`, `friends/…` and `lists/…`."""

    def __init__(self, payloads: Payloads) -> None:
        self._write = payloads
        self._world = payloads.world

    def lookup(self, call: Call) -> Reply:
        keys = [text.strip() for text in call.params.get("user_id").split(",") if text.strip()]
        names = [text.strip() for text in call.params.get("screen_name").split(",") if text.strip()]
        if len(keys) + len(names) > _BATCH:
            raise refuse(18)
        found = [account_number(key, len(self._world)) for key in keys]
        found += [self._named(name, call.now) for name in names]
        # Sorted: the order of the answer is not that of the question, and each user comes once.
        accounts = sorted({account for account in found if account is not None and self._is_listed(account, call.now)})
        if not accounts:
            raise refuse(17)
        return raw_list(self._write.user(account, call.now, with_status=True) for account in accounts)

    def show(self, call: Call) -> Reply:
        account = find_user(call, self._world)
        if self._world.availability(account, call.now) is Availability.SUSPENDED:
            raise refuse(63)
        return Reply(200, self._write.user(account, call.now, with_status=True), {"content-type": JSON})

    def search(self, call: Call) -> Reply:
        text = call.params.get("q").lower().lstrip("@")
        if not text:
            raise refuse(25)
        count, page = call.count(20, 20), max(1, call.params.integer("page", 1))
        matches = (account for account in range(len(self._world)) if self._matches(account, text, call.now))
        stop = min(page * count, _SEARCH_REACH)
        return raw_list(self._write.user(account, call.now) for account in islice(matches, min((page - 1) * count, stop), stop))

    def follower_ids(self, call: Call) -> Reply:
        return self._ids(call, *self._world.graph.followers(self._whose(call), call.now))

    def friend_ids(self, call: Call) -> Reply:
        return self._ids(call, *self._world.graph.following(self._whose(call), call.now))

    def followers(self, call: Call) -> Reply:
        return self._objects(call, *self._world.graph.followers(self._whose(call), call.now))

    def friends(self, call: Call) -> Reply:
        return self._objects(call, *self._world.graph.following(self._whose(call), call.now))

    def members(self, call: Call) -> Reply:
        accounts = self.list_members(call)
        start = max(0, call.params.integer("cursor", -1) - 1) if call.params.integer("cursor", -1) > 0 else 0
        count = call.count(20, 5_000)
        page = [account for account in accounts[start : start + count] if self._is_listed(account, call.now)]
        following = start + count + 1 if start + count < len(accounts) else 0
        return _users([self._write.user(account, call.now) for account in page], following, 0)

    def list_members(self, call: Call) -> list[int]:
        """A list is a town's best-known accounts; it is named by number or by owner and slug."""
        town = call.params.integer("list_id", -1) - _FIRST_LIST
        if call.params.has("slug"):
            slugs = [_slug(index) for index in range(len(TOWNS))]
            town = slugs.index(call.params.get("slug")) if call.params.get("slug") in slugs else -1
        if not 0 <= town <= int(self._world.people.community.max()):
            raise refuse(34)
        return self._members_of(town)

    def show_list(self, call: Call) -> Reply:
        return reply(self._list(int(self._world.people.community[self.list_members(call)[0]]), call.now))

    def lists(self, call: Call) -> Reply:
        """The lists an account owns: one, if it is the best known of its town."""
        return reply(self._owned(call))

    def ownerships(self, call: Call) -> Reply:
        return reply({"lists": self._owned(call), **_cursors(0, 0)})

    def memberships(self, call: Call) -> Reply:
        account = find_user(call, self._world)
        town = int(self._world.people.community[account])
        lists = [self._list(town, call.now)] if account in self._members_of(town) else []
        return reply({"lists": lists, **_cursors(0, 0)})

    def subscriptions(self, call: Call) -> Reply:
        find_user(call, self._world)
        return reply({"lists": [], **_cursors(0, 0)})

    def _whose(self, call: Call) -> int:
        account = find_user(call, self._world)
        require_open(call, self._world, account)
        return account

    def _ids(self, call: Call, others: Array, ranks: Array) -> Reply:
        chosen, following, previous = self._page(call, others, ranks, call.count(5_000, 5_000))
        keys = [user_key(account) for account in chosen]
        ids: list[Any] = [str(key) for key in keys] if call.params.flag("stringify_ids") else list(keys)
        return reply({"ids": ids, **_cursors(following, previous), "total_count": None})

    def _objects(self, call: Call, others: Array, ranks: Array) -> Reply:
        chosen, following, previous = self._page(call, others, ranks, call.count(20, 200))
        with_status = not call.params.flag("skip_status")
        return _users([self._write.user(account, call.now, with_status=with_status) for account in chosen], following, previous)

    def _page(self, call: Call, others: Array, ranks: Array, count: int) -> tuple[list[int], int, int]:
        """Accounts of one page, newest follow first, with the next and previous cursor."""
        cursor = call.params.integer("cursor", -1)
        if cursor == 0:
            return [], 0, 0
        end = len(ranks) if cursor < 0 else int(np.searchsorted(ranks, min(max(cursor - _CURSOR, 0), 1 << 31)))
        start = max(0, end - count)
        # Suspended users are taken out after the query: pages may fall short.
        chosen = [account for account in others[start:end][::-1].tolist() if self._is_listed(account, call.now)]
        following = _CURSOR + int(ranks[start]) if start > 0 else 0
        return chosen, following, -(_CURSOR + int(ranks[end])) if end < len(ranks) else 0

    def _is_listed(self, account: int, now: int) -> bool:
        return self._world.availability(account, now) in (Availability.OPEN, Availability.PROTECTED)

    def _named(self, name: str, now: int) -> int | None:
        account = self._world.profiles.account_of(name.lstrip("@"), now)
        is_current = account is not None and self._world.profiles.at(account, now).handle == name.lstrip("@").lower()
        return account if is_current else None

    def _matches(self, account: int, text: str, now: int) -> bool:
        profile = self._world.profiles.at(account, now)
        return text in f"{profile.handle} {profile.name.lower()}" and self._is_listed(account, now)

    def _members_of(self, town: int) -> list[int]:
        people = self._world.people
        members = np.flatnonzero(people.community == town)
        best: list[int] = members[np.argsort(-people.popularity[members], kind="stable")][:_LIST_MEMBERS].tolist()
        return best

    def _owned(self, call: Call) -> list[dict[str, Any]]:
        account = find_user(call, self._world)
        town = int(self._world.people.community[account])
        return [self._list(town, call.now)] if self._members_of(town)[0] == account else []

    def _list(self, town: int, now: int) -> dict[str, Any]:
        members = self._members_of(town)
        owner = self._world.profiles.at(members[0], now).handle
        return {
            "id": _FIRST_LIST + town, "id_str": str(_FIRST_LIST + town), "name": TOWNS[town].name, "slug": _slug(town),
            "mode": "public",
            "member_count": len(members), "subscriber_count": 0, "created_at": stamp(int(self._world.people.created[members[0]])),
            "user": {"id": user_key(members[0]), "id_str": str(user_key(members[0])), "screen_name": owner},
        }  # fmt: skip


def _slug(town: int) -> str:
    return f"people-of-{TOWNS[town].code.lower()}-{town}"


def _cursors(following: int, previous: int) -> dict[str, Any]:
    return {
        "next_cursor": following,
        "next_cursor_str": str(following),
        "previous_cursor": previous,
        "previous_cursor_str": str(previous),
    }


def _users(users: list[bytes], following: int, previous: int) -> Reply:
    tail = reply({**_cursors(following, previous), "total_count": None}).body
    return Reply(200, b'{"users":[%b],' % b",".join(users) + tail[1:], {"content-type": JSON})
