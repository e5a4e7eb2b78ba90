"""Compares a store with what was written; every difference is a line that names the item and both values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from expected import Shape, bare, expected_post
from msgspec import Struct, field
from written import LIKE, POST, REPOST, Record, Written

from bowerbird.app import open_store
from bowerbird.ports import Clock, Database
from bowerbird.reports.reader import Reader

_GONE = "select u.id, x.reason from unavailable x join users u on u.user_no = x.user_no where x.until is null"
_BURIED = "select id, reason from deletions where subject = 'post'"
_QUARANTINE = "select facet, why from quarantine"
_FAILED = "select l.facet, t.target, t.failure from tasks t join lanes l on l.lane = t.lane where t.state = 'failed'"
_CALLS = "select outcome, state, count(*) as calls from calls group by outcome, state"


class Stock(Struct, kw_only=True):
    """Everything in one store."""

    users: dict[str, dict[str, Any]]
    posts: dict[str, dict[str, Any]]
    relations: set[tuple[str, str]]
    gone: dict[str, str]
    buried: dict[str, str]
    trouble: list[str]
    """Items that could not be mapped and tasks that were given up: there must be none."""
    outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        return sum(self.outcomes.values())

    def told(self) -> str:
        ends = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return (
            f"{len(self.users)} users, {len(self.posts):,} posts, {len(self.relations)} follows with {self.calls} calls ({ends})"
        )


async def take_stock(store: str, clock: Clock) -> Stock:
    async with open_store(store, clock) as database:
        reader = Reader(database)
        return Stock(
            users={user["id"]: user async for user in reader.users() if user["seen_at"] is not None},
            posts={post["id"]: post async for post in reader.posts() if post["deleted_at"] is None},
            relations={(each["source"], each["target"]) async for each in reader.relations() if each["removed_at"] is None},
            gone={row["id"]: row["reason"] for row in await _rows(database, _GONE)},
            buried={row["id"]: row["reason"] for row in await _rows(database, _BURIED)},
            trouble=[f"quarantine: {row['facet']}: {row['why']}" for row in await _rows(database, _QUARANTINE)]
            + [f"given up: {row['facet']} {row['target']}: {row['failure']}" for row in await _rows(database, _FAILED)],
            outcomes={str(row["outcome"] or row["state"]): row["calls"] for row in await _rows(database, _CALLS)},
        )


async def _rows(database: Database, sql: str) -> list[Any]:
    async with database.reading() as tx:
        return list(await tx.fetch(sql))


class Comparison:
    """One store against what was written; `differences` is empty when they agree."""

    def __init__(self, name: str, written: Written, stock: Stock) -> None:
        self.name = name
        self._written = written
        self._stock = stock
        self.differences: list[str] = []
        self.compared = 0
        for line in stock.trouble:
            self.differs("trouble", line)

    def told(self) -> str:
        return f"{self.compared:,} comparisons, {len(self.differences)} differences"

    def differs(self, what: str, detail: object) -> None:
        self.differences.append(f"{self.name}: {what}: {detail}")

    def users(self, dids: Iterable[str], *, is_viewed: bool = True) -> None:
        """Each profile as its owner wrote it last, with counters where the service counts."""
        written = self._written
        handles = {account.did: account.handle for account in written.accounts}
        for did in dids:
            profile = written.profiles.get(did, {})
            wanted: Shape = {"name": profile.get("displayName"), "description": profile.get("description")}
            if is_viewed or profile:
                # A repository without a profile says nothing about its owner's wishes; an AppView shows it without labels.
                wanted["opts_out"] = False
            if is_viewed:
                wanted |= {"handle": handles[did], "posts": sum(each.author == did for each in written.posts.values())}
            if did in written.shy:
                wanted = dict.fromkeys(wanted) | {"opts_out": True}
            self._same("user", did, wanted, self._stock.users.get(did))
            self._avatar(did, profile.get("avatar"))

    def _avatar(self, did: str, avatar: Mapping[str, Any] | None) -> None:
        found = self._stock.users.get(did, {}).get("avatar")
        if found is not None and (avatar is None or avatar["ref"]["$link"] not in found):
            self.differs("avatar", f"{did}: {found} instead of {avatar}")

    def posts(self, wanted: Mapping[str, Record], allowed: Mapping[str, Record]) -> None:
        """All of `wanted` and nothing but `allowed`, each as it was written."""
        for uri in wanted.keys() - self._stock.posts.keys():
            self.differs("missing post", f"{uri}: {expected_post(wanted[uri])}")
        for uri, found in self._stock.posts.items():
            if uri not in allowed:
                self.differs("post that nobody should see", f"{uri}: {found}")
                continue
            shape = expected_post(allowed[uri])
            self._same("post", uri, bare(shape) if found["author"] in self._written.shy else shape, _stored(found))

    def counters(self, uris: Iterable[str]) -> None:
        """How often each post was liked, passed on and answered; an AppView counts what gone accounts did, too."""
        likes, reposts = self._tallied(LIKE), self._tallied(REPOST)
        replies: dict[str, int] = {}
        for each in self._written.kept(POST):
            if "reply" in each.record:
                parent = each.record["reply"]["parent"]["uri"]
                replies[parent] = replies.get(parent, 0) + 1
        for uri in uris:
            wanted = {"likes": likes.get(uri, 0), "reposts": reposts.get(uri, 0), "replies": replies.get(uri, 0)}
            self._same("counters of", uri, wanted, self._stock.posts.get(uri))

    def _tallied(self, collection: str) -> dict[str, int]:
        tally: dict[str, int] = {}
        for each in self._written.kept(collection):
            subject = each.record["subject"]["uri"]
            tally[subject] = tally.get(subject, 0) + 1
        return tally

    def handles(self, dids: Iterable[str]) -> None:
        """The name each account goes by now."""
        handles = {account.did: account.handle for account in self._written.accounts}
        for did in dids:
            self._same("handle of", did, {"handle": handles[did]}, self._stock.users.get(did))

    def relations(self, wanted: set[tuple[str, str]], allowed: set[tuple[str, str]] | None = None) -> None:
        self.compared += len(wanted)
        for pair in sorted(wanted - self._stock.relations):
            self.differs("missing follow", pair)
        for pair in sorted(self._stock.relations - (wanted if allowed is None else allowed)):
            self.differs("follow that is none", pair)

    def gone(self, wanted: Mapping[str, str]) -> None:
        """Each account that is not to be had, with the reason."""
        self.compared += len(wanted)
        for did in sorted(wanted.keys() | self._stock.gone.keys()):
            if wanted.get(did) != self._stock.gone.get(did):
                self.differs("account gone", f"{did}: {self._stock.gone.get(did)} instead of {wanted.get(did)}")

    def buried(self, wanted: Collection[str], allowed: Collection[str] | None = None) -> None:
        """Each post that is not to be had."""
        self.compared += len(wanted)
        for uri in sorted(set(wanted) - self._stock.buried.keys()):
            self.differs("post that is not known to be gone", uri)
        for uri in sorted(self._stock.buried.keys() - set(wanted if allowed is None else allowed)):
            self.differs("post that is not gone", f"{uri}: {self._stock.buried[uri]}")

    def _same(self, what: str, name: str, wanted: Shape, found: Shape | None) -> None:
        self.compared += 1
        if found is None:
            self.differs(f"missing {what}", name)
            return
        for key, value in wanted.items():
            if found[key] != value:
                self.differs(f"{what} {name}", f"{key} is {found[key]!r} instead of {value!r}")


def _stored(post: Mapping[str, Any]) -> Shape:
    media = sorted(((each["id"], each["kind"], each["description"]) for each in post["media"]), key=str)
    return {**post, "media": media, "tags": sorted(post["tags"]), "mentions": sorted(post["mentions"])}
