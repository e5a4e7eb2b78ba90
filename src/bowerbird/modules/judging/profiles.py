"""Profile analysis: candidates whose stored profile nobody has judged yet are judged by it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.errors import UserError
from bowerbird.model.modules import CandidateState, Counts, ModuleOption
from bowerbird.modules.members import JUDGE
from bowerbird.ports import Judge, ModuleContext

_BATCH = 200
_OPEN = f"""
select c.user_no from candidates c join users u on u.user_no = c.user_no
where c.crawl = ? and c.state = '{CandidateState.VALID}' and c.user_no > ? and u.seen_at is not null and not exists (
    select 1 from judgements j where j.judge = ? and j.subject = 'user' and j.id = u.id)
order by c.user_no limit ?
"""


class Profiles:
    """Judges stored profiles that were saved before there was a judge, or before they became candidates."""

    name = "profiles"
    about = "Judges the stored profiles of candidates that the crawl's judge has said nothing of yet."
    every = timedelta(minutes=30)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "accounts": ModuleOption(10_000, "Profiles that one run looks at most.", least=1),
    }
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        judge = named_judge(context, str(context.options["judge"]))
        left, looked, judged = int(context.options["accounts"]), 0, 0
        while left > 0:
            after = int(context.memory.get("account", 0))
            async with context.transaction() as tx:
                rows = await tx.fetch(_OPEN, context.crawl, after, judge.name, min(left, _BATCH))
                chosen = [row["user_no"] for row in rows]
                judged += await context.stored.judge_users(tx, judge, chosen, context.clock.now())
                # At the end from the beginning again, with the next run: there may be new ones in between.
                context.memory["account"] = chosen[-1] if len(chosen) == _BATCH else 0
            looked, left = looked + len(chosen), left - _BATCH
            if len(chosen) < _BATCH:
                break
        return {"profiles": looked, "judgements": judged}


def named_judge(context: ModuleContext, name: str) -> Judge:
    """The judge of a name; raises `UserError` where the crawl has none."""
    judge = context.judge(name)
    if judge is None:
        raise UserError(
            f"nobody judges {name!r} in this crawl",
            "name another judge with `judge`, or switch the module off",
            code="unknown_module",
        )
    return judge
