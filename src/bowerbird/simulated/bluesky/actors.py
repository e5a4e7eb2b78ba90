"""Actors and their graph: profiles, search, handles, followers, follows, lists."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from msgspec import Raw

from bowerbird.simulated.bluesky.call import Call, invalid, page, refuse
from bowerbird.simulated.bluesky.ids import LIST, cid_of, number_spelled, spelled, tid
from bowerbird.simulated.bluesky.payloads import Payloads
from bowerbird.simulated.bluesky.records import stamp
from bowerbird.simulated.wire import JSON, Reply, encode, reply
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.people.vocabulary import TOWNS

_BATCH = 25
_REFILLS = 10
_LIST_MEMBERS = 500


class Actors:
    """Handlers of `app.bsky.actor…`, `app.bsky.graph…` and `com.atproto.identity…`."""

    def __init__(self, payloads: Payloads) -> None:
        self._write = payloads
        self._world = payloads.world
        self._ids = payloads.ids

    def profile(self, call: Call) -> Reply:
        account = self.find(call, call.text("actor"), "Profile not found")
        status = self._write.status(account, call.now)
        if status == "takendown":
            raise refuse(400, "AccountTakedown", "Account has been suspended")
        if status == "deactivated":
            raise refuse(400, "AccountDeactivated", "Account is deactivated")
        return Reply(200, self._write.detailed(account, call.now), {"content-type": JSON})

    def profiles(self, call: Call) -> Reply:
        wanted = call.params.all("actors")
        if not wanted:
            raise invalid('Error: Params must have the property "actors"')
        if len(wanted) > _BATCH:
            raise invalid(f"Error: actors must not have more than {_BATCH} elements")
        found = {account for account in (self._named(each, call.now) for each in wanted) if account is not None}
        # Sorted: the order of the answer is not that of the question, and each account comes once.
        shown = sorted(account for account in found if self._write.is_shown(account, call.now))
        return page("profiles", [self._write.detailed(account, call.now) for account in shown])

    def search(self, call: Call) -> Reply:
        limit, start = call.limit(25, 100), call.offset()
        text = (call.params.get("q") or call.params.get("term")).casefold().lstrip("@")
        matches = (account for account in range(len(self._world)) if text and self._matches(account, text, call.now))
        found = list(islice(matches, start, start + limit + 1))
        cursor = str(start + limit) if len(found) > limit else None
        return page("actors", [self._write.view(account, call.now) for account in found[:limit]], cursor)

    def resolve(self, call: Call) -> Reply:
        account = self._ids.named(call.text("handle"), call.now)
        if account is None or not self._world.exists(account, call.now):
            raise refuse(400, "HandleNotFound", "Unable to resolve handle")
        return reply({"did": self._ids.did(account)})

    def followers(self, call: Call) -> Reply:
        account = self._listed(call)
        return self._relations(call, "followers", account, *self._world.graph.followers(account, call.now))

    def follows(self, call: Call) -> Reply:
        account = self._listed(call)
        return self._relations(call, "follows", account, *self._world.graph.following(account, call.now))

    def lists(self, call: Call) -> Reply:
        """The lists an account owns: one, if it is the best known of its town."""
        account = self.find(call, call.text("actor"), "Profile not found")
        town = int(self._world.people.community[account])
        owned = [encode(self._list(town, call.now))] if self._members(town)[0] == account and not call.cursor else []
        return page("lists", owned)

    def list_members(self, call: Call) -> Reply:
        limit, start = call.limit(50, 100), call.offset()
        town = self._town(call.text("list"))
        if town is None:
            raise invalid("List not found")
        members = self._members(town)[start : start + limit]
        items = [
            encode({"uri": f"{self._list_uri(town)}-{account}", "subject": Raw(self._write.view(account, call.now))})
            for account in members
            if self._write.is_shown(account, call.now)
        ]
        cursor = str(start + limit) if len(members) == limit else None
        return page("items", items, cursor, list=self._list(town, call.now))

    def find(self, call: Call, actor: str, message: str) -> int:
        account = self._named(actor, call.now)
        if account is None or not self._world.exists(account, call.now):
            raise invalid(message)
        return account

    def list_uri(self, town: int = 0) -> str:
        """The at-uri of a town's list."""
        return self._list_uri(town)

    def _listed(self, call: Call) -> int:
        actor = call.text("actor")
        account = self.find(call, actor, f"Actor not found: {actor}")
        if not self._write.is_shown(account, call.now):
            raise invalid(f"Actor not found: {actor}")
        return account

    def _named(self, actor: str, now: int) -> int | None:
        return self._ids.account(actor) if actor.startswith("did:") else self._ids.named(actor, now)

    def _relations(self, call: Call, name: str, account: int, others: Array, ranks: Array) -> Reply:
        limit = call.limit(50, 100)
        subject = Raw(self._write.view(account, call.now))
        if call.is_stale:
            return page(name, [], subject=subject)
        if call.cursor and number_spelled(call.cursor) is None:
            # The real service trips over a cursor that it cannot read.
            raise refuse(500, "InternalServerError", "Internal Server Error")
        chosen, cursor = self._filled(call, others, ranks, limit)
        return page(name, [self._write.view(each, call.now) for each in chosen], cursor, subject=subject)

    def _filled(self, call: Call, others: Array, ranks: Array, limit: int) -> tuple[list[int], str | None]:
        """Accounts of one page, newest follow first; hidden ones are taken out and the page filled up, but not for ever."""
        key = call.key()
        end = len(ranks) if key is None else int(np.searchsorted(ranks, min(key, 1 << 31)))
        chosen: list[int] = []
        for _ in range(_REFILLS):
            start = max(0, end - (limit - len(chosen)))
            chosen += [account for account in others[start:end][::-1].tolist() if self._write.is_shown(account, call.now)]
            end = start
            if end == 0 or len(chosen) >= limit:
                break
        return chosen, spelled(int(ranks[end])) if end > 0 or (len(chosen) >= limit and len(ranks)) else None

    def _matches(self, account: int, text: str, now: int) -> bool:
        name = self._world.profiles.at(account, now).name.casefold()
        return text in f"{self._ids.handle(account, now)} {name}" and self._write.is_shown(account, now)

    def _members(self, town: int) -> list[int]:
        people = self._world.people
        members = np.flatnonzero(people.community == town)
        best: list[int] = members[np.argsort(-people.popularity[members], kind="stable")][:_LIST_MEMBERS].tolist()
        return best

    def _list_uri(self, town: int) -> str:
        owner = self._members(town)[0]
        return self._ids.uri(owner, LIST, tid(int(self._world.people.created[owner]), town))

    def _town(self, uri: str) -> int | None:
        parts = self._ids.split(uri)
        town = int(self._world.people.community[parts[0]]) if parts is not None else None
        return town if town is not None and self._list_uri(town) == uri else None

    def _list(self, town: int, now: int) -> dict[str, Any]:
        owner, uri = self._members(town)[0], self._list_uri(town)
        return {
            "uri": uri,
            "cid": cid_of(uri),
            "creator": Raw(self._write.view(owner, now)),
            "name": f"People of {TOWNS[town].name}",
            "purpose": "app.bsky.graph.defs#curatelist",
            "listItemCount": len(self._members(town)),
            "indexedAt": stamp(int(self._world.people.created[owner])),
        }
