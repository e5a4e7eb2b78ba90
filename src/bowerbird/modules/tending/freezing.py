"""Freezing: accounts that have not written for long are asked about in a few quiet hours only.

After how many days is a choice; the curve tells what it costs: of the silences that lasted so many days, which part ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from bowerbird.clock import to_micros
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.modules.members import JUDGE, Members, members
from bowerbird.ports import ModuleContext, Transaction

DAYS = (1, 2, 3, 5, 7, 10, 14, 15, 20, 25, 30, 40, 60, 90)
_BATCH = 500
_DAY = 86_400_000_000
# Sleeping tasks of accounts alone: what waits or is asked just now comes home first.
_ASLEEP = """
select t.task, t.due from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
join users u on u.user_no = coalesce(
    (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
    (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target)))
where l.crawl = ? and l.facet {facets} and t.ready = 0 and t.token is null and t.state = 'asleep' and t.due < ? and t.task > ?
and coalesce(u.newest_post_at, 0) < ? and not exists (select 1 from posts p where p.author = u.user_no and p.created_at >= ?)
and coalesce(u.found_at, 0) < ? order by t.task limit ?
"""
_FREEZE = "update tasks set due = ? where task = ? and ready = 0 and token is null and state = 'asleep'"
_SILENCES = """
select w.author, w.created_at, w.created_at - w.earlier as silence from (
    select p.author, p.created_at, lag(p.created_at) over (partition by p.author order by p.created_at) as earlier
    from posts p where p.author {authors} and p.deleted_at is null and p.created_at is not null and p.created_at <= ?
) w
"""


class Freezing:
    """Moves the next look at silent accounts into the hours of the thaw."""

    name = "freezing"
    about = "Has accounts that are silent for long asked about in quiet hours only, and measures how many of them come back."
    every = timedelta(hours=6)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "after": ModuleOption(timedelta(days=30), "How long an account must have written nothing."),
        "facets": ModuleOption(("timeline", "profiles", "profile"), "Which questions wait for the quiet hours."),
        "thaw_from": ModuleOption(3, "The hour at which quiet hours begin.", least=0),
        "utc_offset": ModuleOption(0, "Hours between UTC and the time of those who write.", least=-14),
        "accounts": ModuleOption(50_000, "Questions that one run puts off at most.", least=1),
        "sample": ModuleOption(5_000, "Members whose silences make the curve.", least=1),
    }
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        frozen, left = 0, int(context.options["accounts"])
        while left > 0:
            moved = await self._freeze(context, min(left, _BATCH))
            frozen, left = frozen + moved, left - _BATCH
            if moved < _BATCH:
                break
        async with context.database.reading() as tx:
            curve = await read_curve(tx, context, await members(tx, context), int(context.options["sample"]))
        return {"frozen": frozen, "curve": curve}

    async def _freeze(self, context: ModuleContext, most: int) -> int:
        """Puts the next questions off; answers how many."""
        now = context.clock.now()
        morning = to_micros(_morning(now, int(context.options["thaw_from"]), int(context.options["utc_offset"])))
        silent = to_micros(now - context.options["after"])
        after = int(context.memory.get("task", 0))
        async with context.transaction() as tx:
            facets = context.database.members(list(context.options["facets"]))
            sql = _ASLEEP.format(facets=context.database.any("text"))
            rows = await tx.fetch(sql, context.crawl, facets, morning, after, *[silent] * 3, most)
            await tx.execute_many(_FREEZE, [(morning, row["task"]) for row in rows])
            context.memory["task"] = rows[-1]["task"] if len(rows) == most else 0
        return len(rows)


def _morning(now: datetime, hour: int, offset: int) -> datetime:
    """The next beginning of the quiet hours."""
    local = now + timedelta(hours=offset)
    start = local.replace(hour=hour % 24, minute=0, second=0, microsecond=0)
    return (start if start > local else start + timedelta(days=1)) - timedelta(hours=offset)


async def read_curve(tx: Transaction, context: ModuleContext, who: Members, most: int) -> Sequence[Mapping[str, Any]]:
    """By days: how many silences of the members lasted as long, how many of these ended, and the part that did."""
    rows = await tx.fetch(f"select m.user_no from ({who.sql}) m order by (m.user_no * 7919) % 100003, m.user_no limit ?",
                          *who.values, most)  # fmt: skip
    now = to_micros(context.clock.now())
    ended: list[float] = []
    newest: dict[int, int] = {}
    chosen = [row["user_no"] for row in rows]
    for first in range(0, len(chosen), _BATCH):
        some = context.database.members(chosen[first : first + _BATCH])
        for row in await tx.fetch(_SILENCES.format(authors=context.database.any("bigint")), some, now):
            newest[row["author"]] = max(row["created_at"], newest.get(row["author"], 0))
            if row["silence"] is not None:
                ended.append(row["silence"] / _DAY)
    lasting = [(now - at) / _DAY for at in newest.values()]
    return [_point(days, ended, lasting) for days in DAYS]


def _point(days: int, ended: Sequence[float], lasting: Sequence[float]) -> dict[str, Any]:
    back, still = sum(each >= days for each in ended), sum(each >= days for each in lasting)
    share = round(back / (back + still), 4) if back + still else None
    return {"days": days, "silences": back + still, "came_back": back, "share": share}
