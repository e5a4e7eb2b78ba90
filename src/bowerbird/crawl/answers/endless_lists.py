"""Lists that never end: positions that lead back to one another, pages without end. Found with constant memory, in the database.

Of a listing under way one position is remembered and compared with every later one; when as many pages have been read as lay
before it, the present one takes its place (Brent's way of finding a cycle). A cycle is found within three of its rounds.
"""

from __future__ import annotations

from msgspec import Struct, structs

from bowerbird.crawl.work.lanes import Lane
from bowerbird.model import Lease, Outcome, Page, Saved, Side, Subject
from bowerbird.ports import Row, Transaction

CYCLE = "the server led back to a position met before in this listing; the listing is taken as ended"
EMPTY = "the server showed nothing but empty pages; the listing is taken as ended"
FADED = "the list ended in several empty pages: what is hidden, or lies beyond them, is not known"
ENDLESS = "the server showed more pages than the list can have; the listing is taken as ended"
MOST_EMPTY = 50
"""Pages in a row: what is hidden from us may lie between what is shown."""
MOST_BARREN = 200
"""Pages in a row with nothing that was not stored; beyond them the account's own counter decides."""
LONGEST = 100_000
"""Pages in a row with nothing new of a list that nobody counts."""
_CHECKED_EVERY = 100

_KNOWN = "select position, remaining, span, empty, barren from paging where task = ?"
_KEEP = """
insert into paging (task, position, remaining, span, empty, barren) values (?, ?, ?, ?, ?, ?) on conflict (task) do update set
    position = excluded.position, remaining = excluded.remaining, span = excluded.span, empty = excluded.empty,
    barren = excluded.barren
"""
_COUNTED = """
select u.posts, u.followers, u.following from lanes l join services s on s.service = l.service
join users u on u.user_no = coalesce((select k.user_no from user_keys k where k.service = l.service and k.key = ?),
    (select x.user_no from users x where x.id = s.network || ':' || ?), (select x.user_no from users x where x.id = ?))
where l.lane = ?
"""


class Trail(Struct, frozen=True):
    """What is remembered of one listing."""

    position: str
    remaining: int = 1
    """Pages until the present position is remembered instead."""
    span: int = 1
    empty: int = 0
    barren: int = 0


async def bounded(tx: Transaction, lane: Lane, lease: Lease, page: Page) -> tuple[Page, Trail | None]:
    """The page, and what is remembered of the listing. If the list would never end, the page is marked as its last one, and as
    cut off."""
    if page.outcome is not Outcome.OK or len(lease.tasks) != 1 or lease.tasks[0].pages == 0:
        return page, None
    trail = await _trail(tx, lease)
    why = "" if trail is None else await _why(tx, lane, lease, page, trail)
    return (structs.replace(page, cursor=None, is_whole=False, detail=why) if why else page), trail


async def remember(tx: Transaction, lease: Lease, page: Page, saved: Saved, trail: Trail | None) -> None:
    """Notes the position after a page that goes on; a listing that ended is forgotten."""
    if _goes_on(lease, page):
        await _keep(tx, lease.tasks[0].task, after(trail, page, saved))
    elif trail is not None:
        await tx.execute("delete from paging where task = ?", lease.tasks[0].task)


def after(trail: Trail | None, page: Page, saved: Saved) -> Trail:
    """The trail one page further. Pure."""
    position = page.cursor or ""
    empty = 0 if page.results else 1 + (trail.empty if trail else 0)
    barren = 0 if saved.items_new else 1 + (trail.barren if trail else 0)
    if trail is None:
        return Trail(position, empty=empty, barren=barren)
    if trail.remaining > 1:
        return Trail(trail.position, trail.remaining - 1, trail.span, empty, barren)
    return Trail(position, trail.span * 2, trail.span * 2, empty, barren)


def _goes_on(lease: Lease, page: Page) -> bool:
    return page.outcome is Outcome.OK and page.cursor is not None and len(lease.tasks) == 1


async def _why(tx: Transaction, lane: Lane, lease: Lease, page: Page, trail: Trail) -> str:
    if page.cursor is None:
        return FADED if trail.empty and not page.results else ""
    if page.cursor == trail.position:
        return CYCLE
    if not page.results and trail.empty + 1 >= MOST_EMPTY:
        return EMPTY
    if trail.barren >= MOST_BARREN and trail.barren % _CHECKED_EVERY == 0 and await _is_endless(tx, lane, lease, trail):
        return ENDLESS
    return ""


async def _is_endless(tx: Transaction, lane: Lane, lease: Lease, trail: Trail) -> bool:
    """Whether more has been listed without anything new than the account's own counter can account for."""
    task, facet = lease.tasks[0], lane.facet
    row = (
        await tx.fetch_one(_COUNTED, task.target, task.target, task.target, lane.lane) if facet.subject is Subject.USER else None
    )
    counted: int | None = row[_counter(facet.side)] if row is not None else None
    if not counted:
        return trail.barren >= LONGEST
    # Short pages are normal where some of a list is hidden.
    return task.pages * facet.results_per_call > 10 * counted + MOST_BARREN * facet.results_per_call


def _counter(side: Side | None) -> str:
    return {Side.FOLLOWERS: "followers", Side.FOLLOWING: "following"}[side] if side is not None else "posts"


async def _trail(tx: Transaction, lease: Lease) -> Trail | None:
    row: Row | None = await tx.fetch_one(_KNOWN, lease.tasks[0].task)
    return None if row is None else Trail(row["position"], row["remaining"], row["span"], row["empty"], row["barren"])


async def _keep(tx: Transaction, task: int, trail: Trail) -> None:
    await tx.execute(_KEEP, task, trail.position, trail.remaining, trail.span, trail.empty, trail.barren)
