"""Follower and following addition: the lists of members, a few at a time, and who is on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import CandidateSource, CandidateState, Counts, ModuleOption
from bowerbird.modules.members import JUDGE, members, shares
from bowerbird.ports import ModuleContext

SIDES = {"followers": ("r.target", "r.source"), "following": ("r.source", "r.target")}
"""By facet: whose list it is, and who is on it."""
_HARVEST = 200
"""Lists that are read in one transaction."""
# By a lot of its own for each account and run: a random choice that a repeated run makes again.
_CHOSEN = """
select m.user_no from ({members}) m join users u on u.user_no = m.user_no
where coalesce(u.{facet}, 0) <= ? and not exists (
    select 1 from listings l where l.user_no = m.user_no and l.kind = 'follow' and l.side = ? and l.began_at > ?)
order by (m.user_no * 7919 + ?) % 100003, m.user_no limit ?
"""
_ENDED = """
select l.user_no, l.side, l.ended_at, coalesce(l.before_began_at, 0) as before from listings l
where l.kind = 'follow' and l.ended_at > ? and l.user_no in ({members})
order by l.ended_at, l.user_no limit ?
"""
_LISTED = f"""
insert into candidates (crawl, user_no, source, state, found_at, listed)
select cast(? as bigint), {{found}}, '{CandidateSource.NEIGHBOURS}', '{CandidateState.NAMED}', cast(? as bigint), 1
from relations r join users u on u.user_no = {{found}}
where r.kind = 'follow' and {{owner}} = ? and r.removed_at is null and r.found_at > ? and coalesce(u.followers, 0) <= ?
order by {{found}} limit ?
on conflict (crawl, user_no) do update set listed = candidates.listed + 1
"""


class Neighbours:
    """Has the lists of some members asked for, and makes candidates of who is on them."""

    name = "neighbours"
    about = "Has the lists of followers or followed of random members asked for, and makes candidates of who is on them."
    every = timedelta(hours=1)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "facet": ModuleOption("followers", "Whose lists: followers, or following.", words=tuple(SIDES)),
        "members": ModuleOption(50, "Members whose lists one run has asked for.", least=0),
        "most": ModuleOption(5_000, "Accounts of one list that become candidates at most.", least=1),
        "celebrity": ModuleOption(50_000, "Whose list is longer is not asked, who has more followers no candidate.", least=1),
        "again": ModuleOption(timedelta(days=30), "How old a list must be before it is asked for again."),
    }  # fmt: skip
    needs: tuple[str, ...] = tuple(SIDES)

    async def run(self, context: ModuleContext) -> Counts:
        found: Counter[str] = Counter(lists_asked=0, lists_read=0, accounts=0)
        await self._ask(context, found)
        while await self._harvest(context, found):
            pass
        context.found(found["accounts"])
        async with context.database.reading() as tx:
            return {**found, **await shares(tx, context, "c.listed > 0")}

    async def _ask(self, context: ModuleContext, found: Counter[str]) -> None:
        options, facet = context.options, str(context.options["facet"])
        if facet not in context.questions.facets:
            return
        now = context.clock.now()
        async with context.transaction() as tx:
            who = await members(tx, context)
            lot = context.memory["lot"] = (int(context.memory.get("lot", 0)) + 104_729) % 100_003
            recent = to_micros(now - options["again"])
            sql = _CHOSEN.format(members=who.sql, facet=facet)
            rows = await tx.fetch(sql, *who.values, options["celebrity"], facet, recent, lot, options["members"])
            chosen = [row["user_no"] for row in rows]
            found["lists_asked"] += await context.questions.about_users(tx, facet, chosen, again=True)

    async def _harvest(self, context: ModuleContext, found: Counter[str]) -> bool:
        """Reads the lists that have been finished since; whether there may be more."""
        after = int(context.memory.get("ended", 0))
        async with context.transaction() as tx:
            who = await members(tx, context)
            lists = await tx.fetch(_ENDED.format(members=who.sql), after, *who.values, _HARVEST)
            at = to_micros(context.clock.now())
            for row in lists:
                owner, other = SIDES[row["side"]]
                sql = _LISTED.format(found=other, owner=owner)
                # Who was on an earlier one is counted.
                bounds = (row["before"], context.options["celebrity"], context.options["most"])
                found["accounts"] += await tx.execute(sql, context.crawl, at, row["user_no"], *bounds)
            if lists:
                context.memory["ended"] = lists[-1]["ended_at"]
            found["lists_read"] += len(lists)
        return len(lists) == _HARVEST
