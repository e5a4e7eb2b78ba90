"""Users: by id and handle, followers and following, search, lists and their members."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from bowerbird.simulated.twitter_v1.call import account_number, user_key
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import Availability, World
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.people.vocabulary import TOWNS
from bowerbird.simulated.x_v2.answers import Answers, page_meta
from bowerbird.simulated.x_v2.call import Call, checked_id
from bowerbird.simulated.x_v2.fields import only
from bowerbird.simulated.x_v2.payloads import Item, stamp
from bowerbird.simulated.x_v2.problems import invalid, missing, suspended, unauthorized

_BATCH = 100
_LIST_MEMBERS = 500
_FIRST_LIST = 900_000
_FIRST_RANK = 1
"""Positions are above zero, ranks begin there."""


class Users:
    """Handlers of `users/…` and `lists/…` that answer with users or lists."""

    def __init__(self, world: World, answers: Answers) -> None:
        self._world = world
        self._answers = answers

    def by_ids(self, call: Call) -> Reply:
        keys = batch(call, "ids")
        found = {key: account_number(checked_id("ids", key), len(self._world)) for key in keys}
        return self._batch(call, found, "ids")

    def by_names(self, call: Call) -> Reply:
        return self._batch(call, {name: self._named(name, call.now) for name in batch(call, "usernames")}, "usernames")

    def by_id(self, call: Call, key: str) -> Reply:
        account = account_number(checked_id("id", key), len(self._world))
        return self._one(call, account, "id", key)

    def by_name(self, call: Call, name: str) -> Reply:
        return self._one(call, self._named(name, call.now), "username", name)

    def me(self, call: Call) -> Reply:
        return self._answers.body({"data": {"id": "1", "name": call.token.account, "username": call.token.account}})

    def search(self, call: Call) -> Reply:
        text = call.params.get("query").lower()
        if not 1 <= len(text) <= 50:
            raise invalid("query", text, f"The `query` query parameter value [{text}] does not match ^[A-Za-z0-9_' ]{{1,50}}$")
        size, start = call.size(100, 1, 1_000), call.position() or 0
        matches = (account for account in range(start, len(self._world)) if self._matches(account, text, call.now))
        accounts = list(islice(matches, size))
        following = accounts[-1] + 1 if len(accounts) == size else None
        return self._answers.users(call, accounts, page_meta(len(accounts), following))

    def followers(self, call: Call, key: str) -> Reply:
        return self._related(call, key, is_followers=True)

    def following(self, call: Call, key: str) -> Reply:
        return self._related(call, key, is_followers=False)

    def members(self, call: Call, key: str) -> Reply:
        town = self.town_of(key)
        if town is None:
            return self._answers.errors(missing("list", "id", key))
        accounts, size, start = self.members_of(town), call.size(100, 1, 100), call.position() or 0
        shown = [account for account in accounts[start : start + size] if self._is_listed(account, call.now)]
        following = start + size if start + size < len(accounts) else None
        return self._answers.users(call, shown, page_meta(len(shown), following))

    def show_list(self, call: Call, key: str) -> Reply:
        town = self.town_of(key)
        if town is None:
            return self._answers.errors(missing("list", "id", key))
        return self._answers.body({"data": self._list(call, town)})

    def owned_lists(self, call: Call, key: str) -> Reply:
        return self._lists(call, key, lambda account, members: members[0] == account)

    def memberships(self, call: Call, key: str) -> Reply:
        return self._lists(call, key, lambda account, members: account in members)

    def followed_lists(self, call: Call, key: str) -> Reply:
        return self._lists(call, key, lambda account, members: False)

    def find(self, call: Call, key: str) -> tuple[int, Item | None]:
        """The account of that id, and the error that its lists and posts are refused with, if any."""
        account = account_number(checked_id("id", key), len(self._world))
        problem = self._problem(account, "id", key, call.now)
        if account is not None and problem is None and self._world.availability(account, call.now) is Availability.PROTECTED:
            problem = unauthorized("user", "id", key)
        return account if account is not None else -1, problem

    def town_of(self, key: str) -> int | None:
        """A list is a town's best-known accounts."""
        town = int(checked_id("id", key)) - _FIRST_LIST
        return town if 0 <= town <= int(self._world.people.community.max()) else None

    def members_of(self, town: int) -> list[int]:
        people = self._world.people
        members = np.flatnonzero(people.community == town)
        best: list[int] = members[np.argsort(-people.popularity[members], kind="stable")][:_LIST_MEMBERS].tolist()
        return best

    def _one(self, call: Call, account: int | None, parameter: str, key: str) -> Reply:
        problem = self._problem(account, parameter, key, call.now)
        if problem is not None or account is None:
            return self._answers.errors(problem or missing("user", parameter, key))
        return self._answers.one_user(call, account)

    def _batch(self, call: Call, found: dict[str, int | None], parameter: str) -> Reply:
        problems = {key: self._problem(account, parameter, key, call.now) for key, account in found.items()}
        accounts = [account for key, account in found.items() if account is not None and problems[key] is None]
        return self._answers.found_users(call, accounts, [each for each in problems.values() if each])

    def _problem(self, account: int | None, parameter: str, key: str, now: int) -> Item | None:
        if account is None or not self._world.exists(account, now):
            return missing("user", parameter, key)
        is_suspended = self._world.availability(account, now) is Availability.SUSPENDED
        return suspended(parameter, key) if is_suspended else None

    def _related(self, call: Call, key: str, *, is_followers: bool) -> Reply:
        account, problem = self.find(call, key)
        if problem is not None:
            return self._answers.errors(problem)
        graph = self._world.graph
        others, ranks = (graph.followers if is_followers else graph.following)(account, call.now)
        chosen, following = self._page(call, others, ranks)
        whose = f"{key}/{'followers' if is_followers else 'following'}/"
        return self._answers.users(call, chosen, page_meta(len(chosen), following), kind="follow", whose=whose)

    def _page(self, call: Call, others: Array, ranks: Array) -> tuple[list[int], int | None]:
        """Accounts of one page, newest follow first."""
        size, position = call.size(100, 1, 1_000), call.position()
        end = len(ranks) if position is None else int(np.searchsorted(ranks, min(position - _FIRST_RANK, 1 << 31)))
        start = max(0, end - size)
        # Suspended users are taken out after the query: pages fall short of what was asked for.
        chosen = [account for account in others[start:end][::-1].tolist() if self._is_listed(account, call.now)]
        return chosen, int(ranks[start]) + _FIRST_RANK if start > 0 else None

    def _is_listed(self, account: int, now: int) -> bool:
        return self._world.availability(account, now) in (Availability.OPEN, Availability.PROTECTED)

    def _named(self, name: str, now: int) -> int | None:
        account = self._world.profiles.account_of(name, now)
        is_current = account is not None and self._world.profiles.at(account, now).handle == name.lower()
        return account if is_current else None

    def _matches(self, account: int, text: str, now: int) -> bool:
        profile = self._world.profiles.at(account, now)
        return text in f"{profile.handle} {profile.name.lower()}" and self._is_listed(account, now)

    def _lists(self, call: Call, key: str, is_wanted: Any) -> Reply:
        account, problem = self.find(call, key)
        if problem is not None:
            return self._answers.errors(problem)
        town = int(self._world.people.community[account])
        lists = [self._list(call, town)] if is_wanted(account, self.members_of(town)) else []
        return self._answers.body({**({"data": lists} if lists else {}), "meta": {"result_count": len(lists)}})

    def _list(self, call: Call, town: int) -> Item:
        members = self.members_of(town)
        self._answers.count(call, "list", [str(town)])
        return only(
            call.asked.list,
            {
                "id": str(_FIRST_LIST + town),
                "name": TOWNS[town].name,
                "member_count": len(members),
                "follower_count": 0,
                "private": False,
                "owner_id": str(user_key(members[0])),
                "created_at": stamp(int(self._world.people.created[members[0]])),
            },
        )


def batch(call: Call, name: str) -> list[str]:
    """The members of a comma-separated parameter, one to a hundred."""
    text = call.params.get(name)
    members = list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not 1 <= len(members) <= _BATCH:
        message = f"The number of values in the `{name}` query parameter list [{len(members)}] is not between 1 and {_BATCH}"
        raise invalid(name, text[:80], message)
    return members
