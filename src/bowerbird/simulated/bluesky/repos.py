"""What a PDS tells of its repositories: records, exports, status, and the list of them all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from bowerbird.simulated.bluesky.actors import Actors
from bowerbird.simulated.bluesky.call import Call, invalid, page, refuse
from bowerbird.simulated.bluesky.car import export
from bowerbird.simulated.bluesky.ids import FOLLOW, LIKED, POST, PROFILE, REPOSTED, cid_of, tid
from bowerbird.simulated.bluesky.payloads import Payloads
from bowerbird.simulated.bluesky.records import Written, follow_key, like_key, written
from bowerbird.simulated.wire import Reply, encode, reply
from bowerbird.simulated.world.posts.rows import REPOST

_ERRORS = {"takendown": "RepoTakendown", "deactivated": "RepoDeactivated", "deleted": "RepoNotFound"}
_WORDS = {"takendown": "has been taken down", "deactivated": "has been deactivated", "deleted": "could not be found"}


class Repos:
    """Handlers of `com.atproto.repo…` and `com.atproto.sync…`."""

    def __init__(self, payloads: Payloads, actors: Actors) -> None:
        self._write = payloads
        self._records = payloads.records
        self._world = payloads.world
        self._ids = payloads.ids
        self._actors = actors

    def list_records(self, call: Call) -> Reply:
        repo, collection, limit = call.text("repo"), call.text("collection"), call.limit(50, 100)
        account = self._actors.find(call, repo, f"Could not find repo: {repo}")
        self._require_active(account, call)
        records = self._collection(account, collection, call.now)
        if call.params.flag("reverse"):
            records = iter(list(records)[::-1])
            wanted = (pair for pair in records if not call.cursor or pair[0] > call.cursor)
        else:
            wanted = (pair for pair in records if not call.cursor or pair[0] < call.cursor)
        chosen = list(islice(wanted, limit))
        items = [encode(self._item(account, collection, rkey, value)) for rkey, value in chosen]
        # The last page has a cursor too: only an empty one ends the list.
        return page("records", items, chosen[-1][0] if chosen else None)

    def record(self, call: Call) -> Reply:
        repo, collection, rkey = call.text("repo"), call.text("collection"), call.text("rkey")
        account = self._actors.find(call, repo, f"Could not find repo: {repo}")
        self._require_active(account, call)
        found = next((value for key, value in self._collection(account, collection, call.now) if key == rkey), None)
        if found is None:
            uri = self._ids.uri(account, collection, rkey)
            raise refuse(400, "RecordNotFound", f"Could not locate record: {uri}")
        return reply(self._item(account, collection, rkey, found))

    def export(self, call: Call) -> Reply:
        account = self._repo(call)
        self._require_active(account, call)
        records = self._all(account, call.now)
        since = call.params.get("since")
        shown = frozenset(path for path in records if path.rpartition("/")[2] > since) if since else None
        body = export(self._ids.did(account), self._rev(account, call.now), records, shown)
        return Reply(200, body, {"content-type": "application/vnd.ipld.car"})

    def status(self, call: Call) -> Reply:
        return reply(self._status(self._repo(call), call.now))

    def list_repos(self, call: Call) -> Reply:
        limit, start = call.limit(500, 1_000), call.offset()
        accounts = range(start, min(start + limit, len(self._world)))
        # Accounts yet to come are not there: pages fall short.
        born = [account for account in accounts if self._world.people.created[account] <= call.now]
        items = [encode({"head": cid_of(self._ids.did(each)), **self._status(each, call.now)}) for each in born]
        return page("repos", items, str(start + limit) if start + limit < len(self._world) else None)

    def _status(self, account: int, now: int) -> dict[str, Any]:
        status, did = self._write.status(account, now), self._ids.did(account)
        rev = {"rev": self._rev(account, now)}
        return {"did": did, "active": False, "status": status, **rev} if status else {"did": did, "active": True, **rev}

    def _repo(self, call: Call) -> int:
        did = call.text("did")
        account = self._ids.account(did)
        if account is None or self._world.people.created[account] > call.now:
            raise refuse(400, "RepoNotFound", f"Could not find repo for DID: {did}")
        return account

    def _require_active(self, account: int, call: Call) -> None:
        status = self._write.status(account, call.now)
        if status is not None:
            raise refuse(400, _ERRORS[status], f"Repo {_WORDS[status]}: {self._ids.did(account)}")

    def _rev(self, account: int, now: int) -> str:
        newest = self._world.newest(account, now)
        return self._ids.rkey(newest.number) if newest else tid(int(self._world.people.created[account]), account)

    def _item(self, account: int, collection: str, rkey: str, value: Written) -> dict[str, Any]:
        return {"uri": self._ids.uri(account, collection, rkey), "cid": value.cid, "value": value.json}

    def _collection(self, account: int, collection: str, now: int) -> Iterator[tuple[str, Written]]:
        """Record keys and records, newest key first."""
        match collection:
            case "app.bsky.feed.post" | "app.bsky.feed.repost":
                return self._posts(account, collection, now)
            case "app.bsky.graph.follow":
                return self._follows(account, now)
            case "app.bsky.feed.like":
                return self._likes(account, now)
            case "app.bsky.actor.profile":
                return iter([("self", written(self._records.profile(account, now)))])
        if "." not in collection:
            raise invalid("Error: collection must be a valid nsid")
        return iter(())

    def _posts(self, account: int, collection: str, now: int) -> Iterator[tuple[str, Written]]:
        for row in self._world.timeline(account, now):
            if (row.kind == REPOST) is (collection == REPOSTED):
                passed_on = written(self._records.repost(row.target, row.ms)) if row.kind == REPOST else None
                yield self._ids.rkey(row.number), passed_on or self._records.written(row)

    def _follows(self, account: int, now: int) -> Iterator[tuple[str, Written]]:
        others, ranks = self._world.graph.following(account, now)
        for other, rank in zip(others.tolist()[::-1], ranks.tolist()[::-1], strict=True):
            since = int(self._world.graph.since[rank])
            yield follow_key(rank, since), written(self._records.follow(other, since))

    def _likes(self, account: int, now: int) -> Iterator[tuple[str, Written]]:
        for ms, number in self._world.likes(account, now):
            yield like_key(number, ms), written(self._records.like(number, ms))

    def _all(self, account: int, now: int) -> dict[str, Any]:
        """Every record by path, in the JSON form."""
        return {
            f"{collection}/{rkey}": msgspec.json.decode(value.json)
            for collection in (PROFILE, FOLLOW, REPOSTED, LIKED, POST)
            for rkey, value in self._collection(account, collection, now)
        }
