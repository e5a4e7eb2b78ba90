"""Counts of posts by account and by day, written with the page that changes them: reports need not read the posts.

By day every post is counted. By account only where there are many: who has a row has the right one, and of all others the
posts are counted when somebody asks. An account gets its row with the first page that brings many of its posts, so that the
single posts of a stream cost no row each. On PostgreSQL pages that are saved at once add up their days in different slots, and
the rows of accounts are held in the order of their numbers, after everything else that a page holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bowerbird.ports import Row
from bowerbird.store.context import SaveContext
from bowerbird.store.posts.counting import AccountChange, PostFacts

MANY = 10
"""New posts of one account on one page from which on it has a row."""
_SLOTS = 64
_SLOT_LOCK = 7254108
_SUMS = (
    "author, count(*), sum(case when deleted_at is not null then 1 else 0 end), "
    "sum(case when deleted_at is null and kind = 'repost' then 1 else 0 end), "
    "min(found_at), max(case when created_at > listed_at then created_at else coalesce(listed_at, created_at, found_at) end), "
    "max(seen_at)"
)
_COLUMNS = ("user_no", "stored", "deleted", "reposts", "first_found", "last_written", "last_seen")
_INTO = f"insert into post_counts ({', '.join(_COLUMNS)})"


def _arrays(names: Collection[str]) -> str:
    """The columns of as many parameters as a table, for PostgreSQL."""
    return f"unnest({', '.join('?::bigint[]' for _ in names)}) as v ({', '.join(names)})"


_DAY_COLUMNS = ("day", "crawl", "stored", "deleted")
_COUNT = """
update post_counts set stored = stored + ?, deleted = deleted + ?, reposts = reposts + ?, first_found = min(first_found, ?),
    last_written = max(last_written, ?), last_seen = max(last_seen, ?) where user_no = ?
"""
_LAY = """
insert into post_days (day, crawl, slot, stored, deleted) values (?, ?, 0, ?, ?)
on conflict (day, crawl, slot) do update set stored = stored + excluded.stored, deleted = deleted + excluded.deleted
"""
_CRAWL = "select crawl from calls where call = ?"
_KNOWN = "select user_no from post_counts where user_no in (select value from json_each(?))"
_ADD = f"{_INTO} values ({', '.join('?' for _ in _COLUMNS)})"
# The rows of accounts are locked in order before any is changed.
_COUNT_AT_ONCE = f"""
with v as materialized (select * from {_arrays(_COLUMNS)}),
held as materialized (
    select user_no from post_counts where user_no in (select user_no from v) order by user_no for update
)
update post_counts c set stored = c.stored + v.stored, deleted = c.deleted + v.deleted, reposts = c.reposts + v.reposts,
    first_found = least(c.first_found, v.first_found), last_written = greatest(c.last_written, v.last_written),
    last_seen = greatest(c.last_seen, v.last_seen)
from v join held h on h.user_no = v.user_no where c.user_no = v.user_no
"""
# Into a slot that nobody else uses until the transaction ends.
_LAY_AT_ONCE = f"""
insert into post_days (day, crawl, slot, stored, deleted)
select v.day, v.crawl, coalesce((
    select slot from generate_series(1, {_SLOTS}) as slots (slot) where pg_try_advisory_xact_lock({_SLOT_LOCK}, slot) limit 1
), 0), v.stored, v.deleted from {_arrays(_DAY_COLUMNS)}
on conflict (day, crawl, slot) do update
set stored = post_days.stored + excluded.stored, deleted = post_days.deleted + excluded.deleted
"""
_FACTS = (
    "select p.author, p.kind, p.created_at, p.listed_at, p.is_time_doubtful, p.found_at, p.seen_at, p.deleted_at, "
    "coalesce(c.crawl, 0) as crawl from posts p left join calls c on c.call = p.found_by where p.post_no {0}"
)
# Whoever adds posts of an account holds its row, and whoever changes a post the post's. Where somebody does at this moment, the
# account gets its row with another page.
_FREE = "select user_no from users where user_no in (select unnest(?::bigint[])) order by user_no for update skip locked"
_BEGIN_IN_POSTGRES = f"""
with held as materialized (
    select author, kind, deleted_at, found_at, seen_at, listed_at, created_at from posts
    where author in (select unnest(?::bigint[])) for update skip locked
),
whole as (
    select p.author from posts p where p.author in (select unnest(?::bigint[])) group by p.author
    having count(*) = (select count(*) from held h where h.author = p.author)
)
{_INTO} select {_SUMS} from held where author in (select author from whole) group by author on conflict (user_no) do nothing
"""


async def take_counted(s: SaveContext, posts: Collection[int]) -> None:
    """No longer counts posts as they are: to be called before something about them changes that is counted, and
    `add_counted` after it."""
    for facts in await _facts(s, posts):
        s.counting.take(facts)


async def add_counted(s: SaveContext, posts: Collection[int]) -> None:
    """Counts stored posts as they are now."""
    for facts in await _facts(s, posts):
        s.counting.add(facts)


async def _facts(s: SaveContext, posts: Collection[int]) -> Iterable[PostFacts]:
    rows = await s.fetch_in(_FACTS.format(s.database.any("bigint")), posts)
    return [_fact(row) for row in rows]


def _fact(row: Row) -> PostFacts:
    return PostFacts(
        author=row["author"],
        kind=row["kind"],
        created_at=row["created_at"],
        listed_at=row["listed_at"],
        is_time_doubtful=row["is_time_doubtful"],
        found_at=row["found_at"],
        seen_at=row["seen_at"],
        is_deleted=row["deleted_at"] is not None,
        crawl=row["crawl"],
    )


async def save_counts(s: SaveContext) -> None:
    """Writes what was gathered; the last thing that is done for a page."""
    concerned = s.counting.concerned
    if not concerned:
        return
    is_alone = s.database.dialect == "sqlite"
    if is_alone:
        known = {row["user_no"] for row in await s.fetch_in(_KNOWN, concerned)}
        s.counting.settle(known | {number for number, posts in s.counting.brought.items() if posts >= MANY})
        await _in_sqlite(s, known)
    else:
        known = s.counting.kept
        s.counting.settle(concerned)
    added = {number: each for number, each in s.counting.accounts.items() if each.new >= MANY and number not in known}
    # Of who is new all posts are on this page, and nobody else knows of the account yet.
    new = [(number, *_sums(each)) for number, each in added.items() if each.is_new]
    await (s.execute_many(_ADD, new) if is_alone else _at_once(s, new))
    if begun := sorted(number for number, each in added.items() if not each.is_new):
        await _begin(s, begun)
    s.counting.accounts.clear()
    s.counting.days.clear()


def _sums(each: AccountChange) -> tuple[int, ...]:
    return each.stored, each.deleted, each.reposts, each.first_found, each.last_written, each.last_seen


async def _in_sqlite(s: SaveContext, known: Collection[int]) -> None:
    """Writes the counts of those whose are kept, and all days."""
    await s.execute_many(_COUNT, [(*_sums(s.counting.accounts[number]), number) for number in known])
    days = _days(s)
    row = await s.tx.fetch_one(_CRAWL, s.call) if days else None
    crawl = 0 if row is None else row["crawl"]
    await s.execute_many(_LAY, [(day, crawl if of is None else of, *counts) for day, of, *counts in days])


async def _at_once(s: SaveContext, new: list[tuple[int, ...]]) -> None:
    accounts = [(number, *_sums(each)) for number, each in sorted(s.counting.accounts.items()) if not each.is_new]
    days: dict[tuple[int, int], tuple[int, int]] = {}
    for (day, of), (stored, deleted) in s.counting.days.items():
        at = (day, s.counting.crawl if of is None else of)
        had = days.get(at, (0, 0))
        days[at] = had[0] + stored, had[1] + deleted
    laid = [(*at, *counts) for at, counts in sorted(days.items()) if counts != (0, 0)]
    await s.tx.execute_all([(_COUNT_AT_ONCE, accounts), (_ADD, new), (_LAY_AT_ONCE, laid)])


def _days(s: SaveContext) -> list[tuple[int | None, ...]]:
    """Those that change: day, crawl, stored and deleted."""
    return [(*day, *counts) for day, counts in s.counting.days.items() if counts != (0, 0)]


async def _begin(s: SaveContext, authors: list[int]) -> None:
    """Gives accounts their rows."""
    if s.database.dialect == "sqlite":
        begin = f"{_INTO} select {_SUMS} from posts where author {s.database.any('bigint')} group by author"
        await s.execute_in(begin, authors)
        return
    # In a statement of its own: what is committed until it is held must be seen by the one that counts.
    free = [row["user_no"] for row in await s.tx.fetch(_FREE, authors)]
    if free:
        await s.tx.execute(_BEGIN_IN_POSTGRES, free, free)
