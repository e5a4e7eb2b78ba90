"""Post collection: the timelines of candidates whose profile does not decide are asked for, so that their posts can."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import CandidateState, Counts, ModuleOption
from bowerbird.modules.members import JUDGE
from bowerbird.ports import ModuleContext

TIMELINE = "timeline"
# Undecided by word of the judge, or not judged at all though the profile is known; with too few stored posts to tell by.
_UNDECIDED = f"""
select u.user_no from candidates c join users u on u.user_no = c.user_no
where c.crawl = ? and c.state = '{CandidateState.VALID}' and coalesce(u.posts, 1) > 0 and coalesce(u.opts_out, 0) = 0
and not exists (select 1 from judgements j where j.judge = ? and j.subject = 'user' and j.id = u.id and j.value in ('yes', 'no'))
and (c.posts_asked_at is null or c.posts_asked_at < ?)
and (select count(*) from (select 1 from posts p where p.author = u.user_no and p.kind <> 'repost' limit ?) as few) < ?
order by c.mentions + c.replies + c.reposts + c.listed desc, c.user_no limit ?
"""
_ASKED = "update candidates set posts_asked_at = ? where crawl = ? and user_no = ?"


class Collection:
    """Asks for the timelines of undecided candidates, the most named first."""

    name = "collection"
    about = "Asks for the timelines of candidates that are undecided and of whom too few posts are stored to tell by."
    every = timedelta(minutes=30)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "accounts": ModuleOption(500, "Timelines that one run asks for at most.", least=1),
        "enough": ModuleOption(100, "Stored posts from which on an account is not asked about.", least=1),
        "again": ModuleOption(timedelta(days=7), "How long after one request for its posts the next may follow."),
    }
    needs: tuple[str, ...] = (TIMELINE,)

    async def run(self, context: ModuleContext) -> Counts:
        options, now = context.options, context.clock.now()
        async with context.transaction() as tx:
            before = to_micros(now - options["again"])
            enough = int(options["enough"])
            rows = await tx.fetch(_UNDECIDED, context.crawl, options["judge"], before, enough, enough, options["accounts"])
            chosen = [row["user_no"] for row in rows]
            asked = await context.questions.about_users(tx, TIMELINE, chosen, again=True)
            await tx.execute_many(_ASKED, [(to_micros(now), context.crawl, number) for number in chosen])
        return {"undecided": len(chosen), "asked": asked}
