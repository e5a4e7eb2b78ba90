"""Deletion sweep: stored posts are asked for again by their ids, so that what was deleted since leaves the store too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.ports import ModuleContext

POSTS = "posts"
_UNSEEN = """
select p.post_no from posts p where p.post_no > ? and p.deleted_at is null and p.seen_at < ? and p.found_at > ?
order by p.post_no limit ?
"""
_GONE = "select count(*) as n from deletions where subject = 'post' and at > ?"


class Deletions:
    """Goes through the stored posts again and again, the oldest first; what answers say is the store's own business."""

    name = "deletions"
    about = "Asks for stored posts again by their ids, round and round, so that what was deleted leaves the store too."
    every = timedelta(hours=1)
    options: Mapping[str, ModuleOption] = {
        "posts": ModuleOption(2_000, "Posts that one run asks about at most.", least=1),
        "after": ModuleOption(timedelta(days=7), "How long a post must not have been seen."),
        "until": ModuleOption(timedelta(weeks=520), "Posts found longer ago are not asked about any more."),
    }
    needs: tuple[str, ...] = (POSTS,)

    async def run(self, context: ModuleContext) -> Counts:
        options, now = context.options, context.clock.now()
        unseen, oldest = to_micros(now - options["after"]), to_micros(now - options["until"])
        since = int(context.memory.get("since", to_micros(now)))
        async with context.transaction() as tx:
            after = int(context.memory.get("post", 0))
            rows = await tx.fetch(_UNSEEN, after, unseen, oldest, options["posts"])
            asked = await context.questions.about_posts(tx, POSTS, [row["post_no"] for row in rows], again=True)
            is_over = len(rows) < int(options["posts"])
            context.memory["post"] = 0 if is_over else rows[-1]["post_no"]
            context.memory["rounds"] = int(context.memory.get("rounds", 0)) + is_over
            context.memory["since"] = to_micros(now)
            gone = await tx.fetch_one(_GONE, since)
        told = int(gone["n"]) if gone is not None else 0
        return {"posts": len(rows), "asked": asked, "deleted_since_last_run": told, "rounds": context.memory["rounds"]}
