"""Reactions: who passed a post on or liked it. One is gone only when a whole listing of the post no longer shows it.

Lists of reactions are newest first, and most tell no times: the place in the list is kept, because it still tells the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.model import Facet, Outcome, Page, Reaction, ReactionKind, Subject, Task
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import lists_whole
from bowerbird.store.context import SaveContext
from bowerbird.store.intake.clean import is_key
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.relations.lists import ListStatements, post_numbers

_LISTING = "select sweep, began_at, ended_at, listed from reaction_listings where post_no = ? and kind = ?"
_KEEP_LISTING = """
insert into reaction_listings (post_no, kind, sweep, began_at, ended_at, listed) values (?, ?, ?, ?, ?, ?)
on conflict (post_no, kind) do update set
    sweep = excluded.sweep, began_at = excluded.began_at, ended_at = excluded.ended_at, listed = excluded.listed
"""
_SAVE = """
insert into reactions (post_no, kind, user_no, at, sweep, place, found_at, found_by, seen_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (post_no, kind, user_no) do update set
    at = coalesce(excluded.at, reactions.at), sweep = coalesce(excluded.sweep, reactions.sweep),
    place = coalesce(excluded.place, reactions.place), seen_at = excluded.seen_at, gone_at = null
"""
_DROP = """
update reactions set gone_at = ? where post_no = ? and kind = ? and gone_at is null and sweep is not null and sweep <> ?
"""
_COUNTERS = {ReactionKind.REPOST: "reposts", ReactionKind.LIKE: "likes"}


class ReactionStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        self.posts = ListStatements(database)
        self.known = f"select user_no from reactions where post_no = ? and kind = ? and user_no {database.any('bigint')}"


class _Listing(Struct, frozen=True):
    """One sweep over the reactions of one kind to one post."""

    post: int
    kind: ReactionKind
    sweep: int | None
    """The call that began it; None when nobody saw its beginning, so that it can add but never remove."""
    began_at: int
    listed: int = 0


def clean_reactions(page: Page) -> Page:
    """The same page without what a database would refuse of its reactions."""
    if all(is_key(each.post) and is_key(each.user) for each in page.reactions):
        return page
    return msgspec.structs.replace(
        page, reactions=tuple(each for each in page.reactions if is_key(each.post) and is_key(each.user))
    )


def reacting(page: Page) -> Iterator[str]:
    """Keys of those who reacted."""
    return (each.user for each in page.reactions)


async def save_reactions(
    s: SaveContext, sql: ReactionStatements, page: Page, facet: Facet, tasks: Sequence[Task], people: PagePeople
) -> int:
    """Writes the reactions of a page to posts that are stored; answers how many are new."""
    if page.outcome is not Outcome.OK or not (page.reactions or "reactions" in facet.yields):
        return 0
    asked = [task.target for task in tasks] if facet.subject is Subject.POST else []
    numbers = await post_numbers(s, sql.posts, {*asked, *(each.post for each in page.reactions)})
    by_place = _by_place(page.reactions, numbers)
    is_own = len(asked) == 1 and asked[0] in numbers and await lists_whole(s, "posts", numbers[asked[0]])
    listing = await _listing(s, page, facet, tasks[0], numbers) if is_own else None
    new = 0
    for (post, kind), reactions in by_place.items():
        own = listing if listing is not None and (listing.post, listing.kind) == (post, kind) else None
        new += await _save(s, sql, own or _Listing(post, kind, None, s.at), reactions, people)
    if listing is not None and listing.sweep is not None:
        await _end(s, msgspec.structs.replace(listing, listed=listing.listed + page.results), page, facet)
    return new


def _by_place(reactions: Sequence[Reaction], numbers: Mapping[str, int]) -> dict[tuple[int, ReactionKind], list[Reaction]]:
    grouped: dict[tuple[int, ReactionKind], list[Reaction]] = {}
    for each in reactions:
        if each.post in numbers:
            grouped.setdefault((numbers[each.post], each.kind), []).append(each)
    return grouped


async def _listing(s: SaveContext, page: Page, facet: Facet, task: Task, numbers: Mapping[str, int]) -> _Listing:
    kind = page.reactions[0].kind if page.reactions else _usual_kind(facet)
    fresh = _Listing(numbers[task.target], kind, s.call, s.at)
    if task.progress.cursor is None:
        return fresh
    row: Row | None = await s.tx.fetch_one(_LISTING, fresh.post, kind.value)
    if row is None or row["ended_at"] is not None:
        return msgspec.structs.replace(fresh, sweep=None)
    return _Listing(fresh.post, kind, row["sweep"], row["began_at"], row["listed"])


def _usual_kind(facet: Facet) -> ReactionKind:
    return ReactionKind.LIKE if facet.name == "likes" else ReactionKind.REPOST


async def _save(
    s: SaveContext, sql: ReactionStatements, listing: _Listing, reactions: Sequence[Reaction], people: PagePeople
) -> int:
    """Writes reactions of one kind to one post; those of accounts that opted out are not kept."""
    rows: dict[int, tuple[int | None, int | None]] = {}
    for place, each in enumerate(reactions, listing.listed):
        user = people.keys[each.user]
        if user not in people.opted_out:
            at = None if each.at is None else to_micros(each.at)
            rows.setdefault(user, (at, place if listing.sweep is not None else None))
    known = {row["user_no"] for row in await s.fetch_in(sql.known, rows, listing.post, listing.kind.value)}
    about = (listing.post, listing.kind.value)
    await s.execute_many(
        _SAVE,
        [(*about, user, at, listing.sweep, place, s.at, s.call, s.at) for user, (at, place) in sorted(rows.items())],
    )
    return len(rows.keys() - known)


async def _end(s: SaveContext, listing: _Listing, page: Page, facet: Facet) -> None:
    """Notes how far the listing has come; one that was read to its end says who is no longer there."""
    # What is not whole on one page says nothing of who is missing at the end of the list either.
    has_ended = page.cursor is None or not page.is_whole
    # A list that the service cuts ends too, even below its cap: what it left out may be there all the same.
    is_whole = has_ended and page.is_whole and facet.total_results is None
    if is_whole and (listing.listed or await _is_empty(s, listing)):
        await s.tx.execute(_DROP, s.at, listing.post, listing.kind.value, listing.sweep)
    ended_at = s.at if has_ended else None
    await s.tx.execute(_KEEP_LISTING, listing.post, listing.kind.value, listing.sweep, listing.began_at, ended_at, listing.listed)


async def _is_empty(s: SaveContext, listing: _Listing) -> bool:
    """Whether an empty list is truly empty: some services show one for a post that is not to be had."""
    row = await s.tx.fetch_one(f"select {_COUNTERS[listing.kind]} as counted from posts where post_no = ?", listing.post)
    return row is not None and row["counted"] == 0
