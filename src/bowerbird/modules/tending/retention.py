"""Retention: what is older than it may be kept leaves the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.ports import ModuleContext

_BATCH = 500
FOR_EVER = timedelta(weeks=5200)
# By number, which grows with the time of finding: no index serves the times.
_OLD_POSTS = """
select p.post_no from posts p where p.post_no > ? and p.deleted_at is null and p.found_at < ? order by p.post_no limit ?
"""
_OLD = {
    "errors": ("error", "at"),
    "quarantine": ("item", "at"),
    "module_runs": ("run", "started_at"),
}
"""By table that is a log: its number and its time."""
_HANGING = {"quarantine": "delete from quarantine_names where item not in (select item from quarantine)"}
"""What goes along with the rows of a log. By what is left, not by what was deleted: two processes may delete the same rows."""


class Retention:
    """Erases the content of old posts, and deletes old lines of logs; what is kept for ever is what nothing is said of."""

    name = "retention"
    about = "Erases posts that are older than they may be kept, and deletes old errors, quarantined items and runs of modules."
    every = timedelta(hours=12)
    options: Mapping[str, ModuleOption] = {
        "posts": ModuleOption(FOR_EVER, "How long the content of posts is kept after it was found."),
        "errors": ModuleOption(timedelta(days=365), "How long errors are kept."),
        "quarantine": ModuleOption(timedelta(days=365), "How long quarantined items are kept."),
        "module_runs": ModuleOption(timedelta(days=365), "How long runs of modules are kept."),
        "most": ModuleOption(50_000, "Posts that one run erases at most.", least=1),
    }
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        return {"posts": await self._erase_posts(context)} | {table: await self._delete(context, table) for table in _OLD}

    async def _erase_posts(self, context: ModuleContext) -> int:
        now, erased = context.clock.now(), 0
        if context.options["posts"] >= FOR_EVER:
            return 0
        before = to_micros(now - context.options["posts"])
        while erased < int(context.options["most"]):
            async with context.transaction() as tx:
                rows = await tx.fetch(_OLD_POSTS, int(context.memory.get("post", 0)), before, _BATCH)
                erased += await context.stored.erase_posts(tx, [row["post_no"] for row in rows], "retention", now)
                if rows:
                    context.memory["post"] = rows[-1]["post_no"]
            if len(rows) < _BATCH:
                break
        return erased

    async def _delete(self, context: ModuleContext, table: str) -> int:
        number, time = _OLD[table]
        before, gone = to_micros(context.clock.now() - context.options[table]), 0
        sql = f"delete from {table} where {number} in (select {number} from {table} where {time} < ? order by {number} limit ?)"
        while True:
            async with context.transaction() as tx:
                some = await tx.execute(sql, before, _BATCH)
                if some and table in _HANGING:
                    await tx.execute(_HANGING[table])
            gone += some
            if some < _BATCH:
                return gone
