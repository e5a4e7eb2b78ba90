"""Relations and their listings: an edge is removed only when a whole sweep of a list that showed it before ends without it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.model import Facet, Page, Relation, RelationKind, Side, Task
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import lists_whole
from bowerbird.store.context import SaveContext, listed, ordered
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.relations.absent_ends import ABSENT_SINCE, AbsentEndStatements, absent_since
from bowerbird.store.relations.single import HISTORY, EdgeStatements, name_edges, save_edges

_LISTING = "select sweep, began_at, ended_at, before_began_at, listed from listings where user_no = ? and kind = ? and side = ?"
_KEEP_LISTING = """
insert into listings (user_no, kind, side, sweep, began_at, ended_at, before_began_at, listed) values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (user_no, kind, side) do update set sweep = excluded.sweep, began_at = excluded.began_at,
    ended_at = excluded.ended_at, before_began_at = excluded.before_began_at, listed = excluded.listed
"""
_IN_PART = 0


class Listing(Struct, frozen=True, kw_only=True):
    """One sweep over one list of one user's relations."""

    user: int
    kind: str
    side: Side
    sweep: int | None
    """The call that began it; None when nobody saw its beginning, so that it can add but never remove; `_IN_PART` when it
    ended without having shown the whole list."""
    began_at: int
    ended_at: int | None = None
    before_began_at: int | None = None
    listed: int = 0

    def edge(self, other: int) -> tuple[int, int]:
        return (self.user, other) if self.side is Side.FOLLOWING else (other, self.user)


class _SideStatements:
    """The statements for one end of the edges."""

    def __init__(self, database: Database, side: Side) -> None:
        fixed, other, seen = ("source", "target", "seen_out") if side is Side.FOLLOWING else ("target", "source", "seen_in")
        self.known = (
            f"select {other} as other, removed_at from relations where kind = ? and {fixed} = ? "
            f"and {other} {database.any('bigint')}"
        )
        self.save = (
            f"insert into relations (kind, {fixed}, found_at, found_by, seen_at, {seen}, {other}) "
            "select cast(? as text), cast(? as bigint), cast(? as bigint), cast(? as bigint), cast(? as bigint), "
            f"cast(? as bigint), value from {listed(database, 'bigint')} where true "
            "on conflict (kind, source, target) do update set seen_at = excluded.seen_at, "
            f"{seen} = coalesce(excluded.{seen}, relations.{seen}), removed_at = null"
        )
        # `seen_at`: the list of the other end may have shown the edge since this sweep passed its place.
        missing = f"kind = ? and {fixed} = ? and removed_at is null and {seen} is not null and {seen} <> ? and seen_at <= ?"
        self.remove = (
            f"update relations set removed_at = ? where {missing} and not exists (select 1 from unavailable "
            f"where user_no = relations.{other} and {ABSENT_SINCE}) returning {other} as other, seen_at"
        )
        # Nobody may learn just now that one of them is absent: the edge would be removed all the same.
        held = ordered(database, "user_no", "key share")
        self.hold = f"select 1 as held from users where user_no in (select {other} from relations where {missing}){held}"


class RelationStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        self.sides = {side: _SideStatements(database, side) for side in Side}
        self.edges = EdgeStatements(database)
        self.absent_ends = AbsentEndStatements(database)


async def save_relations(
    s: SaveContext, sql: RelationStatements, page: Page, facet: Facet, tasks: Sequence[Task], people: PagePeople
) -> tuple[int, int]:
    """Writes the edges of a page; answers how many are new or back, and how many are now known to be gone."""
    if facet.side is None or len(tasks) != 1 or tasks[0].target not in people.keys:
        return await save_edges(s, sql.edges, page.relations, people), 0
    if not await lists_whole(s, "users", people.keys[tasks[0].target]):
        return await save_edges(s, sql.edges, page.relations, people, only_new=True), 0
    listing = await _listing(s, page, facet, tasks[0], people)
    others = _others(listing.side, page.relations, people)
    added = await _save_listed(s, sql, listing, others)
    await name_edges(s, page.relations, people)
    listing = replace(listing, listed=listing.listed + len(others))
    if listing.sweep is None:
        return added, 0
    # A page of which not everybody could be told ends the listing here: the rest of it adds, and says nothing of who is missing.
    has_ended = page.cursor is None or not page.is_whole
    is_whole = has_ended and page.is_whole and _is_whole(listing, facet)
    is_telling = is_whole and (listing.listed > 0 or await _is_empty(s, listing))
    removed = await _remove(s, sql.sides[listing.side], listing) if is_telling else 0
    if has_ended:
        listing = replace(listing, ended_at=s.at, sweep=listing.sweep if is_telling else _IN_PART)
    await _keep(s, listing)
    return added, removed


async def _is_empty(s: SaveContext, listing: Listing) -> bool:
    """Whether an empty list is truly empty: a hidden one is empty too, but the profile counts what it hides."""
    row = await s.tx.fetch_one(f"select {listing.side.value} as counted from users where user_no = ?", listing.user)
    return row is not None and row["counted"] == 0


def _others(side: Side, relations: Sequence[Relation], people: PagePeople) -> set[int]:
    keys = people.keys
    return {keys[r.target] for r in relations} if side is Side.FOLLOWING else {keys[r.source] for r in relations}


async def _listing(s: SaveContext, page: Page, facet: Facet, task: Task, people: PagePeople) -> Listing:
    kind = page.relations[0].kind if page.relations else _usual_kind(facet)
    side = facet.side or Side.FOLLOWING
    user = people.keys[task.target]
    row = await s.tx.fetch_one(_LISTING, user, kind.value, side.value)
    began_at = await s.observed_at()
    fresh = Listing(user=user, kind=kind.value, side=side, sweep=s.call, began_at=began_at, before_began_at=_last_whole(row))
    if task.progress.cursor is None and not (facet.is_incremental and task.progress.newest):
        return fresh
    if row is None or row["ended_at"] is not None:
        return replace(fresh, sweep=None)
    return replace(
        fresh, sweep=row["sweep"], began_at=row["began_at"], before_began_at=row["before_began_at"], listed=row["listed"]
    )


def _usual_kind(facet: Facet) -> RelationKind:
    return RelationKind.MEMBER if facet.name == "members" else RelationKind.FOLLOW


def _last_whole(row: Row | None) -> int | None:
    if row is None:
        return None
    is_whole = row["ended_at"] is not None and row["sweep"] != _IN_PART
    began: int | None = row["began_at"] if is_whole else row["before_began_at"]
    return began


def _is_whole(listing: Listing, facet: Facet) -> bool:
    # A list that the service cuts at its cap ends too, but what lies below the cap is unknown, not removed.
    return facet.total_results is None or listing.listed < facet.total_results


async def _save_listed(s: SaveContext, sql: RelationStatements, listing: Listing, others: Collection[int]) -> int:
    if not others:
        return 0
    side = sql.sides[listing.side]
    known = {row["other"]: row["removed_at"] for row in await s.fetch_in(side.known, others, listing.kind, listing.user)}
    back = {other: removed_at for other, removed_at in known.items() if removed_at is not None}
    if back:
        # A stream may have told the end of an edge while the page that still shows it was under way.
        observed = await s.observed_at()
        ended = {other for other, removed_at in back.items() if removed_at > observed}
        others, back = set(others) - ended, {other: at for other, at in back.items() if other not in ended}
    origin = (listing.kind, listing.user, s.at, s.call, s.at, listing.sweep)
    await s.execute_in(side.save, sorted(others), *origin)
    new = set(others) - known.keys()
    since = back | await _came(s, sql, listing, new)
    rows = [(listing.kind, *listing.edge(other), "added", since[other], s.at, s.call) for other in sorted(since)]
    await s.execute_many(HISTORY, rows)
    return len(new) + len(back)


async def _came(s: SaveContext, sql: RelationStatements, listing: Listing, new: Collection[int]) -> dict[int, int]:
    """Who came since the last whole listing, which showed everybody but those who were absent."""
    before = listing.before_began_at
    if before is None or not new:
        return {}
    return dict.fromkeys(set(new) - await absent_since(s, sql.absent_ends, new, before), before)


async def _remove(s: SaveContext, sql: _SideStatements, listing: Listing) -> int:
    missing = (listing.kind, listing.user, listing.sweep, listing.began_at)
    if s.database.dialect == "postgresql":
        await s.tx.fetch(sql.hold, *missing)
    gone = await s.tx.fetch(sql.remove, s.at, *missing, listing.began_at)
    rows = [(listing.kind, *listing.edge(row["other"]), "removed", row["seen_at"], s.at, s.call) for row in gone]
    await s.execute_many(HISTORY, rows)
    return len(rows)


async def _keep(s: SaveContext, listing: Listing) -> None:
    row = (listing.sweep, listing.began_at, listing.ended_at, listing.before_began_at, listing.listed)
    await s.tx.execute(_KEEP_LISTING, listing.user, listing.kind, listing.side.value, *row)
