"""What a listener's store says about changes: each is there once, and what could not be heard is a gap."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from msgspec import Struct
from written import Written

from bowerbird.app import open_store
from bowerbird.clock import from_micros
from bowerbird.ports import Clock

_BONDS = """
select s.id as source, t.id as target, h.change from relation_history h
join users s on s.user_no = h.source join users t on t.user_no = h.target where h.kind = 'follow'
"""
# Whoever looks an account up may find it gone before the stream says so: that is the same absence.
_ABSENCES = "select u.id, count(*) as times from unavailable x join users u on u.user_no = x.user_no group by u.id"
_GAPS = "select cause, detail, after_at, before_at from gaps order by gap"
_COUNTED = "select (select sum(posts) from crawls) as counted, (select count(*) from posts) as posts"

Pair = tuple[str, str]


class Gap(Struct, frozen=True):
    """Between which events, by the network's time."""

    cause: str
    detail: str | None
    after_at: datetime | None
    before_at: datetime | None

    def holds(self, when: datetime) -> bool:
        return self.after_at is not None and self.before_at is not None and self.after_at <= when <= self.before_at


class Changes(Struct, frozen=True, kw_only=True):
    """The history in one store."""

    added: Counter[Pair]
    removed: Counter[Pair]
    absences: dict[str, int]
    """How often somebody was gone, whoever said so first."""
    gaps: list[Gap]
    posts: int
    posts_counted: int
    """How many the crawl has counted as new."""

    def complaints(self, written: Written) -> list[str]:
        """What a stream told that is not noted exactly once. Of deleted accounts it may have told less."""
        lasting = [account for account in written.accounts if account.fate != "deleted"]
        everybody = {account.did for account in lasting}
        found = [f"{self.posts_counted} posts counted as new; there are {self.posts}"] if self.posts_counted > self.posts else []
        made = Counter({pair: times for pair, times in written.bonds.items() if pair[0] in everybody})
        kept = Counter({pair: 1 for pair in written.follow_records if pair[0] in everybody})
        found += _unequal("follows told", made, self.added, everybody)
        found += _unequal("unfollows told", made - kept, self.removed, everybody)
        for account in lasting:
            if account.absences != self.absences.get(account.did, 0):
                found.append(f"{account.did} went {account.absences} times; known are {self.absences.get(account.did, 0)}")
        return found


def _unequal(what: str, wanted: Counter[Pair], found: Counter[Pair], sources: set[str]) -> list[str]:
    pairs = {pair for pair in (*wanted, *found) if pair[0] in sources}
    return [f"{what}: {pair}: {found[pair]} instead of {wanted[pair]}" for pair in sorted(pairs) if found[pair] != wanted[pair]]


async def changes(store: str, clock: Clock) -> Changes:
    async with open_store(store, clock) as database, database.reading() as tx:
        bonds = await tx.fetch(_BONDS)
        counted: Any = await tx.fetch_one(_COUNTED)
        return Changes(
            added=_told(bonds, "added"),
            removed=_told(bonds, "removed"),
            absences={row["id"]: row["times"] for row in await tx.fetch(_ABSENCES)},
            gaps=[_gap(row) for row in await tx.fetch(_GAPS)],
            posts=counted["posts"],
            posts_counted=counted["counted"],
        )


def _told(bonds: Any, change: str) -> Counter[Pair]:
    return Counter((row["source"], row["target"]) for row in bonds if row["change"] == change)


def _gap(row: Any) -> Gap:
    after, before = (None if row[name] is None else from_micros(row[name]) for name in ("after_at", "before_at"))
    return Gap(row["cause"], row["detail"], after, before)
