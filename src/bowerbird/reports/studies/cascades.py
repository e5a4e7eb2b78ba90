"""Read the cascades of posts: reposts, quotes, quotes of quotes, and the follow relations between their authors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence

from bowerbird.clock import from_micros
from bowerbird.model import NETWORKS, Passed, Passing, PostKind, post_at
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.posts.by_id import is_same, with_ids

_BATCH = 1_000
_DEEPEST = 50
"""Maximum depth of quotes of quotes, because a store may contain a cycle."""
_TIME = "case when {0}.is_time_doubtful = 1 then {0}.listed_at else {0}.created_at end"
_ROOT = f"select p.post_no, p.id, p.author, {_TIME.format('p')} as at from posts p where p.post_no = ?"
# A post that passes another one on belongs to that one's cascade, if that one is stored.
_ROOTS = f"""
select p.post_no from posts p where p.post_no > ? and p.deleted_at is null and p.repost_of is null
    and (p.quote_of is null or not exists (select 1 from posts o where {is_same("o.id", "p.quote_of")} and o.deleted_at is null))
    and (exists (select 1 from posts r where {is_same("r.repost_of", "p.id")})
        or exists (select 1 from posts q where {is_same("q.quote_of", "p.id")})
        or exists (select 1 from reactions x where x.post_no = p.post_no and x.kind = 'repost' and x.gone_at is null))
order by p.post_no limit {_BATCH}
"""
_NAMING = ", ".join(f"'{each.name}'" for each in NETWORKS.values() if each.reposts_name_the_way)
"""Networks whose reposts name their source in the text."""


class CascadeReader:
    """Reads the cascades of a store, one at a time to limit memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        several = database.any("bigint")
        self._reposts = (
            "select v.post_no as of, v.user_no, v.repost_no as own, v.at, v.sweep, v.place, v.found_at, b.post_no as via, "
            f"case when r.network in ({_NAMING}) then r.text end as words "
            "from reposts v left join posts r on r.post_no = v.repost_no left join posts b "
            f"on {is_same('b.id', 'r.via')} where v.post_no {several}"
        )
        self._quotes = (
            f"select o.post_no as of, q.author as user_no, q.post_no as own, q.id, {_TIME.format('q')} as at, q.found_at "
            f"from posts o join posts q on {is_same('q.quote_of', 'o.id')} where q.deleted_at is null and o.post_no {several}"
        )
        self._users = f"select user_no, id, handle from users where user_no {several}"
        # Who unfollowed before the post was written cannot have seen it that way.
        self._follows = (
            "select source, target from relations where kind = 'follow' "
            f"and (removed_at is null or removed_at > ?) and source {several} and target {several}"
        )
        # Who names a repost means what it passes on.
        named = (
            "select distinct coalesce(o.post_no, p.post_no) as post_no "
            f"from posts p left join posts o on {is_same('o.id', 'p.repost_of')}"
        )
        text = database.any("text")
        self._named = (
            f"{named} where {with_ids(database, 'p')}",
            f"{named} join post_keys k on k.post_no = p.post_no where k.key {text}",
            f"{named} where p.url {text}",
        )

    async def find(self, names: Collection[str]) -> list[int]:
        """Return the numbers of posts by id, by a service's key, or by URL."""
        members = self._database.members(sorted(post_at(name) or name for name in names))
        async with self._database.reading() as tx:
            for statement in self._named:
                if rows := await tx.fetch(statement, members):
                    return sorted(row["post_no"] for row in rows)
        return []

    async def roots(self) -> AsyncIterator[int]:
        """Yield every reposted or quoted post that is not part of another cascade."""
        after = 0
        while rows := await self._batch(_ROOTS, after):
            after = rows[-1]["post_no"]
            for row in rows:
                yield row["post_no"]

    async def read(self, post: int) -> Passed:
        """Return the reposts and quotes of a post, from one snapshot."""
        async with self._database.reading() as tx:
            row = await tx.fetch_one(_ROOT, post)
            if row is None:
                raise KeyError(post)
            passings, posts = await self._passings(tx, row)
            people = {row["author"], *(each.user for each in passings)}
            return Passed(
                post=post,
                author=row["author"],
                at=None if row["at"] is None else from_micros(row["at"]),
                passings=tuple(passings),
                follows=await self._followed(tx, people, row["at"] or 0),
                users={each["user_no"]: (each["id"], each["handle"]) for each in await self._of(tx, self._users, people)},
                posts=posts,
            )

    async def _passings(self, tx: Transaction, root: Row) -> tuple[list[Passing], dict[int, str]]:
        passings: list[Passing] = []
        posts = {root["post_no"]: root["id"]}
        layer = [root["post_no"]]
        for _ in range(_DEEPEST):
            passings += [_passing(row, PostKind.REPOST) for row in await self._of(tx, self._reposts, layer)]
            quotes = [row for row in await self._of(tx, self._quotes, layer) if row["own"] not in posts]
            passings += [_passing(row, PostKind.QUOTE) for row in quotes]
            posts |= {row["own"]: row["id"] for row in quotes}
            layer = sorted({row["own"] for row in quotes})
            if not layer:
                break
        return passings, posts

    async def _followed(self, tx: Transaction, people: Collection[int], since: int) -> dict[int, frozenset[int]]:
        members = self._database.members(sorted(people))
        follows: dict[int, set[int]] = {}
        for row in await tx.fetch(self._follows, since, members, members):
            follows.setdefault(row["source"], set()).add(row["target"])
        return {user: frozenset(followed) for user, followed in follows.items()}

    async def _of(self, tx: Transaction, sql: str, numbers: Collection[int]) -> Sequence[Row]:
        return await tx.fetch(sql, self._database.members(sorted(numbers)))

    async def _batch(self, sql: str, after: int) -> Sequence[Row]:
        async with self._database.reading() as tx:
            return await tx.fetch(sql, after)


def _passing(row: Row, kind: PostKind) -> Passing:
    is_listed = kind is PostKind.REPOST
    return Passing(
        user=row["user_no"],
        of=row["of"],
        kind=kind,
        as_post=row["own"],
        at=None if row["at"] is None else from_micros(row["at"]),
        sweep=(row["sweep"] or 0) if is_listed else 0,
        place=row["place"] if is_listed else None,
        found_at=from_micros(row["found_at"]),
        via=row["via"] if is_listed else None,
        words=(row["words"] or "") if is_listed else "",
    )
