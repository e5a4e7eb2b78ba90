"""Timelines over everybody: public and hashtag, and trends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from bowerbird.simulated.mastodon.call import Call, refuse
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.mastodon.reasons import NOT_FOUND
from bowerbird.simulated.wire import Reply, raw_list, reply
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.crowd import Crowd, Mask
from bowerbird.simulated.world.posts.rows import REPLY, Row
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_number
from bowerbird.simulated.world.settings import DAY
from bowerbird.simulated.world.world import FAR

_LINKING = 2_000
"""Of how many posts at most the links are looked at."""


class Timelines:
    """Handlers of `/api/v1/timelines…` and `/api/v1/trends…`."""

    def __init__(self, payloads: Payloads, crowd: Crowd) -> None:
        self._write = payloads
        self._world = payloads.world
        self._crowd = crowd

    def public(self, call: Call) -> Reply:
        return self._page(call, lambda day: self._crowd.originals(day) & (day.kind != REPLY))

    def tag(self, call: Call, name: str) -> Reply:
        unknown = self._write.vantage.flavour.unknown_tag
        if unknown is not None and tag_number(name) == NO_TAG:
            return unknown.reply()
        return self._page(call, self._tagged(call, name))

    def link(self, call: Call) -> Reply:
        """Only trending links have a timeline: posts of the last day with that address."""
        below = self._write.ids.number(call.params.get("max_id"))
        rows = [row for row, link in self._linking(call) if link == call.params.get("url") and row.number < (below or FAR)]
        if not rows and below is None:
            raise refuse(404, NOT_FOUND)
        return raw_list(self._write.statuses(rows[: call.limit(20)], call.now))

    def trending_tags(self, call: Call) -> Reply:
        chosen = self._crowd.trends(call.now)[call.params.integer("offset", 0) :][: call.limit(10)]
        day = str((call.now // DAY) * DAY // 1000)
        return reply(
            [
                {
                    "name": name,
                    "url": f"{call.base}/tags/{name}",
                    "history": [{"day": day, "accounts": str(uses), "uses": str(uses)}],
                }
                for name, uses in chosen
            ]
        )

    def trending_statuses(self, call: Call) -> Reply:
        recent = list(self._shown(self._crowd.posts(call.now, self._crowd.originals, oldest=call.now - DAY), call, 400))
        counters = self._write.reactions.counters([row.number for row in recent], call.now)
        ranked = sorted(zip(counters, recent, strict=True), key=lambda pair: (-pair[0].reposts - pair[0].likes, -pair[1].number))
        chosen = [row for _, row in ranked][call.params.integer("offset", 0) :][: call.limit(20)]
        return raw_list(self._write.statuses(chosen, call.now))

    def trending_links(self, call: Call) -> Reply:
        ranked = Counter(link for _, link in self._linking(call)).most_common(call.limit(10))
        return reply([{"url": link, "title": link, "type": "link", "history": [{"uses": str(uses)}]} for link, uses in ranked])

    def _linking(self, call: Call) -> list[tuple[Row, str]]:
        """The newest posts of the last day that have a link, each with it."""
        recent = self._shown(self._crowd.posts(call.now, self._crowd.originals, oldest=call.now - DAY), call, _LINKING)
        return [(row, link) for row in recent if (link := self._world.contents.of(row).link)]

    def _tagged(self, call: Call, name: str) -> Mask:
        others: dict[str, list[Mask]] = {
            key: [self._crowd.with_tag(tag_number(text)) for text in call.params.all(f"{key}[]")]
            for key in ("any", "all", "none")
        }
        main = self._crowd.with_tag(tag_number(name))

        def mask(day: Day) -> Any:
            chosen = np.logical_or.reduce([main(day), *(each(day) for each in others["any"])])
            chosen = np.logical_and.reduce([chosen, *(each(day) for each in others["all"])])
            return np.logical_and.reduce([chosen, *(~each(day) for each in others["none"])])

        return mask

    def _page(self, call: Call, mask: Mask) -> Reply:
        limit, ids, params = call.limit(20), self._write.ids, call.params
        below, above = ids.number(params.get("max_id")), ids.number(params.get("min_id") or params.get("since_id")) or 0
        found = self._crowd.posts(call.now, mask, below=FAR if below is None else below, above=above)
        rows = list(self._shown(found, call, None))[-limit:] if params.get("min_id") else list(self._shown(found, call, limit))
        if not rows:
            return raw_list(())
        links = call.links(ids.post(rows[0].number), ids.post(rows[-1].number), prev="min_id")
        return raw_list(self._write.statuses(rows, call.now), links)

    def _shown(self, rows: Iterator[Row], call: Call, most: int | None) -> Iterator[Row]:
        only_media, vantage, contents = call.params.flag("only_media"), self._write.vantage, self._world.contents
        no_local, no_remote = call.params.flag("remote"), call.params.flag("local")
        here = (
            row
            for row in rows
            if not (no_local if vantage.is_local(row.author) else no_remote or not vantage.holds(row, call.now))
        )
        shown = (
            row
            for row in here
            if contents.visibility(row.number) == "public" and not (only_media and not contents.of(row).pictures)
        )
        return islice(shown, most)
