"""Statistics as a module: a crawl that runs without a dashboard keeps them up to date as well."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.modules.statistics.preparing import Preparing
from bowerbird.ports import ModuleContext


class Statistics:
    """Counts what is new and makes the numbers that pages show."""

    name = "statistics"
    about = "Counts new posts and accounts for the statistics of the dashboard, so that its pages need not."
    every = timedelta(minutes=10)
    options: Mapping[str, ModuleOption] = {
        "posts": ModuleOption(200_000, "Posts and accounts that one run counts at most.", least=1),
        "rest": ModuleOption(1.0, "How long it rests after each piece, as a multiple of what that took."),
    }
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        preparing = Preparing(context.database, context.clock, rest=float(context.options["rest"]))
        done = await preparing.run(int(context.options["posts"]))
        return {"posts": done.posts, "users": done.users, "recounted": done.recounted, "is_done": done.is_done}
