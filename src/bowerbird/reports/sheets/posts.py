"""The sheet of one post: what it says, which call brought it, how its counters rose, the conversation around it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.blocks.picking import Picked, pick, picked
from bowerbird.reports.blocks.tables import MEDIA, POSTS
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.sheets.parts import Brought, Deletion, Said, brought_by, call_of, deletion, deletion_of, judged, said_of
from bowerbird.store.posts.by_id import end_of, is_same

COUNTERS = ("likes", "reposts", "replies", "quotes")
BRIEF = frozenset(
    {
        *(
            "id",
            "kind",
            "author_id",
            "author_handle",
            "created_at",
            "text",
            "language",
            "warning",
            "reply_to",
            "repost_of",
            "media",
        ),
        *COUNTERS,
    }
)
"""What is told of a post beside others."""
_WHOLE = frozenset({*POSTS.columns, "author_id", "author_handle", "country", "tags", "mentions", "media"})
_POST = f"""
select p.post_no, p.id, p.network, p.found_at, p.found_by, p.seen_at, p.deleted_at, {", ".join(f"p.{name}" for name in COUNTERS)}
, case when p.deleted_at is null and coalesce(u.opts_out, 0) = 0 then 1 else 0 end as is_told
from posts p join users u on u.user_no = p.author where {end_of("p.id")} = {end_of("cast(? as text)")} and p.id = ?
"""
_CHANGED = "select at, before, after from post_history where post_no = ? order by at, call limit ?"
_MOST_CHANGES = 2_000
_MOST_PASSED = 2_000
_REPOSTED = f"""
select count(*) from (select 1 from posts where {is_same("repost_of", "cast(? as text)")} and deleted_at is null
    limit {_MOST_PASSED}) x
"""
_LISTED = f"""
select count(*) from (select 1 from reactions where post_no = ? and kind = 'repost' and gone_at is null limit {_MOST_PASSED}) x
"""
_PASSED = f"select ({_REPOSTED}) as reposts, ({_REPOSTED.replace('repost_of', 'quote_of')}) as quotes, ({_LISTED}) as listed"
_CHOSEN = f"""
select p.post_no, p.id from posts p join users u on u.user_no = p.author
where {end_of("p.id")} = {end_of("cast(? as text)")} and p.id = ? and p.deleted_at is null and coalesce(u.opts_out, 0) = 0
"""
_ABOVE, _BELOW, _DEEPEST = 30, 200, 6


class Reading(Struct, frozen=True, kw_only=True):
    """The counters of a post at a time."""

    at: datetime
    counts: dict[str, int | None]


class PostSheet(Struct, frozen=True, kw_only=True):
    """What is known of one post. Of one that is gone only that."""

    number: int
    id: str
    network: str
    post: Picked | None
    deletion: Deletion | None
    found_at: datetime
    seen_at: datetime
    brought: Brought | None
    media: tuple[Picked, ...]
    readings: tuple[Reading, ...]
    passed_on: Count
    """How often it is known to have been passed on or quoted."""
    said: tuple[Said, ...]


class PassedOn(Struct, frozen=True, kw_only=True):
    """A post that may be told of, and how often it is known to have been passed on."""

    number: int
    id: str
    passed_on: Count


class Answer(Struct, frozen=True, kw_only=True):
    """A post of a conversation; `post` None: it is gone, or was never stored."""

    id: str
    depth: int
    post: Picked | None


class Thread(Struct, frozen=True, kw_only=True):
    """The conversation around a post: what it answers, the first one first, and the answers to it, each below its own."""

    above: tuple[Answer, ...]
    below: tuple[Answer, ...]
    is_cut: bool
    """There are more answers than are told."""


async def read_post(database: Database, id_: str) -> PostSheet | None:
    """The sheet of a post by its global id; None where the store has none of this id."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_POST, id_, id_)
        if row is None:
            return None
        number = int(row["post_no"])
        post = (await pick(database, tx, POSTS, [number], columns=_WHOLE)).get(number)
        deleted, call, (passed,), said, changes = await tx.fetch_all(
            [
                deletion("post", id_),
                call_of(row["found_by"]),
                (_PASSED, (*(id_,) * 4, number)),
                judged("post", id_),
                (_CHANGED, (number, _MOST_CHANGES)),
            ]
        )
        return PostSheet(
            number=number,
            id=row["id"],
            network=row["network"],
            post=post,
            deletion=None if post else _deletion(row, deleted),
            found_at=from_micros(row["found_at"]),
            seen_at=from_micros(row["seen_at"]),
            brought=brought_by(call),
            media=await _media(database, tx, number) if post and post["media"] else (),
            readings=_readings(row, changes) if post else (),
            passed_on=_passed_on(passed),
            said=said_of(said) if post else (),
        )


async def read_readings(database: Database, id_: str) -> tuple[Reading, ...] | None:
    """How the counters of a post rose, the last as it was seen last; None where there is no such post, or nothing may be told of
    it."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_POST, id_, id_)
        if row is None or not row["is_told"]:
            return None
        return _readings(row, await tx.fetch(_CHANGED, row["post_no"], _MOST_CHANGES))


async def read_passed_on(database: Database, id_: str) -> PassedOn | None:
    """What a cascade begins with; None where there is no such post, or nothing may be told of it."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_CHOSEN, id_, id_)
        if row is None:
            return None
        (passed,) = await tx.fetch(_PASSED, *(id_,) * 4, row["post_no"])
        return PassedOn(number=row["post_no"], id=row["id"], passed_on=_passed_on(passed))


async def read_thread(database: Database, sheet: PostSheet) -> Thread:
    """What a post answers and what answers it, as far as it is stored."""
    async with database.reading() as tx:
        above = await _above(database, tx, sheet.post)
        below, is_cut = await _below(database, tx, sheet.number)
    return Thread(above=above, below=below, is_cut=is_cut)


async def _above(database: Database, tx: Transaction, post: Picked | None) -> tuple[Answer, ...]:
    found: list[Answer] = []
    wanted = post["reply_to"] if post else None
    seen: set[str] = set()
    while wanted and wanted not in seen and len(found) < _ABOVE:
        seen.add(wanted)
        row = await tx.fetch_one(_POST, wanted, wanted)
        told = (await pick(database, tx, POSTS, [row["post_no"]], columns=BRIEF)).get(row["post_no"]) if row is not None else None
        found.append(Answer(id=wanted, depth=0, post=told))
        wanted = told["reply_to"] if told else None
    return tuple(reversed(found))


async def _below(database: Database, tx: Transaction, number: int) -> tuple[tuple[Answer, ...], bool]:
    """The answers layer by layer, then each below what it answers."""
    children: dict[int, list[int]] = {}
    layer, known = [number], {number}
    for _ in range(_DEEPEST):
        rows = await tx.fetch(_answers(database), database.members(layer), _BELOW + 1)
        new = [row for row in rows if row["post_no"] not in known]
        for row in new:
            children.setdefault(row["of"], []).append(row["post_no"])
        layer = [row["post_no"] for row in new]
        known |= set(layer)
        if not layer or len(known) > _BELOW:
            break
    picked_ = await pick(database, tx, POSTS, sorted(known - {number}), columns=BRIEF) if len(known) > 1 else {}
    order = _in_order(children, number)
    told = [Answer(id=picked_[each]["id"], depth=depth, post=picked_[each]) for each, depth in order if each in picked_]
    return tuple(told[:_BELOW]), len(known) > _BELOW


def _answers(database: Database) -> str:
    return (
        f"select o.post_no as of, r.post_no from posts o join posts r on {is_same('r.reply_to', 'o.id')} "
        f"and r.reply_to is not null where o.post_no {database.any('bigint')} and r.deleted_at is null order by r.post_no limit ?"
    )


def _in_order(children: dict[int, list[int]], root: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    waiting = [(each, 1) for each in reversed(children.get(root, []))]
    while waiting:
        number, depth = waiting.pop()
        found.append((number, depth))
        waiting += [(each, depth + 1) for each in reversed(children.get(number, []))]
    return found


async def _media(database: Database, tx: Transaction, number: int) -> tuple[Picked, ...]:
    return tuple(each for _, each in await picked(database, tx, MEDIA, "m.post_no = ?", number))


def _deletion(row: Row, deleted: Sequence[Row]) -> Deletion | None:
    if row["deleted_at"] is None:
        return None
    return deletion_of(deleted) or Deletion("gone with its author", from_micros(row["deleted_at"]))


def _passed_on(found: Row) -> Count:
    reposts, quotes, listed = counts = [int(found[name]) for name in ("reposts", "quotes", "listed")]
    # A repost may be known as a post and from a list too.
    return Count(max(reposts, listed) + quotes, is_exact=max(counts) < _MOST_PASSED)


def _readings(row: Row, rows: Sequence[Row]) -> tuple[Reading, ...]:
    """From the first to the last time it was seen; between two changes a counter stays as it was."""
    changes = [(each["at"], msgspec.json.decode(each["before"]), msgspec.json.decode(each["after"])) for each in rows]
    current: dict[str, int | None] = {name: row[name] for name in COUNTERS}
    for _, before, _ in reversed(changes):
        current |= {name: before[name] for name in COUNTERS if name in before}
    found = [Reading(at=from_micros(row["found_at"]), counts=dict(current))]
    for at, _, after in changes:
        current |= {name: after[name] for name in COUNTERS if name in after}
        found.append(Reading(at=from_micros(at), counts=dict(current)))
    return (*found, Reading(at=from_micros(row["seen_at"]), counts={name: row[name] for name in COUNTERS}))
