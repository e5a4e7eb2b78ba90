"""Language identification: stored posts that a judge has said nothing of are judged by their words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.modules.judging.profiles import named_judge
from bowerbird.ports import Judge, ModuleContext, Transaction

_BATCH = 500
_NEXT = """
select p.post_no from posts p
where p.post_no > ? and p.post_no <= ? and p.deleted_at is null and p.text is not null and p.kind <> 'repost' and not exists (
    select 1 from judgements j where j.judge = ? and j.version = ? and j.subject = 'post' and j.id = p.id)
order by p.post_no
"""


class Languages:
    """Goes through the stored posts once for each judge and version of it; new ones are judged when they are saved."""

    name = "languages"
    about = "Says in which language stored posts are written that no judge has looked at, or only an older one."
    every = timedelta(minutes=30)
    options: Mapping[str, ModuleOption] = {
        "judges": ModuleOption(("language",), "Who says so: language, variety, or a judge of this crawl."),
        "posts": ModuleOption(20_000, "Posts that one run goes through at most, for each judge.", least=1),
    }
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        found = {"posts": 0, "judged": 0, "judgements": 0}
        for name in context.options["judges"]:
            judge, left = named_judge(context, name), int(context.options["posts"])
            while left > 0 and (looked := await self._step(context, judge, min(left, _BATCH), found)):
                left -= looked
        return found

    async def _step(self, context: ModuleContext, judge: Judge, most: int, found: dict[str, int]) -> int:
        # By version: what a newer one says replaces what an older one said.
        place = f"{judge.name} {judge.version}"
        after = int(context.memory.get(place, 0))
        async with context.transaction() as tx:
            last = min(await _last(tx), after + most)
            if last <= after:
                return 0
            chosen = [row["post_no"] for row in await tx.fetch(_NEXT, after, last, judge.name, judge.version)]
            found["judgements"] += await context.stored.judge_posts(tx, judge, chosen, context.clock.now())
            context.memory[place] = last
        found["posts"] += last - after
        found["judged"] += len(chosen)
        return last - after


async def _last(tx: Transaction) -> int:
    row = await tx.fetch_one("select max(post_no) as last from posts")
    return int(row["last"] or 0) if row is not None else 0
