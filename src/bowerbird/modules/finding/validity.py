"""Validity: only accounts that can be read become candidates. Those of whom nothing is known are looked up first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import CandidateState, Counts, ModuleOption
from bowerbird.modules.members import first_of
from bowerbird.ports import ModuleContext, Row

LOOKUPS = ("profiles", "profile")
"""The facets that look up accounts, the quicker one first."""
_BATCH = 500
# The most named first: whom many members name is most likely one of them.
_OPEN = f"""
select c.user_no, c.state, u.opts_out, u.is_protected, u.seen_at, c.asked_at,
    (select a.reason from unavailable a where a.user_no = u.user_no and a.until is null order by a.since desc limit 1) as absent
from candidates c join users u on u.user_no = c.user_no
where c.crawl = ? and (c.state = '{CandidateState.NAMED}'
    or (c.state = '{CandidateState.ASKED}' and (u.seen_at >= coalesce(c.asked_at, 0) or exists (
        select 1 from unavailable a where a.user_no = u.user_no and a.until is null))))
order by c.mentions + c.replies + c.reposts + c.listed desc, c.user_no limit ?
"""
_JUDGE = "update candidates set state = ?, reason = ? where crawl = ? and user_no = ?"
_ASKED = f"update candidates set state = '{CandidateState.ASKED}', asked_at = ? where crawl = ? and user_no = ?"
_WAITING = f"select count(*) as n from candidates where crawl = ? and state = '{CandidateState.ASKED}'"


class Validity:
    """Lets accounts become candidates that can be read, and looks up those of whom that is not known."""

    name = "validity"
    about = "Looks up accounts that members name, and makes candidates of those that can be read."
    every = timedelta(minutes=10)
    options: Mapping[str, ModuleOption] = {
        "accounts": ModuleOption(5_000, "Accounts that one run decides or has looked up at most.", least=1),
        "waiting": ModuleOption(
            20_000, "Look-ups that may wait at once; no more are asked for before some are answered.", least=1
        ),
        "protected": ModuleOption(False, "Whether accounts whose posts are not public count as valid."),
    }
    needs: tuple[str, ...] = LOOKUPS

    async def run(self, context: ModuleContext) -> Counts:
        found: Counter[str] = Counter(valid=0, invalid=0, asked=0)
        left = int(context.options["accounts"])
        while left > 0 and (looked := await self._step(context, min(left, _BATCH), found)):
            left -= looked
        context.found(found["valid"])
        return dict(found)

    async def _step(self, context: ModuleContext, most: int, found: Counter[str]) -> int:
        crawl, facet = context.crawl, first_of(context.questions.facets, LOOKUPS)
        async with context.transaction() as tx:
            rows = await tx.fetch(_OPEN, crawl, most)
            decided = [(row, _verdict(row, bool(context.options["protected"]))) for row in rows]
            await tx.execute_many(_JUDGE, [(state, reason, crawl, row["user_no"]) for row, (state, reason) in decided if state])
            waiting = await tx.fetch_one(_WAITING, crawl)
            room = max(0, int(context.options["waiting"]) - (int(waiting["n"]) if waiting is not None else 0))
            asked = [row["user_no"] for row, (state, _) in decided if state is None][:room]
            if asked:
                await context.questions.about_users(tx, facet, asked)
            at = to_micros(context.clock.now())
            await tx.execute_many(_ASKED, [(at, crawl, number) for number in asked])
        found.update(str(state) for _, (state, _) in decided if state)
        found["asked"] += len(asked)
        # Those beyond the room stay where they are, and would be looked at again and again.
        return sum(1 for _, (state, _) in decided if state) + len(asked)


def _verdict(row: Row, takes_protected: bool) -> tuple[CandidateState | None, str | None]:
    """Whether an account is one that can be read, and why not; None where that is not known yet."""
    if row["opts_out"]:
        return CandidateState.INVALID, "opted_out"
    if row["absent"] is not None:
        return CandidateState.INVALID, str(row["absent"])
    if row["seen_at"] is None:
        return None, None
    if row["is_protected"] and not takes_protected:
        return CandidateState.INVALID, "protected"
    return CandidateState.VALID, None
