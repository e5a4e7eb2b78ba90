"""Account check: members of whom nothing was heard for long are looked up, so that those who are gone do not pile up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.modules.finding.validity import LOOKUPS
from bowerbird.modules.members import JUDGE, first_of, members
from bowerbird.ports import ModuleContext

# Those known to be absent are asked by their own rankers, ever more seldom.
_SILENT = """
select u.user_no from ({members}) m join users u on u.user_no = m.user_no
where coalesce(u.seen_at, u.found_at) < ? and not exists (
    select 1 from unavailable a where a.user_no = u.user_no and a.until is null)
order by coalesce(u.seen_at, u.found_at), u.user_no limit ?
"""
_ABSENT = """
select a.reason, count(distinct a.user_no) as n from unavailable a join ({members}) m on m.user_no = a.user_no
where a.until is null group by a.reason order by a.reason
"""


class Accounts:
    """Looks up the members that were silent longest, and says how many no longer answer."""

    name = "accounts"
    about = "Looks up the members of whom nothing was heard for longest, and counts those who no longer answer."
    every = timedelta(hours=6)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "after": ModuleOption(timedelta(days=7), "How long a profile must not have been seen."),
        "accounts": ModuleOption(1_000, "Accounts that one run has looked up at most.", least=1),
    }
    needs: tuple[str, ...] = LOOKUPS

    async def run(self, context: ModuleContext) -> Counts:
        facet = first_of(context.questions.facets, LOOKUPS)
        before = to_micros(context.clock.now() - context.options["after"])
        async with context.transaction() as tx:
            who = await members(tx, context)
            rows = await tx.fetch(_SILENT.format(members=who.sql), *who.values, before, context.options["accounts"])
            asked = await context.questions.about_users(tx, facet, [row["user_no"] for row in rows], again=True)
            absent = await tx.fetch(_ABSENT.format(members=who.sql), *who.values)
        return {"silent": len(rows), "asked": asked, **{str(row["reason"]): int(row["n"]) for row in absent}}
