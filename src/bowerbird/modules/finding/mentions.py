"""Mention extraction: whom members mention, answer and pass on may belong as well.

Every stored post of a member counts once: those of a new member when it becomes one, later ones as they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.db.sqlite.ends_of_ids import is_same
from bowerbird.model.modules import CandidateSource, CandidateState, Counts, ModuleOption
from bowerbird.modules.members import JUDGE, Members, members, shares
from bowerbird.ports import Database, ModuleContext, Transaction

_BATCH = 2_000
"""Posts that are looked through in one transaction."""
_FEW = 50
"""New members whose stored posts are looked through in one transaction."""
_NEW = """
select m.user_no from ({members}) m left join candidates c on c.crawl = ? and c.user_no = m.user_no
where coalesce(c.is_mined, 0) = 0 order by m.user_no limit ?
"""
_MINED = f"""
insert into candidates (crawl, user_no, source, state, found_at, is_mined) values (?, ?, '{CandidateSource.MEMBER}',
    '{CandidateState.VALID}', ?, 1)
on conflict (crawl, user_no) do update set is_mined = 1
"""
_NAME = f"""
insert into candidates (crawl, user_no, source, state, found_at, mentions, replies, reposts)
values (?, ?, '{CandidateSource.MENTIONS}', '{CandidateState.NAMED}', ?, ?, ?, ?)
on conflict (crawl, user_no) do update set mentions = candidates.mentions + excluded.mentions,
    replies = candidates.replies + excluded.replies, reposts = candidates.reposts + excluded.reposts
"""
_OF_MINED = "join candidates c on c.crawl = ? and c.user_no = p.author and c.is_mined = 1 where p.post_no > ? and p.post_no <= ?"
# The author of a post that is stored.
_AUTHOR = f"(select a.author from posts a where {is_same('a.id', '{id}')})"
_MENTIONED = """
select p.author, m.user_no as named, 'mentions' as way from posts p join post_mentions m on m.post_no = p.post_no {which}
and p.deleted_at is null and p.kind <> 'repost'
"""
_NAMED = """
select p.author, {author} as named, '{way}' as way from posts p {which}
and p.deleted_at is null and p.{column} is not null
"""


class Mentions:
    """Makes candidates of those whom members name."""

    name = "mentions"
    about = "Makes candidates of the accounts that members mention, answer and pass on, and counts how often."
    every = timedelta(minutes=15)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "posts": ModuleOption(50_000, "Posts that one run looks through at most.", least=1),
    }
    needs: tuple[str, ...] = ()
    finds = True

    async def run(self, context: ModuleContext) -> Counts:
        found: Counter[str] = Counter(posts=0, members=0, mentions=0, replies=0, reposts=0, candidates=0)
        await self._greet(context, found)
        left = int(context.options["posts"])
        while left > 0 and (looked := await self._step(context, min(left, _BATCH), found)):
            left -= looked
        context.found(found["candidates"])
        async with context.database.reading() as tx:
            return {**found, **await shares(tx, context, "c.mentions + c.replies + c.reposts > 0")}

    async def _greet(self, context: ModuleContext, found: Counter[str]) -> None:
        """Looks through what is stored of those who became members since the last run."""
        while True:
            async with context.transaction() as tx:
                who = await members(tx, context)
                new = [row["user_no"] for row in await tx.fetch(*_new(who, context.crawl))]
                if not new:
                    return
                which = f"where p.author {context.database.any('bigint')} and p.post_no <= ?"
                values = (context.database.members(new), context.memory.get("post", 0))
                await self._name(tx, context, await _named(tx, context.database, which, values), found)
                at = to_micros(context.clock.now())
                await tx.execute_many(_MINED, [(context.crawl, number, at) for number in new])
                found["members"] += len(new)

    async def _step(self, context: ModuleContext, most: int, found: Counter[str]) -> int:
        """Looks through the next posts; answers how many numbers that were."""
        after = int(context.memory.get("post", 0))
        async with context.transaction() as tx:
            row = await tx.fetch_one("select max(post_no) as last from posts")
            last = min(int(row["last"] or 0) if row is not None else 0, after + most)
            if last <= after:
                return 0
            named = await _named(tx, context.database, _OF_MINED, (context.crawl, after, last))
            await self._name(tx, context, named, found)
            context.memory["post"] = last
            found["posts"] += last - after
        return last - after

    async def _name(
        self, tx: Transaction, context: ModuleContext, named: Mapping[int, Counter[str]], found: Counter[str]
    ) -> None:
        before = await _count(tx, context.crawl)
        at = to_micros(context.clock.now())
        rows = [(context.crawl, who, at, ways["mentions"], ways["replies"], ways["reposts"]) for who, ways in named.items()]
        # In one order, so that two workers never wait for each other.
        await tx.execute_many(_NAME, sorted(rows))
        for ways in named.values():
            found.update(ways)
        found["candidates"] += await _count(tx, context.crawl) - before


async def _count(tx: Transaction, crawl: int) -> int:
    row = await tx.fetch_one("select count(*) as n from candidates where crawl = ?", crawl)
    return int(row["n"]) if row is not None else 0


def _new(who: Members, crawl: int) -> tuple[str, *tuple[object, ...]]:
    return (_NEW.format(members=who.sql), *who.values, crawl, _FEW)


async def _named(tx: Transaction, database: Database, which: str, values: Sequence[object]) -> Mapping[int, Counter[str]]:
    """By account how often the chosen posts mention it, answer it and pass it on; nobody names himself."""
    questions = [
        _MENTIONED.format(which=which),
        _NAMED.format(which=which, way="replies", column="reply_to", author=_AUTHOR.format(id="p.reply_to")),
        _NAMED.format(which=which, way="reposts", column="repost_of", author=_AUTHOR.format(id="p.repost_of")),
    ]
    found: dict[int, Counter[str]] = {}
    for question in questions:
        for row in await tx.fetch(question, *values):
            if row["named"] is not None and row["named"] != row["author"]:
                found.setdefault(row["named"], Counter())[row["way"]] += 1
    return found
