"""Accounts: profiles, followers, following, their statuses."""

from __future__ import annotations

from itertools import islice

import numpy as np

from bowerbird.simulated.mastodon.call import NOT_FOUND, Call, refuse
from bowerbird.simulated.mastodon.ids import FIRST_FOLLOW
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.wire import Reply, raw_list, reply
from bowerbird.simulated.world import Availability
from bowerbird.simulated.world.content import visibility
from bowerbird.simulated.world.population import Array
from bowerbird.simulated.world.rows import REPLY, REPOST, Row
from bowerbird.simulated.world.tags import NO_TAG, tag_name, tag_number
from bowerbird.simulated.world.world import FAR, Wanted

_BATCH = 40


class Accounts:
    """Handlers of `/api/v1/accounts…`."""

    def __init__(self, payloads: Payloads) -> None:
        self._write = payloads
        self._world = payloads.world

    def batch(self, call: Call) -> Reply:
        wanted = call.params.all("id[]") or call.params.all("id")
        if len(wanted) > _BATCH:
            raise refuse(422, "Mastodon::ValidationError")
        found = dict.fromkeys(number for number in map(self._write.ids.account_number, wanted) if number is not None)
        return raw_list(self._write.account(each, call.now) for each in found if self._world.exists(each, call.now))

    def one(self, call: Call, key: str) -> Reply:
        return _single(self._write.account(self.find(call, key), call.now))

    def lookup(self, call: Call) -> Reply:
        name, _, domain = call.params.get("acct").lstrip("@").partition("@")
        account, vantage = self._world.profiles.account_of(name, 0), self._write.vantage
        if account is None or not self._world.exists(account, call.now) or (domain or vantage.domain) != vantage.home(account):
            raise refuse(404, NOT_FOUND)
        if not vantage.knows(account, call.now):
            raise refuse(404, NOT_FOUND)
        return _single(self._write.account(account, call.now))

    def followers(self, call: Call, key: str) -> Reply:
        account = self.find(call, key)
        return self._listing(call, account, *self._world.graph.followers(account, call.now))

    def following(self, call: Call, key: str) -> Reply:
        account = self.find(call, key)
        return self._listing(call, account, *self._world.graph.following(account, call.now))

    def statuses(self, call: Call, key: str) -> Reply:
        account, limit = self.find(call, key), call.limit(20)
        if not self._world.is_open(account, call.now) or call.params.flag("pinned"):
            return raw_list(())
        rows = self._page(call, account, limit)
        last = self._write.ids.post(rows[-1].number) if len(rows) == limit and rows else None
        first = self._write.ids.post(rows[0].number) if rows else None
        return raw_list(self._write.statuses(rows, call.now), call.links(first, last, prev="min_id"))

    def featured_tags(self, call: Call, key: str) -> Reply:
        account = self.find(call, key)
        rows = self._world.timeline(account, call.now, wanted=self._write.vantage.holds)
        used = [row.tag for row in islice(rows, 60) if row.tag != NO_TAG]
        counts = sorted(((used.count(tag), tag) for tag in set(used)), reverse=True)[:5]
        base = f"{self._write.base}/@{self._write.name(account)}/tagged"
        return reply(
            [
                {
                    "id": str(tag),
                    "name": tag_name(tag),
                    "url": f"{base}/{tag_name(tag)}",
                    "statuses_count": str(count),
                    "last_status_at": None,
                }
                for count, tag in counts
            ]
        )

    def find(self, call: Call, key: str) -> int:
        account = self._write.ids.account_number(key)
        if account is None or not self._world.exists(account, call.now):
            raise refuse(404, NOT_FOUND)
        return account

    def wanted(self, call: Call) -> Wanted:
        """Which posts a visitor gets to see under the filters of the request."""
        params, world, write, seed = call.params, self._world, self._write, self._world.settings.seed
        holds = write.vantage.holds
        no_replies, no_reblogs = params.flag("exclude_replies"), params.flag("exclude_reblogs")
        only_media, tag = params.flag("only_media"), tag_number(params.get("tagged")) if params.has("tagged") else None

        def is_wanted(row: Row) -> bool:
            if not holds(row):
                return False
            if row.kind == REPOST:
                return not (no_reblogs or only_media or tag is not None) and write.is_passed_on(row, call.now)
            if (no_replies and row.kind == REPLY) or (tag is not None and tag not in (row.tag, row.second_tag)):
                return False
            return visibility(row.number, seed) != "private" and not (only_media and not world.contents.of(row).pictures)

        return is_wanted

    def _page(self, call: Call, account: int, limit: int) -> list[Row]:
        ids, params = self._write.ids, call.params
        if params.get("min_id"):
            return self._world.oldest_above(account, call.now, ids.number(params.get("min_id")) or 0, limit, self.wanted(call))
        below = ids.number(params.get("max_id"))
        above = ids.number(params.get("since_id")) or 0
        rows = self._world.timeline(
            account, call.now, below=FAR if below is None else below, above=above, wanted=self.wanted(call)
        )
        return list(islice(rows, limit))

    def _listing(self, call: Call, account: int, others: Array, ranks: Array) -> Reply:
        limit = call.limit(40)
        is_shown = self._world.availability(account, call.now) is not Availability.SUSPENDED
        if not is_shown or self._world.people.hides_network[account]:
            return raw_list(())
        people = self._world.people
        is_away = (people.suspended[others] <= call.now) & (call.now < people.returned[others])
        kept = np.flatnonzero(~is_away & self._write.vantage.known_follows(account, others))
        follows = ranks[kept].astype(np.int64) + FIRST_FOLLOW
        places = call.page(follows, limit)
        first = str(follows[places[0]]) if len(places) else None
        last = str(follows[places[-1]]) if len(places) and len(places) == limit else None
        return raw_list([self._write.account(int(others[kept[place]]), call.now) for place in places], call.links(first, last))


def _single(body: bytes) -> Reply:
    return Reply(200, body, {"content-type": "application/json; charset=utf-8"})
