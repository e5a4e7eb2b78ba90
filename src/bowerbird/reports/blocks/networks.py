"""Who is connected with whom, and how often: weighted edges, counted by the database a range of accounts at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.block import text
from bowerbird.reports.blocks.columns import Column
from bowerbird.reports.blocks.fetching import Kinds, fetch_packed
from bowerbird.reports.blocks.fills import people
from bowerbird.reports.blocks.selection.choosing import Choice, Conditions, conditions
from bowerbird.reports.blocks.tables import FOLLOWS, POSTS
from bowerbird.store.posts.by_id import is_same

_ACCOUNTS = 20_000
"""Numbers of accounts in one question."""
_TAGS = 2_000
_WHEN = "case when p.is_time_doubtful = 1 then p.listed_at else p.created_at end"
_COUNTED = "count(*), min(at), max(at)"
_TO_POSTS = {
    "reply": "select p.author as source, o.author as target, {when} as at from posts p join posts o on {same_reply} "
    "where p.reply_to is not null and o.deleted_at is null and {chosen}",
    "quote": "select p.author as source, o.author as target, {when} as at from posts p join posts o on {same_quote} "
    "where p.quote_of is not null and o.deleted_at is null and {chosen}",
    "repost": "select p.author as source, o.author as target, {when} as at from posts p join posts o on {same_repost} "
    "where p.repost_of is not null and o.deleted_at is null and {chosen}",
    "mention": "select p.author as source, m.user_no as target, {when} as at from posts p "
    "join post_mentions m on m.post_no = p.post_no where {chosen}",
}
_LISTED_REPOSTS = """
select x.user_no as source, p.author as target, x.at as at from reactions x join posts p on p.post_no = x.post_no
where x.kind = 'repost' and x.gone_at is null and p.deleted_at is null and x.user_no > ? and x.user_no <= ? and not exists (
    select 1 from posts r where {same} and r.author = x.user_no and r.deleted_at is null)
"""
_FOLLOWS = "select r.source, r.target, 1, r.found_at, r.seen_at from relations r where {chosen}"
_COMMON_TAGS = """
select a.tag, b.tag, count(*), min({when}), max({when})
from post_tags a join post_tags b on b.post_no = a.post_no and b.tag > a.tag join posts p on p.post_no = a.post_no
where a.tag >= ? and a.tag <= ? and {chosen} group by a.tag, b.tag having count(*) >= ? order by a.tag, b.tag
"""
WEIGHT = "weight"
"""What `--least` calls how often an edge was seen."""
KINDS = ("follow", "mention", "reply", "repost", "quote", "co-hashtag")


_ENDS: dict[bool, Kinds] = {False: ("number", "number"), True: ("text", "text")}


class Edges(Struct, frozen=True):
    """Some edges by columns: ends (numbers of accounts, or hashtags), how often, first and last time in microseconds."""

    sources: Column
    targets: Column
    weights: Column
    first: Column
    last: Column


class NetworkReader:
    """Reads one kind of edges; the database is a moment that does not change."""

    def __init__(self, database: Database, kind: str, choice: Choice) -> None:
        if kind not in KINDS:
            raise UserError(f"there is no network of the kind {kind!r}", f"there are: {', '.join(KINDS)}", code="unknown_network")
        if choice.words:
            raise UserError("a network cannot be chosen by words", "leave --word out", code="unsupported")
        self._least = dict(choice.at_least).get(WEIGHT, 1)
        if kind == "follow" and self._least > 1:
            raise UserError("who follows whom is there once or not at all", "leave --least weight out", code="unsupported")
        self._database = database
        self._kind = kind
        self._choice = structs.replace(choice, at_least=tuple(each for each in choice.at_least if each[0] != WEIGHT))
        self._people = people(database)

    async def edges(self) -> AsyncIterator[Edges]:
        async with self._database.reading() as tx:
            table = FOLLOWS if self._kind == "follow" else POSTS
            where = await conditions(self._database, tx, table, self._choice)
            ranges = await (_tag_ranges(tx) if self._kind == "co-hashtag" else _account_ranges(tx))
            for low, high in ranges:
                statement, *values = self._statement(where, low, high)
                kinds: Kinds = (*_ENDS[self._kind == "co-hashtag"], "number", "number", "number")
                found = await fetch_packed(self._database, tx, statement, kinds, *values)
                if found:
                    yield Edges(*found)

    async def names(self, numbers: Sequence[int]) -> Mapping[int, tuple[str, str | None, str]]:
        """Id, handle and network by number; who asked not to be collected is left out."""
        async with self._database.reading() as tx:
            known = await self._people.of(tx, numbers)
            told = {number: known[number] for number in numbers}
        return {
            number: (text(found[1]), None if found[2] is None else text(found[2]), text(found[3]))
            for number, found in told.items()
            if found and not found[0]
        }

    def _statement(self, where: Conditions, low: Any, high: Any) -> tuple[Any, ...]:
        if self._kind == "co-hashtag":
            return _COMMON_TAGS.format(when=_WHEN, chosen=where.sql), low, high, *where.values, self._least
        if self._kind == "follow":
            within = f"{where.sql} and r.source > ? and r.source <= ?"
            return _FOLLOWS.format(chosen=within), *where.values, low, high
        select = _TO_POSTS[self._kind].format(
            when=_WHEN,
            same_reply=is_same("o.id", "p.reply_to"),
            same_quote=is_same("o.id", "p.quote_of"),
            same_repost=is_same("o.id", "p.repost_of"),
            chosen=f"{where.sql} and p.author > ? and p.author <= ?",
        )
        values = (*where.values, low, high)
        if self._kind == "repost" and self._choice == Choice():
            select += " union all " + _LISTED_REPOSTS.format(same=is_same("r.repost_of", "p.id"))
            values += (low, high)
        grouped = "group by source, target having count(*) >= ? order by source, target"
        return f"select source, target, {_COUNTED} from ({select}) as e {grouped}", *values, self._least


async def _account_ranges(tx: Transaction) -> list[tuple[int, int]]:
    row = await tx.fetch_one("select max(user_no) as last from users")
    last = int(row["last"] or 0) if row else 0
    return [(low, low + _ACCOUNTS) for low in range(0, last, _ACCOUNTS)]


async def _tag_ranges(tx: Transaction) -> list[tuple[str, str]]:
    found = await tx.fetch_columns("select distinct tag from post_tags order by tag")
    tags = [text(tag) for tag in found[0]] if found else []
    return [(tags[low], tags[min(low + _TAGS, len(tags)) - 1]) for low in range(0, len(tags), _TAGS)]
